// The number formats of PTX as storage types, and what every header of this folder needs.
//
// src/vgpu/math holds the arithmetic of PTX as pure functions of lane values: same bits in, same
// bits out, on every machine. The interpreter calls them in loops over 32 lanes, the JIT calls or
// inlines the same code. Names follow the instruction (Add, Fma, Cvt, Prmt ...); modifiers that
// change the result are template arguments, so that a handler can be instantiated per variant.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

// Handlers are compiled several times for different instruction sets of the host and chosen at run
// time. Inline functions of different builds must not be merged by the linker (the one that
// survives could need AVX2 on a machine that has none), so each build has its own inline namespace.
#if defined(__AVX512F__)
#define KS_MATH_ISA isa_avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define KS_MATH_ISA isa_avx2
#else
#define KS_MATH_ISA isa_base
#endif

namespace kernelsmith::vgpu::math {

// Round to nearest even, towards zero, down, up, to nearest with ties away from zero, to odd (the
// last is no PTX mode: it is the safe intermediate step before a second rounding).
enum class Round { kRn, kRz, kRm, kRp, kRna, kOdd };

inline namespace KS_MATH_ISA {

// 16-bit floats: 5 exponent and 10 mantissa bits, and 8 and 7.
struct F16 {
  uint16_t bits = 0;
};
struct BF16 {
  uint16_t bits = 0;
};
// Two of them in one 32-bit register; the element with index 0 is the low half.
struct F16x2 {
  uint32_t bits = 0;
};
struct BF16x2 {
  uint32_t bits = 0;
};

template <typename To, typename From>
constexpr To Bits(From from) {
  return std::bit_cast<To>(from);
}

inline constexpr uint32_t kF32Nan = 0x7fffffff;  // what every f32 instruction returns for NaN
inline constexpr uint16_t kF16Nan = 0x7fff;
inline constexpr uint16_t kBF16Nan = 0x7fff;
// f64 instructions propagate the payload of a NaN operand; an invalid operation gives this one.
inline constexpr uint64_t kF64Indefinite = 0xfff8000000000000;
inline constexpr uint64_t kF64QuietBit = 0x0008000000000000;

constexpr bool IsNan(float x) { return (Bits<uint32_t>(x) & 0x7fffffff) > 0x7f800000; }
constexpr bool IsNan(double x) {
  return (Bits<uint64_t>(x) & 0x7fffffffffffffff) > 0x7ff0000000000000;
}
constexpr bool IsNan(F16 x) { return (x.bits & 0x7fff) > 0x7c00; }
constexpr bool IsNan(BF16 x) { return (x.bits & 0x7fff) > 0x7f80; }

constexpr float CanonicalNan(float x) { return IsNan(x) ? Bits<float>(kF32Nan) : x; }

// A subnormal becomes a zero of the same sign.
template <bool Ftz>
constexpr float Flush(float x) {
  if constexpr (!Ftz) return x;
  const uint32_t bits = Bits<uint32_t>(x);
  return Bits<float>((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

// .sat of floating point: [0, 1], NaN becomes +0.
template <bool Sat>
constexpr float Saturate(float x) {
  if constexpr (!Sat) return x;
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}
template <bool Sat>
constexpr double Saturate(double x) {
  if constexpr (!Sat) return x;
  return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
}

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <typename T>
inline constexpr bool kIsHalf2 = std::is_same_v<T, F16x2> || std::is_same_v<T, BF16x2>;
template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsHalf<T>;

template <typename T>
struct ElementOf;
template <>
struct ElementOf<F16x2> {
  using type = F16;
};
template <>
struct ElementOf<BF16x2> {
  using type = BF16;
};
template <typename T>
using Element = typename ElementOf<T>::type;

template <typename Pair>
constexpr Element<Pair> Lo(Pair x) {
  return {static_cast<uint16_t>(x.bits)};
}
template <typename Pair>
constexpr Element<Pair> Hi(Pair x) {
  return {static_cast<uint16_t>(x.bits >> 16)};
}
constexpr F16x2 Pack(F16 lo, F16 hi) { return {lo.bits | static_cast<uint32_t>(hi.bits) << 16}; }
constexpr BF16x2 Pack(BF16 lo, BF16 hi) { return {lo.bits | static_cast<uint32_t>(hi.bits) << 16}; }

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
