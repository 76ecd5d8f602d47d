// Which instructions compute what becomes part of an address: the backward slice of the address
// registers through copies and sums and products. Observers that look for overflow in index
// arithmetic hear of these alone.

#include <vector>

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

namespace {

// Operations through which a wrapped index stays one. Others (and, rem, shr, xor ...) are used to
// take a hash or a remainder of what wraps on purpose.
bool CarriesIndex(const Instruction& in) {
  switch (in.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMulLo:
    case Op::kMadLo:
    case Op::kMulWide:
    case Op::kMadWide:
    case Op::kShl:
    case Op::kMov:
    case Op::kResize:
    case Op::kCvt:
    case Op::kSelp:
    case Op::kCvta:
    case Op::kCvtaTo:
      return ptx::KindOf(in.type) != ptx::TypeKind::kFloat;
    default:
      return false;
  }
}

bool IsAccess(const Instruction& in) {
  switch (in.op) {
    case Op::kLoad:
    case Op::kStore:
    case Op::kAtom:
    case Op::kRed:
    case Op::kAtomVector:
      return in.address == AddressBase::kRegister64 && in.space != MemorySpace::kLocal;
    default:
      return false;
  }
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
    if (IsAccess(in)) want(in.a);
    if (in.op == Op::kCpAsync) want(in.b);
  }
  // Code comes mostly in order of definition, so that a pass backwards settles nearly all of it.
  while (changed) {
    changed = false;
    for (size_t i = function.code.size(); i-- > 0;) {
      const Instruction& in = function.code[i];
      if (!IsRegister(in.d) || !wanted[in.d.offset()] || !CarriesIndex(in)) continue;
      carried[in.d.offset()] = true;
      want(in.a);
      want(in.b);
      want(in.c);
    }
  }
  for (Instruction& in : function.code) {
    in.index =
        IsRegister(in.d) && wanted[in.d.offset()] && (CarriesIndex(in) || carried[in.d.offset()]);
  }
}

}  // namespace kernelsmith::vgpu
