// f16 and bf16 arithmetic, single and in pairs.

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"
#include "vgpu/math/approx.h"
#include "vgpu/math/arith.h"
#include "vgpu/math/compare.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using math::Mode;
using math::Round;
using ptx::Type;

template <typename T, typename M>
Handler PickMode(Op op) {
  switch (op) {
    case Op::kAdd:
      return Map2<T, T, T, [](T a, T b) { return math::Add<M>(a, b); }>;
    case Op::kSub:
      return Map2<T, T, T, [](T a, T b) { return math::Sub<M>(a, b); }>;
    case Op::kMul:
      return Map2<T, T, T, [](T a, T b) { return math::Mul<M>(a, b); }>;
    case Op::kFma:
      return Map3<T, T, T, T, [](T a, T b, T c) { return math::Fma<M>(a, b, c); }>;
    default:
      return nullptr;
  }
}

template <typename T, bool kMax, bool kFtz, bool kNan, bool kXorsign>
T MinMaxLane(T a, T b) {
  return math::MinMax<kMax, kFtz, kNan, kXorsign>(a, b);
}
template <typename T, bool kMax>
Handler PickMinMax(const Instruction& in) {
  const auto pick = [&]<bool kFtz, bool kNan, bool kXorsign>() -> Handler {
    return Map2<T, T, T, MinMaxLane<T, kMax, kFtz, kNan, kXorsign>>;
  };
  const auto with_xor = [&]<bool kFtz, bool kNan>() -> Handler {
    return in.xorsign ? pick.template operator()<kFtz, kNan, true>()
                      : pick.template operator()<kFtz, kNan, false>();
  };
  if (in.ftz) {
    return in.nan ? with_xor.template operator()<true, true>()
                  : with_xor.template operator()<true, false>();
  }
  return in.nan ? with_xor.template operator()<false, true>()
                : with_xor.template operator()<false, false>();
}

template <typename T>
Handler Pick(const Instruction& in) {
  switch (in.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFma:
      if (in.rounding != ptx::Rounding::kNone && in.rounding != ptx::Rounding::kRn) return nullptr;
      if (in.relu) {
        return in.ftz ? PickMode<T, Mode<Round::kRn, true, false, true>>(in.op)
                      : PickMode<T, Mode<Round::kRn, false, false, true>>(in.op);
      }
      if (in.sat) {
        return in.ftz ? PickMode<T, Mode<Round::kRn, true, true>>(in.op)
                      : PickMode<T, Mode<Round::kRn, false, true>>(in.op);
      }
      return in.ftz ? PickMode<T, Mode<Round::kRn, true>>(in.op)
                    : PickMode<T, Mode<Round::kRn, false>>(in.op);
    case Op::kMin:
      return PickMinMax<T, false>(in);
    case Op::kMax:
      return PickMinMax<T, true>(in);
    case Op::kAbs:
      return in.ftz ? Map1<T, T, [](T a) { return math::AbsInsn<true>(a); }>
                    : Map1<T, T, [](T a) { return math::AbsInsn<false>(a); }>;
    case Op::kNeg:
      return in.ftz ? Map1<T, T, [](T a) { return math::NegInsn<true>(a); }>
                    : Map1<T, T, [](T a) { return math::NegInsn<false>(a); }>;
    case Op::kEx2:
      return Map1<T, T, [](T a) { return math::Ex2Approx(a); }>;
    case Op::kTanh:
      return Map1<T, T, [](T a) { return math::TanhApprox(a); }>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler FindHalfHandler(const Instruction& in) {
  switch (in.type) {
    case Type::kF16:
      return Pick<math::F16>(in);
    case Type::kBf16:
      return Pick<math::BF16>(in);
    case Type::kF16x2:
      return Pick<math::F16x2>(in);
    case Type::kBf16x2:
      return Pick<math::BF16x2>(in);
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
