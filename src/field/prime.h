// Arithmetic in Z_p for the two primes of the equivalence check. p = 2q + 1, both 3 mod 4:
// x^((P+1)/4) is a square root in either field, and Z_p has a subgroup of order q, into which exp
// maps.
#pragma once

#include <cstdint>

namespace kernelsmith {

inline constexpr uint64_t kP = 2305843009213690799ULL;
inline constexpr uint64_t kQ = 1152921504606845399ULL;
static_assert(kP == 2 * kQ + 1 && kP % 4 == 3 && kQ % 4 == 3);

// P lies just below 2^Bits, so x = hi·2^Bits + lo is congruent to hi·(2^Bits − P) + lo: two short
// multiplications instead of a division.
template <uint64_t P, int Bits>
struct PrimeField {
  static constexpr uint64_t kModulus = P;
  static constexpr uint64_t kExcess = (uint64_t{1} << Bits) - P;
  static_assert(kExcess < 4096);

  // x < 2^128.
  static constexpr uint64_t Reduce(unsigned __int128 x) {
    constexpr uint64_t kMask = (uint64_t{1} << Bits) - 1;
    // First fold: the high part is below 2^68, so the result is below 2^80; the second gives less
    // than 2^Bits + 2^32, the subtraction less than P.
    x = (x >> Bits) * kExcess + (static_cast<uint64_t>(x) & kMask);
    uint64_t y = static_cast<uint64_t>(x >> Bits) * kExcess + (static_cast<uint64_t>(x) & kMask);
    return y >= P ? y - P : y;
  }
  static constexpr uint64_t Add(uint64_t a, uint64_t b) {
    const uint64_t sum = a + b;
    return sum >= P ? sum - P : sum;
  }
  static constexpr uint64_t Neg(uint64_t a) { return a == 0 ? 0 : P - a; }
  static constexpr uint64_t Sub(uint64_t a, uint64_t b) { return a >= b ? a - b : a + P - b; }
  static constexpr uint64_t Mul(uint64_t a, uint64_t b) {
    return Reduce(static_cast<unsigned __int128>(a) * b);
  }
  static constexpr uint64_t Pow(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if (exponent & 1) result = Mul(result, base);
      base = Mul(base, base);
    }
    return result;
  }
  // a must not be 0. Extended Euclid: about three times as fast as the power P − 2.
  static constexpr uint64_t Inverse(uint64_t a) {
    int64_t t = 0, new_t = 1;
    uint64_t r = P, new_r = a;
    while (new_r != 0) {
      const uint64_t quotient = r / new_r;
      const int64_t next_t = t - static_cast<int64_t>(quotient) * new_t;
      t = new_t;
      new_t = next_t;
      const uint64_t next_r = r - quotient * new_r;
      r = new_r;
      new_r = next_r;
    }
    return t < 0 ? static_cast<uint64_t>(t + static_cast<int64_t>(P)) : static_cast<uint64_t>(t);
  }
  // Multiplicative: Sqrt(a·b) = Sqrt(a)·Sqrt(b). Squares back to a, or to −a if a is no square.
  static constexpr uint64_t Sqrt(uint64_t a) { return Pow(a, (P + 1) / 4); }
  static constexpr bool IsSquare(uint64_t a) { return a == 0 || Pow(a, (P - 1) / 2) == 1; }
  static constexpr uint64_t FromInt(int64_t x) {
    if (x >= 0) return static_cast<uint64_t>(x) % P;
    return Neg((~static_cast<uint64_t>(x) + 1) % P);
  }
};

using FieldP = PrimeField<kP, 61>;
using FieldQ = PrimeField<kQ, 60>;

}  // namespace kernelsmith
