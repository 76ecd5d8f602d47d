// Op::kMathCall: functions of libdevice, lane by lane.

#include <bit>

#include "vgpu/handlers/handlers.h"
#include "vgpu/math/libdevice.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {
namespace {

uint64_t Read(const Warp& w, Operand operand, int lane) {
  return operand.bytes() == 8 ? w.Lanes<uint64_t>(operand)[lane] : w.Lanes<uint32_t>(operand)[lane];
}

void Write(const Warp& w, Operand operand, int lane, uint64_t bits) {
  if (operand.bytes() == 8) {
    w.Lanes<uint64_t>(operand)[lane] = bits;
  } else {
    w.Lanes<uint32_t>(operand)[lane] = static_cast<uint32_t>(bits);
  }
}

void MathCall(Warp& w, const Instruction& in, uint32_t mask) {
  const math::LibdeviceFunction& function = math::LibdeviceFunctions()[in.target];
  const Operand sources[] = {in.a, in.b, in.c, in.e};
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    uint64_t arguments[4] = {};
    for (size_t i = 0; i < function.arguments.size(); ++i) {
      arguments[i] = Read(w, sources[i], lane);
    }
    uint64_t results[2] = {};
    function.evaluate(arguments, results);
    Write(w, in.d, lane, results[0]);
    if (in.d2.exists()) Write(w, in.d2, lane, results[1]);
  }
}

}  // namespace

Handler FindMathCallHandler(const Instruction& in) {
  return in.op == Op::kMathCall ? MathCall : nullptr;
}

}  // namespace kernelsmith::vgpu
