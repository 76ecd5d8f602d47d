// Which instructions compute what becomes part of an address: the backward slice of the address
// registers through copies and sums and products. Observers that look for overflow in index
// arithmetic hear of these alone.

#include <vector>

#include "vgpu/function_lowerer.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::vgpu {

namespace {

bool Carries(const Instruction& in) {
  return CarriesIndex(in.op) && ptx::KindOf(in.type) != ptx::TypeKind::kFloat;
}

// The operand whose arithmetic matters; none: no access, or one that cannot go astray far.
Operand AddressOf(const Instruction& in) {
  switch (FactsOf(in.op).address) {
    case AddressOperand::kA: {
      const bool far = in.address == AddressBase::kRegister64 && in.space != MemorySpace::kLocal;
      return far ? in.a : Operand{};
    }
    case AddressOperand::kB:
      return in.b;
    case AddressOperand::k_:
      break;
  }
  return {};
}

bool IsRegister(Operand operand) {
  return operand.exists() && operand.base() == OperandBase::kRegister && !operand.is_predicate();
}

}  // namespace

void MarkIndexArithmetic(Function& function, size_t registers) {
  std::vector<bool> wanted(registers);
  std::vector<bool> carried(registers);  // some definition carries an index
  bool changed = true;
  const auto want = [&](Operand operand) {
    if (!IsRegister(operand) || wanted[operand.offset()]) return;
    wanted[operand.offset()] = true;
    changed = true;
  };
  for (const Instruction& in : function.code) {
    want(AddressOf(in));
  }
  // Code comes mostly in order of definition, so that a pass backwards settles nearly all of it.
  while (changed) {
    changed = false;
    for (size_t i = function.code.size(); i-- > 0;) {
      const Instruction& in = function.code[i];
      if (!IsRegister(in.d) || !wanted[in.d.offset()] || !Carries(in)) continue;
      carried[in.d.offset()] = true;
      want(in.a);
      want(in.b);
      want(in.c);
    }
  }
  for (Instruction& in : function.code) {
    in.index = IsRegister(in.d) && wanted[in.d.offset()] && (Carries(in) || carried[in.d.offset()]);
  }
}

}  // namespace kernelsmith::vgpu
