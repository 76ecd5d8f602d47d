// Places virtual registers in the frame.

#include <algorithm>

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

void FunctionLowerer::AssignRegisters() {
  std::vector<uint32_t> offset(registers_.size(), 0);
  uint32_t end = 0;
  // Widest first keeps every area aligned to its vectors.
  for (const LaneWidth width : {LaneWidth::k16, LaneWidth::k8, LaneWidth::k4, LaneWidth::k2,
                                LaneWidth::k1, LaneWidth::kPredicate}) {
    const uint32_t bytes = width == LaneWidth::kPredicate
                               ? sizeof(uint32_t)
                               : kWarpSize << static_cast<uint32_t>(width);
    RegisterArea area{width, end, end};
    for (size_t i = 0; i < registers_.size(); ++i) {
      if (registers_[i] != width) continue;
      offset[i] = end;
      end += bytes;
    }
    area.last = end;
    end = (end + 63) / 64 * 64;
    if (area.last > area.first) out_.areas.push_back(area);
  }
  out_.register_bytes = end;
  const auto place = [&](Operand& operand) {
    if (!operand.exists() || operand.base() != OperandBase::kRegister) return;
    operand = Operand::At(OperandBase::kRegister, operand.width(), offset[operand.offset()]);
  };
  for (Instruction& instruction : out_.code) {
    for (Operand* operand : {&instruction.guard, &instruction.d, &instruction.d2, &instruction.a,
                             &instruction.b, &instruction.c, &instruction.e}) {
      place(*operand);
    }
  }
  for (Operand& operand : out_.list) place(operand);
}

}  // namespace kernelsmith::vgpu
