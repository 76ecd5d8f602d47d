// The approximate functions of f32 and f64.

#include "vgpu/math/approx.h"

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using ptx::Type;

template <bool kFtz>
Handler PickF32(const Instruction& in) {
  switch (in.op) {
    case Op::kDiv:
      if (in.full) {
        return Map2<float, float, float,
                    [](float a, float b) { return math::DivFull<kFtz>(a, b); }>;
      }
      return Map2<float, float, float,
                  [](float a, float b) { return math::DivApprox<kFtz>(a, b); }>;
    case Op::kRcp:
      return Map1<float, float, [](float a) { return math::RcpApprox<kFtz>(a); }>;
    case Op::kSqrt:
      return Map1<float, float, [](float a) { return math::SqrtApprox<kFtz>(a); }>;
    case Op::kRsqrt:
      return Map1<float, float, [](float a) { return math::RsqrtApprox<kFtz>(a); }>;
    case Op::kSin:
      return Map1<float, float, [](float a) { return math::SinApprox<kFtz>(a); }>;
    case Op::kCos:
      return Map1<float, float, [](float a) { return math::CosApprox<kFtz>(a); }>;
    case Op::kLg2:
      return Map1<float, float, [](float a) { return math::Lg2Approx<kFtz>(a); }>;
    case Op::kEx2:
      return Map1<float, float, [](float a) { return math::Ex2Approx<kFtz>(a); }>;
    case Op::kTanh:
      return Map1<float, float, [](float a) { return math::TanhApprox(a); }>;
    default:
      return nullptr;
  }
}

Handler PickF64(const Instruction& in) {
  switch (in.op) {
    case Op::kRcp:
      return Map1<double, double, [](double a) { return math::RcpApproxFtz(a); }>;
    case Op::kRsqrt:
      return in.ftz ? Map1<double, double, [](double a) { return math::RsqrtApproxFtz(a); }>
                    : Map1<double, double, [](double a) { return math::RsqrtApprox(a); }>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler FindApproxHandler(const Instruction& in) {
  if (!in.approx && !in.full) return nullptr;
  if (in.type == Type::kF32) return in.ftz ? PickF32<true>(in) : PickF32<false>(in);
  if (in.type == Type::kF64) return PickF64(in);
  return nullptr;
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
