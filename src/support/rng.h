// Seeded randomness: the same seed gives the same sequence on every machine and compiler, which
// std::uniform_*_distribution does not promise.
#pragma once

#include <array>
#include <cstdint>

namespace kernelsmith {

// xoshiro256** seeded by splitmix64 (Blackman and Vigna, 2018): 2^256 - 1 period, passes BigCrush.
class Rng {
 public:
  explicit Rng(uint64_t seed);

  uint64_t Next();
  // Uniform in [0, bound), without modulo bias. `bound` must not be 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1) with 53 bits.
  double Uniform();
  // Standard normal.
  double Normal();
  // An independent generator: use one for each part of a job, so that parts can run in any order.
  Rng Fork(uint64_t stream) const;

 private:
  std::array<uint64_t, 4> state_;
};

// A seed nobody can predict, for runs without --seed. Print it, so that the run can be repeated.
uint64_t RandomSeed();

}  // namespace kernelsmith
