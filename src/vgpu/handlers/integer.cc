// Integer arithmetic.

#include "vgpu/math/integer.h"

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using ptx::Type;

// The flag is the adder's carry: after a subtraction it is set when there was no borrow. Chains of
// subtractions cannot tell, but code that reads the flag by addc after subc can (the 128-bit
// division that nvcc links in does).
template <typename T, bool kSubtract>
void Carry(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  const T* b = w.Lanes<T>(in.b);
  const uint32_t carry_in = w.Predicate(in.c);
  uint32_t carry_out = 0;
  LaneArray<T> r;
  for (int i = 0; i < kWarpSize; ++i) {
    const bool bit = (carry_in >> i & 1) != 0;
    const auto result =
        kSubtract ? math::SubBorrow(a[i], b[i], !bit) : math::AddCarry(a[i], b[i], bit);
    r.at[i] = result.value;
    carry_out |= static_cast<uint32_t>(result.carry != kSubtract) << i;
  }
  Commit(w.Lanes<T>(in.d), r, mask);
  if (in.carry_out) CommitPredicate(w.Predicate(in.d2), carry_out, mask);
}

template <typename T, bool kHigh>
void MadCarry(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  const T* b = w.Lanes<T>(in.b);
  const T* c = w.Lanes<T>(in.c);
  const uint32_t carry_in = w.Predicate(in.e);
  uint32_t carry_out = 0;
  LaneArray<T> r;
  for (int i = 0; i < kWarpSize; ++i) {
    const bool bit = (carry_in >> i & 1) != 0;
    const auto result =
        kHigh ? math::MadHiCarry(a[i], b[i], c[i], bit) : math::MadLoCarry(a[i], b[i], c[i], bit);
    r.at[i] = result.value;
    carry_out |= static_cast<uint32_t>(result.carry) << i;
  }
  Commit(w.Lanes<T>(in.d), r, mask);
  if (in.carry_out) CommitPredicate(w.Predicate(in.d2), carry_out, mask);
}

// Division is slow and does not vectorise: only for the lanes that want it.
template <typename T, bool kRemainder>
void Divide(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  const T* b = w.Lanes<T>(in.b);
  T* d = w.Lanes<T>(in.d);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    d[i] = kRemainder ? math::RemInt(a[i], b[i]) : math::DivInt(a[i], b[i]);
  }
}

Handler FindPair(const Instruction& in) {
  const bool is_signed = in.type == Type::kS16x2;
  if (!is_signed && in.type != Type::kU16x2) return nullptr;
  switch (in.op) {
    case Op::kAdd:
      return Map2<uint32_t, uint32_t, uint32_t, math::AddX2<uint16_t>>;
    case Op::kMin:
      if (in.relu) return Map2<uint32_t, uint32_t, uint32_t, math::MinX2<int16_t, true>>;
      return is_signed ? Map2<uint32_t, uint32_t, uint32_t, math::MinX2<int16_t>>
                       : Map2<uint32_t, uint32_t, uint32_t, math::MinX2<uint16_t>>;
    case Op::kMax:
      if (in.relu) return Map2<uint32_t, uint32_t, uint32_t, math::MaxX2<int16_t, true>>;
      return is_signed ? Map2<uint32_t, uint32_t, uint32_t, math::MaxX2<int16_t>>
                       : Map2<uint32_t, uint32_t, uint32_t, math::MaxX2<uint16_t>>;
    default:
      return nullptr;
  }
}

Handler FindDot(const Instruction& in) {
  const bool a = in.type == Type::kS32;
  const bool b = in.source_type == Type::kS32;
  const auto pick = [&]<typename A, typename B>(A, B) -> Handler {
    if (in.op == Op::kDp4a) {
      return Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::Dp4a<A, B>>;
    }
    return in.variant != 0 ? Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::Dp2a<A, B, true>>
                           : Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::Dp2a<A, B, false>>;
  };
  if (a) return b ? pick(int32_t{}, int32_t{}) : pick(int32_t{}, uint32_t{});
  return b ? pick(uint32_t{}, int32_t{}) : pick(uint32_t{}, uint32_t{});
}

Handler FindSaturating(const Instruction& in) {
  if (in.type != Type::kS32) return nullptr;
  switch (in.op) {
    case Op::kAdd:
      return Map2<int32_t, int32_t, int32_t, math::AddSat>;
    case Op::kSub:
      return Map2<int32_t, int32_t, int32_t, math::SubSat>;
    case Op::kMadHiSat:
      return Map3<int32_t, int32_t, int32_t, int32_t, math::MadHiSat>;
    case Op::kMad24Hi:
      return Map3<int32_t, int32_t, int32_t, int32_t, math::Mad24HiSat>;
    default:
      return nullptr;
  }
}

Handler FindMinMax(const Instruction& in) {
  if (in.relu && in.type == Type::kS32) {
    constexpr auto kMin = [](int32_t a, int32_t b) { return math::Relu(math::MinInt(a, b)); };
    constexpr auto kMax = [](int32_t a, int32_t b) { return math::Relu(math::MaxInt(a, b)); };
    return in.op == Op::kMin ? Map2<int32_t, int32_t, int32_t, kMin>
                             : Map2<int32_t, int32_t, int32_t, kMax>;
  }
  return ForInteger(in.type, [&]<typename T>(T) -> Handler {
    return in.op == Op::kMin ? Map2<T, T, T, math::MinInt<T>> : Map2<T, T, T, math::MaxInt<T>>;
  });
}

}  // namespace

Handler FindIntegerHandler(const Instruction& in) {
  if (const Handler pair = FindPair(in)) return pair;
  const auto signed_only = [&](Type type) { return ptx::KindOf(type) == ptx::TypeKind::kSigned; };
  if (ptx::KindOf(in.type) == ptx::TypeKind::kFloat) return nullptr;
  if (in.sat) return FindSaturating(in);
  switch (in.op) {
    case Op::kAdd:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map2<T, T, T, math::AddInt<T>>; });
    case Op::kSub:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map2<T, T, T, math::SubInt<T>>; });
    case Op::kAddCarry:
      return ForWord(in.type, []<typename T>(T) -> Handler { return Carry<T, false>; });
    case Op::kSubCarry:
      return ForWord(in.type, []<typename T>(T) -> Handler { return Carry<T, true>; });
    case Op::kMadLoCarry:
      return ForWord(in.type, []<typename T>(T) -> Handler { return MadCarry<T, false>; });
    case Op::kMadHiCarry:
      return ForWord(in.type, []<typename T>(T) -> Handler { return MadCarry<T, true>; });
    case Op::kMulLo:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map2<T, T, T, math::MulLo<T>>; });
    case Op::kMulHi:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map2<T, T, T, math::MulHi<T>>; });
    case Op::kMulWide:
      return ForInteger(in.type, []<typename T>(T) -> Handler {
        if constexpr (sizeof(T) == 8) {
          return nullptr;
        } else {
          return Map2<math::Wider<T>, T, T, math::MulWide<T>>;
        }
      });
    case Op::kMadLo:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map3<T, T, T, T, math::MadLo<T>>; });
    case Op::kMadHi:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map3<T, T, T, T, math::MadHi<T>>; });
    case Op::kMadWide:
      return ForInteger(in.type, []<typename T>(T) -> Handler {
        if constexpr (sizeof(T) == 8) {
          return nullptr;
        } else {
          return Map3<math::Wider<T>, T, T, math::Wider<T>, math::MadWide<T>>;
        }
      });
    case Op::kMul24Lo:
    case Op::kMul24Hi:
    case Op::kMad24Lo:
    case Op::kMad24Hi: {
      const auto pick = [&]<typename T>(T) -> Handler {
        switch (in.op) {
          case Op::kMul24Lo:
            return Map2<T, T, T, math::Mul24Lo<T>>;
          case Op::kMul24Hi:
            return Map2<T, T, T, math::Mul24Hi<T>>;
          case Op::kMad24Lo:
            return Map3<T, T, T, T, math::Mad24Lo<T>>;
          default:
            return Map3<T, T, T, T, math::Mad24Hi<T>>;
        }
      };
      return signed_only(in.type) ? pick(int32_t{}) : pick(uint32_t{});
    }
    case Op::kSad:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map3<T, T, T, T, math::Sad<T>>; });
    case Op::kDiv:
      return ForInteger(in.type, []<typename T>(T) -> Handler { return Divide<T, false>; });
    case Op::kRem:
      return ForInteger(in.type, []<typename T>(T) -> Handler { return Divide<T, true>; });
    case Op::kAbs:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map1<T, T, math::AbsInt<T>>; });
    case Op::kNeg:
      return ForInteger(in.type,
                        []<typename T>(T) -> Handler { return Map1<T, T, math::NegInt<T>>; });
    case Op::kMin:
    case Op::kMax:
      return FindMinMax(in);
    case Op::kDp4a:
    case Op::kDp2a:
      return FindDot(in);
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
