// Integer and bit instructions. Operands have the instruction's type; nothing here has undefined
// behaviour for any operand, since kernels may pass anything.
#pragma once

#include <limits>

#include "vgpu/math/types.h"

namespace kernelsmith::vgpu::math {
inline namespace KS_MATH_ISA {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T>
struct WiderOf;
template <>
struct WiderOf<int16_t> {
  using type = int32_t;
};
template <>
struct WiderOf<uint16_t> {
  using type = uint32_t;
};
template <>
struct WiderOf<int32_t> {
  using type = int64_t;
};
template <>
struct WiderOf<uint32_t> {
  using type = uint64_t;
};
template <>
struct WiderOf<int64_t> {
  using type = __int128;
};
template <>
struct WiderOf<uint64_t> {
  using type = unsigned __int128;
};
template <typename T>
using Wider = typename WiderOf<T>::type;

template <typename T>
inline constexpr int kWidth = static_cast<int>(sizeof(T) * 8);

// ---- add, sub, mul, mad ----

template <typename T>
constexpr T AddInt(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}
template <typename T>
constexpr T SubInt(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}
// add.sat.s32 and sub.sat.s32
constexpr int32_t ClampS32(int64_t x) {
  return static_cast<int32_t>(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
constexpr int32_t AddSat(int32_t a, int32_t b) { return ClampS32(int64_t{a} + b); }
constexpr int32_t SubSat(int32_t a, int32_t b) { return ClampS32(int64_t{a} - b); }

template <typename T>
constexpr T MulLo(T a, T b) {
  // 16-bit operands would be promoted to int, whose overflow is undefined.
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  return static_cast<T>(static_cast<Word>(a) * static_cast<Word>(b));
}
template <typename T>
constexpr Wider<T> MulWide(T a, T b) {
  return static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b);
}
template <typename T>
constexpr T MulHi(T a, T b) {
  return static_cast<T>(MulWide(a, b) >> kWidth<T>);
}
template <typename T>
constexpr T MadLo(T a, T b, T c) {
  return AddInt(MulLo(a, b), c);
}
template <typename T>
constexpr T MadHi(T a, T b, T c) {
  return AddInt(MulHi(a, b), c);
}
constexpr int32_t MadHiSat(int32_t a, int32_t b, int32_t c) { return AddSat(MulHi(a, b), c); }
template <typename T>
constexpr Wider<T> MadWide(T a, T b, Wider<T> c) {
  return AddInt(MulWide(a, b), c);
}

// mul24 and mad24: the low 24 bits of each operand; .hi is bits 16 to 47 of the product.
template <typename T>
constexpr int64_t Low24(T x) {
  return std::is_signed_v<T> ? static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8
                             : static_cast<int64_t>(x & 0xffffff);
}
template <typename T>
constexpr T Mul24Lo(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(Low24(a) * Low24(b)));
}
template <typename T>
constexpr T Mul24Hi(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(Low24(a) * Low24(b)) >> 16);
}
template <typename T>
constexpr T Mad24Lo(T a, T b, T c) {
  return AddInt(Mul24Lo(a, b), c);
}
template <typename T>
constexpr T Mad24Hi(T a, T b, T c) {
  return AddInt(Mul24Hi(a, b), c);
}
constexpr int32_t Mad24HiSat(int32_t a, int32_t b, int32_t c) { return AddSat(Mul24Hi(a, b), c); }

template <typename T>
constexpr T Sad(T a, T b, T c) {
  const T difference = a < b ? SubInt(b, a) : SubInt(a, b);
  return AddInt(c, difference);
}

// Division by zero gives all ones, for the remainder as well: that is what the code that ptxas
// emits for these instructions returns. The smallest integer by -1 wraps.
template <typename T>
constexpr T DivInt(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return SubInt(T{0}, a);
  }
  return static_cast<T>(a / b);
}
template <typename T>
constexpr T RemInt(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <typename T>
constexpr T AbsInt(T a) {
  return a < 0 ? SubInt(T{0}, a) : a;
}
template <typename T>
constexpr T NegInt(T a) {
  return SubInt(T{0}, a);
}
template <typename T>
constexpr T MinInt(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
constexpr T MaxInt(T a, T b) {
  return a > b ? a : b;
}
template <typename T>
constexpr T Relu(T a) {
  return a > 0 ? a : T{0};
}

// The .s16x2 and .u16x2 forms: `op` on each half.
template <typename T, typename Op>
constexpr uint32_t EachHalf(uint32_t a, uint32_t b, Op op) {
  const auto lo = static_cast<uint16_t>(op(static_cast<T>(a), static_cast<T>(b)));
  const auto hi = static_cast<uint16_t>(op(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return lo | static_cast<uint32_t>(hi) << 16;
}
template <typename T>
constexpr uint32_t AddX2(uint32_t a, uint32_t b) {
  return EachHalf<T>(a, b, [](T x, T y) { return AddInt(x, y); });
}
template <typename T, bool kRelu = false>
constexpr uint32_t MinX2(uint32_t a, uint32_t b) {
  return EachHalf<T>(a, b, [](T x, T y) { return kRelu ? Relu(MinInt(x, y)) : MinInt(x, y); });
}
template <typename T, bool kRelu = false>
constexpr uint32_t MaxX2(uint32_t a, uint32_t b) {
  return EachHalf<T>(a, b, [](T x, T y) { return kRelu ? Relu(MaxInt(x, y)) : MaxInt(x, y); });
}

// ---- carry chains; CC.CF is a carry after additions and a borrow after subtractions ----

template <typename T>
struct WithCarry {
  T value;
  bool carry;
};
// add.cc, addc, addc.cc
template <typename T>
constexpr WithCarry<T> AddCarry(T a, T b, bool carry_in = false) {
  const auto wide = static_cast<Wider<Unsigned<T>>>(static_cast<Unsigned<T>>(a)) +
                    static_cast<Unsigned<T>>(b) + (carry_in ? 1u : 0u);
  return {static_cast<T>(wide), (wide >> kWidth<T>) != 0};
}
// sub.cc, subc, subc.cc
template <typename T>
constexpr WithCarry<T> SubBorrow(T a, T b, bool borrow_in = false) {
  const auto x = static_cast<Unsigned<T>>(a);
  const auto y =
      static_cast<Wider<Unsigned<T>>>(static_cast<Unsigned<T>>(b)) + (borrow_in ? 1u : 0u);
  return {static_cast<T>(x - static_cast<Unsigned<T>>(y)), y > x};
}
// mad.lo.cc, madc.lo{.cc} and the .hi forms
template <typename T>
constexpr WithCarry<T> MadLoCarry(T a, T b, T c, bool carry_in = false) {
  return AddCarry(MulLo(a, b), c, carry_in);
}
template <typename T>
constexpr WithCarry<T> MadHiCarry(T a, T b, T c, bool carry_in = false) {
  return AddCarry(MulHi(a, b), c, carry_in);
}

// ---- shifts: amounts above the width count as the width ----

template <typename T>
constexpr T Shl(T a, uint32_t n) {
  return n >= static_cast<uint32_t>(kWidth<T>) ? T{0}
                                               : static_cast<T>(static_cast<Unsigned<T>>(a) << n);
}
template <typename T>
constexpr T Shr(T a, uint32_t n) {
  constexpr auto kBits = static_cast<uint32_t>(kWidth<T>);
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(a >> (n < kBits ? n : kBits - 1));
  } else {
    return n >= kBits ? T{0} : static_cast<T>(a >> n);
  }
}
// shf.{l,r}.{clamp,wrap}.b32 d, a, b, c: the 64-bit value b:a.
template <bool kWrap>
constexpr uint32_t ShfLeft(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = kWrap ? c & 31 : (c < 32 ? c : 32);
  return static_cast<uint32_t>(((uint64_t{b} << 32 | a) << n) >> 32);
}
template <bool kWrap>
constexpr uint32_t ShfRight(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = kWrap ? c & 31 : (c < 32 ? c : 32);
  return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> n);
}

// ---- bits ----

template <typename T>
constexpr uint32_t Popc(T a) {
  return static_cast<uint32_t>(std::popcount(static_cast<Unsigned<T>>(a)));
}
template <typename T>
constexpr uint32_t Clz(T a) {
  return static_cast<uint32_t>(std::countl_zero(static_cast<Unsigned<T>>(a)));
}
constexpr uint32_t Brev(uint32_t a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  a = (a >> 8 & 0x00ff00ff) | (a & 0x00ff00ff) << 8;
  return a >> 16 | a << 16;
}
constexpr uint64_t Brev(uint64_t a) {
  return uint64_t{Brev(static_cast<uint32_t>(a))} << 32 | Brev(static_cast<uint32_t>(a >> 32));
}
template <typename T>
constexpr T Cnot(T a) {
  return a == 0 ? T{1} : T{0};
}

// The position of the highest bit that differs from the sign, 0xffffffff if there is none; with
// .shiftamt the shift that brings it to the top.
template <bool kShiftAmt, typename T>
constexpr uint32_t Bfind(T a) {
  const auto bits = static_cast<Unsigned<T>>(a < 0 ? ~a : a);
  if (bits == 0) return 0xffffffff;
  const uint32_t position = static_cast<uint32_t>(kWidth<T> - 1) - Clz(bits);
  return kShiftAmt ? static_cast<uint32_t>(kWidth<T> - 1) - position : position;
}

// A mask of the n lowest bits, n from 0 to the width.
template <typename T>
constexpr Unsigned<T> LowMask(uint32_t n) {
  return n >= static_cast<uint32_t>(kWidth<T>)
             ? static_cast<Unsigned<T>>(~Unsigned<T>{0})
             : static_cast<Unsigned<T>>((Unsigned<T>{1} << n) - 1);
}

// bfe: a field that reaches beyond the top is filled with its sign bit (signed) or zeros.
template <typename T>
constexpr T Bfe(T a, uint32_t position, uint32_t length) {
  constexpr auto kBits = static_cast<uint32_t>(kWidth<T>);
  position &= 0xff;
  length &= 0xff;
  if (length == 0) return 0;
  const auto shifted = static_cast<Unsigned<T>>(Shr(static_cast<Unsigned<T>>(a), position));
  const Unsigned<T> mask = LowMask<T>(length);
  const uint32_t last = position + length - 1 < kBits - 1 ? position + length - 1 : kBits - 1;
  const bool sign = std::is_signed_v<T> && (static_cast<Unsigned<T>>(a) >> last & 1) != 0;
  // Bits of the field that lie above the top, and bits above the field, are copies of the sign.
  const Unsigned<T> present =
      position >= kBits ? Unsigned<T>{0} : LowMask<T>(kBits - position) & mask;
  return static_cast<T>((shifted & present) | (sign ? static_cast<Unsigned<T>>(~present) : 0));
}

template <typename T>
constexpr T Bfi(T a, T b, uint32_t position, uint32_t length) {
  position &= 0xff;
  length &= 0xff;
  const T field = Shl(static_cast<T>(LowMask<T>(length)), position);
  return static_cast<T>((b & ~field) | (Shl(a, position) & field));
}

constexpr uint32_t Lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t d = 0;
  if (table & 0x01) d |= ~a & ~b & ~c;
  if (table & 0x02) d |= ~a & ~b & c;
  if (table & 0x04) d |= ~a & b & ~c;
  if (table & 0x08) d |= ~a & b & c;
  if (table & 0x10) d |= a & ~b & ~c;
  if (table & 0x20) d |= a & ~b & c;
  if (table & 0x40) d |= a & b & ~c;
  if (table & 0x80) d |= a & b & c;
  return d;
}

enum class Prmt { kIndex, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16 };

// Bytes 0 to 3 are a, 4 to 7 are b. In the index mode a nibble of c names a byte, its top bit asks
// for the byte's sign instead.
template <Prmt kMode = Prmt::kIndex>
constexpr uint32_t PrmtBytes(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t d = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t nibble = c >> (4 * i) & 0xf;
    const uint32_t s = c & 3;
    uint32_t from = 0;
    switch (kMode) {
      case Prmt::kIndex:
        from = nibble & 7;
        break;
      case Prmt::kF4e:
        from = s + i;
        break;
      case Prmt::kB4e:
        from = (s - i) & 7;
        break;
      case Prmt::kRc8:
        from = s;
        break;
      case Prmt::kEcl:
        from = i > s ? i : s;
        break;
      case Prmt::kEcr:
        from = i < s ? i : s;
        break;
      case Prmt::kRc16:
        from = (s & 1) << 1 | (i & 1);  // bit 0 of c chooses the half, bit 1 says nothing
        break;
    }
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * from)) & 0xff;
    if (kMode == Prmt::kIndex && (nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    d |= byte << (8 * i);
  }
  return d;
}

// The position of the n-th set bit from `base` on, upwards for a positive, downwards for a negative
// n.
constexpr uint32_t Fns(uint32_t mask, uint32_t base, int32_t n) {
  if (base > 31) return 0xffffffff;
  if (n == 0) return (mask >> base & 1) != 0 ? base : 0xffffffff;
  const int step = n > 0 ? 1 : -1;
  // Negating in 64 bits: n may be the smallest integer.
  int64_t left = (n > 0 ? int64_t{n} : -int64_t{n}) - 1;
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1) == 0) continue;
    if (left-- == 0) return static_cast<uint32_t>(position);
  }
  return 0xffffffff;
}

// szext.{clamp,wrap}.{u32,s32}: extend from bit n - 1.
template <bool kWrap, typename T>
constexpr T Szext(T a, uint32_t n) {
  const auto bits = static_cast<uint32_t>(a);
  if (!kWrap && n >= 32) return a;
  n &= 31;
  const uint32_t mask = LowMask<uint32_t>(n);
  const bool sign = std::is_signed_v<T> && n != 0 && (bits >> (n - 1) & 1) != 0;
  return static_cast<T>((bits & mask) | (sign ? ~mask : 0));
}

// bmsk.{clamp,wrap}: b ones from bit a on.
template <bool kWrap>
constexpr uint32_t Bmsk(uint32_t a, uint32_t b) {
  if (!kWrap && a >= 32) return 0;
  const uint32_t width = kWrap ? b & 31 : (b < 32 ? b : 32);
  return LowMask<uint32_t>(width) << (a & 31);
}

// dp4a and dp2a; A and B are int32_t or uint32_t and say how the parts extend.
template <typename T>
constexpr int64_t ExtendedByte(uint32_t x, int i) {
  const uint32_t byte = x >> (8 * i) & 0xff;
  return std::is_signed_v<T> ? int64_t{static_cast<int8_t>(byte)} : int64_t{byte};
}
template <typename T>
constexpr int64_t ExtendedHalf(uint32_t x, int i) {
  const uint32_t half = x >> (16 * i) & 0xffff;
  return std::is_signed_v<T> ? int64_t{static_cast<int16_t>(half)} : int64_t{half};
}
template <typename A, typename B>
constexpr uint32_t Dp4a(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += ExtendedByte<A>(a, i) * ExtendedByte<B>(b, i);
  return c + static_cast<uint32_t>(sum);
}
template <typename A, typename B, bool kHigh>
constexpr uint32_t Dp2a(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = 0;
  for (int i = 0; i < 2; ++i)
    sum += ExtendedHalf<A>(a, i) * ExtendedByte<B>(b, i + (kHigh ? 2 : 0));
  return c + static_cast<uint32_t>(sum);
}

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
