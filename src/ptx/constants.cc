#include "ptx/constants.h"

#include <bit>

namespace kernelsmith::ptx {
namespace {

void Collect(const Operand& operand, Constants* constants) {
  if (operand.kind == OperandKind::kInteger) constants->integers.insert(operand.integer);
  if (operand.kind == OperandKind::kFloat) {
    constants->floats.insert(operand.is_single
                                 ? std::bit_cast<float>(static_cast<uint32_t>(operand.bits))
                                 : std::bit_cast<double>(operand.bits));
  }
  for (const Operand& element : operand.elements) Collect(element, constants);
}

}  // namespace

Constants ConstantsOf(const Module& module) {
  Constants constants;
  for (const Function& function : module.functions) {
    for (const Instruction& instruction : function.instructions) {
      for (const Operand& operand : instruction.operands) Collect(operand, &constants);
    }
  }
  return constants;
}

}  // namespace kernelsmith::ptx
