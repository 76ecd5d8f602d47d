// f32 and f64 arithmetic.

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"
#include "vgpu/math/arith.h"
#include "vgpu/math/compare.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using math::Mode;
using math::Round;
using ptx::Type;

// Calls `make` with the Mode of the instruction.
template <typename Make>
Handler ForMode(const Instruction& in, Make make) {
  const auto with_flags = [&]<Round kRound>() -> Handler {
    if (in.ftz) {
      return in.sat ? make.template operator()<Mode<kRound, true, true>>()
                    : make.template operator()<Mode<kRound, true, false>>();
    }
    return in.sat ? make.template operator()<Mode<kRound, false, true>>()
                  : make.template operator()<Mode<kRound, false, false>>();
  };
  switch (in.rounding) {
    case ptx::Rounding::kNone:
    case ptx::Rounding::kRn:
      return with_flags.template operator()<Round::kRn>();
    case ptx::Rounding::kRz:
      return with_flags.template operator()<Round::kRz>();
    case ptx::Rounding::kRm:
      return with_flags.template operator()<Round::kRm>();
    case ptx::Rounding::kRp:
      return with_flags.template operator()<Round::kRp>();
    default:
      return nullptr;
  }
}

template <typename Make>
Handler ForRound(const Instruction& in, Make make) {
  switch (in.rounding) {
    case ptx::Rounding::kNone:
    case ptx::Rounding::kRn:
      return make.template operator()<Mode<Round::kRn>>();
    case ptx::Rounding::kRz:
      return make.template operator()<Mode<Round::kRz>>();
    case ptx::Rounding::kRm:
      return make.template operator()<Mode<Round::kRm>>();
    case ptx::Rounding::kRp:
      return make.template operator()<Mode<Round::kRp>>();
    default:
      return nullptr;
  }
}

template <typename T, typename M>
constexpr auto kAdd = [](T a, T b) { return math::Add<M>(a, b); };
template <typename T, typename M>
constexpr auto kSub = [](T a, T b) { return math::Sub<M>(a, b); };
template <typename T, typename M>
constexpr auto kMul = [](T a, T b) { return math::Mul<M>(a, b); };
template <typename T, typename M>
constexpr auto kFma = [](T a, T b, T c) { return math::Fma<M>(a, b, c); };
template <typename T, typename M>
constexpr auto kDiv = [](T a, T b) { return math::Div<M>(a, b); };
template <typename T, typename M>
constexpr auto kRcp = [](T a) { return math::Rcp<M>(a); };
template <typename T, typename M>
constexpr auto kSqrt = [](T a) { return math::Sqrt<M>(a); };

template <typename T, typename M>
Handler PickMode(Op op) {
  switch (op) {
    case Op::kAdd:
      return Map2<T, T, T, kAdd<T, M>>;
    case Op::kSub:
      return Map2<T, T, T, kSub<T, M>>;
    case Op::kMul:
      return Map2<T, T, T, kMul<T, M>>;
    case Op::kFma:
      return Map3<T, T, T, T, kFma<T, M>>;
    case Op::kDiv:
      return Map2<T, T, T, kDiv<T, M>>;
    case Op::kRcp:
      return Map1<T, T, kRcp<T, M>>;
    case Op::kSqrt:
      return Map1<T, T, kSqrt<T, M>>;
    default:
      return nullptr;
  }
}

template <bool kMax, bool kFtz, bool kNan, bool kXorsign>
constexpr auto kMinMaxF32 =
    [](float a, float b) { return math::MinMax<kMax, kFtz, kNan, kXorsign>(a, b); };
template <bool kMax, bool kFtz, bool kNan, bool kXorsign>
constexpr auto kMinMax3F32 =
    [](float a, float b, float c) { return math::MinMax3<kMax, kFtz, kNan, kXorsign>(a, b, c); };

template <bool kMax, bool kFtz, bool kNan, bool kXorsign>
Handler MinMaxOf(bool three) {
  return three ? Map3<float, float, float, float, kMinMax3F32<kMax, kFtz, kNan, kXorsign>>
               : Map2<float, float, float, kMinMaxF32<kMax, kFtz, kNan, kXorsign>>;
}

template <bool kMax>
Handler PickMinMax(const Instruction& in, bool three) {
  if (in.type == Type::kF64) {
    constexpr auto kSelect = [](double a, double b) { return math::MinMax<kMax>(a, b); };
    return three ? nullptr : Map2<double, double, double, kSelect>;
  }
  if (in.xorsign) {
    if (in.ftz)
      return in.nan ? MinMaxOf<kMax, true, true, true>(three)
                    : MinMaxOf<kMax, true, false, true>(three);
    return in.nan ? MinMaxOf<kMax, false, true, true>(three)
                  : MinMaxOf<kMax, false, false, true>(three);
  }
  if (in.ftz)
    return in.nan ? MinMaxOf<kMax, true, true, false>(three)
                  : MinMaxOf<kMax, true, false, false>(three);
  return in.nan ? MinMaxOf<kMax, false, true, false>(three)
                : MinMaxOf<kMax, false, false, false>(three);
}

template <typename T, math::FloatClass kClass>
void Testp(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  uint32_t bits = 0;
  for (int i = 0; i < kWarpSize; ++i) {
    bits |= static_cast<uint32_t>(math::TestP<kClass>(a[i])) << i;
  }
  CommitPredicate(w.Predicate(in.d), bits, mask);
}

template <typename T>
Handler PickTestp(uint8_t which) {
  using math::FloatClass;
  constexpr Handler kTests[] = {
      Testp<T, FloatClass::kFinite>, Testp<T, FloatClass::kInfinite>,
      Testp<T, FloatClass::kNumber>, Testp<T, FloatClass::kNotANumber>,
      Testp<T, FloatClass::kNormal>, Testp<T, FloatClass::kSubnormal>,
  };
  return kTests[which];
}

template <typename T>
Handler PickSign(const Instruction& in) {
  switch (in.op) {
    case Op::kAbs:
      return in.ftz ? Map1<T, T, [](T a) { return math::AbsInsn<true>(a); }>
                    : Map1<T, T, [](T a) { return math::AbsInsn<false>(a); }>;
    case Op::kNeg:
      return in.ftz ? Map1<T, T, [](T a) { return math::NegInsn<true>(a); }>
                    : Map1<T, T, [](T a) { return math::NegInsn<false>(a); }>;
    case Op::kCopysign:
      return Map2<T, T, T, [](T a, T b) { return math::CopySign(a, b); }>;
    case Op::kTestp:
      return PickTestp<T>(in.variant);
    default:
      return nullptr;
  }
}

// Two floats in a 64-bit register, each for itself.
template <auto kFunction, int kSources>
void Pairwise(Warp& w, const Instruction& in, uint32_t mask) {
  const auto* a = w.Lanes<float>(in.a);
  const auto* b = w.Lanes<float>(in.b);
  const auto* c = kSources > 2 ? w.Lanes<float>(in.c) : a;
  float r[2 * kWarpSize];
  for (int i = 0; i < 2 * kWarpSize; ++i) {
    if constexpr (kSources > 2) {
      r[i] = kFunction(a[i], b[i], c[i]);
    } else {
      r[i] = kFunction(a[i], b[i]);
    }
  }
  LaneArray<uint64_t> packed;
  std::memcpy(packed.at, r, sizeof r);
  Commit(w.Lanes<uint64_t>(in.d), packed, mask);
}

}  // namespace

Handler FindFloatHandler(const Instruction& in) {
  if (in.type == Type::kF32x2) {
    return ForMode(in, [&]<typename M>() -> Handler {
      switch (in.op) {
        case Op::kAdd:
          return Pairwise<kAdd<float, M>, 2>;
        case Op::kSub:
          return Pairwise<kSub<float, M>, 2>;
        case Op::kMul:
          return Pairwise<kMul<float, M>, 2>;
        case Op::kFma:
          return Pairwise<kFma<float, M>, 3>;
        default:
          return nullptr;
      }
    });
  }
  if (in.type != Type::kF32 && in.type != Type::kF64) return nullptr;
  const bool is_float = in.type == Type::kF32;
  switch (in.op) {
    case Op::kDiv:
    case Op::kRcp:
    case Op::kSqrt:
      if (in.approx || in.full) return nullptr;
      [[fallthrough]];
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFma:
      if (is_float) {
        return ForMode(in, [&]<typename M>() -> Handler { return PickMode<float, M>(in.op); });
      }
      return ForRound(in, [&]<typename M>() -> Handler { return PickMode<double, M>(in.op); });
    case Op::kMin:
    case Op::kMin3:
      return PickMinMax<false>(in, in.op == Op::kMin3);
    case Op::kMax:
    case Op::kMax3:
      return PickMinMax<true>(in, in.op == Op::kMax3);
    default:
      return is_float ? PickSign<float>(in) : PickSign<double>(in);
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
