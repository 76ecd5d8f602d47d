#include "support/rng.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <random>

#include "support/check.h"

namespace kernelsmith {
namespace {

uint64_t SplitMix(uint64_t& state) {
  state += 0x9E3779B97F4A7C15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(uint64_t seed) {
  for (uint64_t& word : state_) word = SplitMix(seed);
}

uint64_t Rng::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Rng::Below(uint64_t bound) {
  KS_CHECK(bound != 0);
  // Lemire's method: the high half of a product, rejecting the few values that would favour some.
  const uint64_t threshold = -bound % bound;
  while (true) {
    const auto product = static_cast<unsigned __int128>(Next()) * bound;
    if (static_cast<uint64_t>(product) >= threshold) return static_cast<uint64_t>(product >> 64);
  }
}

double Rng::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Rng::Normal() {
  // Box-Muller; 1 - u keeps the logarithm's argument above 0.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

Rng Rng::Fork(uint64_t stream) const {
  uint64_t seed = state_[0] ^ std::rotl(state_[3], 23);
  seed = SplitMix(seed) ^ stream;
  return Rng(SplitMix(seed));
}

uint64_t RandomSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace kernelsmith
