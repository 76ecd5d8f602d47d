// One operand against what the table asks of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptx/operand_rules.h"
#include "ptx/ptx.h"
#include "ptx/syntax.h"

namespace kernelsmith::ptx {

struct Mismatch {
  Position where;
  std::string message;
  // How far the instruction fitted the form: of several forms the furthest gives the message.
  int rank = 1;
  InstructionRefusal refusal = {};
};
using Check = std::optional<Mismatch>;

// A name in a message: in quotes, cut if long, safe to print.
std::string Quoted(std::string_view text);

// The commonest mismatch: another kind of operand.
Mismatch Expected(const Operand& operand, const std::string& what);

class OperandChecker {
 public:
  // Both must outlive the checker.
  OperandChecker(const Module& module, const Function& function)
      : module_(module), function_(function) {}

  Check CheckOperand(const Instruction& instruction, const OperandRule& rule,
                     const Operand& operand) const;

  // That a selector fits the register: .x .y .z .w as far as a vector has them, none else.
  Check CheckElement(const Operand& operand) const;

  // Null: the operand is no register; the symbol is no variable.
  const Register* FindRegister(const Operand& operand) const;
  const Variable* VariableOf(const Symbol& symbol) const;
  // Also of parameters and results that are registers; kNone: the operand is none of these.
  Type RegisterType(const Operand& operand) const;

 private:
  Check CheckSingle(const Instruction& instruction, const OperandRule& rule,
                    const Operand& operand) const;
  Check CheckWidth(const OperandRule& rule, const Operand& operand, bool writes) const;
  Check CheckAnyVector(const Instruction& instruction, const OperandRule& rule,
                       const Operand& operand) const;
  // mov.b64 %rd1, {%r1, %r2}: 2 or 4 equal parts that make up the whole. Constants and _ take any.
  Check CheckPacking(const Instruction& instruction, const Operand& operand) const;
  Check CheckScalar(const OperandRule& rule, const Operand& operand, bool writes) const;
  static Check CheckSpecial(const OperandRule& rule, const Operand& operand);
  // The ISA's rules of agreement: sizes equal (or larger registers where the instruction allows),
  // untyped bits agree with everything, signed with unsigned, floats with floats only.
  static Check CheckType(const OperandRule& rule, const Operand& operand, Type actual);
  Check CheckAddress(const Instruction& instruction, const Operand& operand) const;
  static Space Broad(Space space);
  // Only where one state space belongs to the one address.
  static Check CheckSpace(const Instruction& instruction, const Operand& base,
                          const Variable& variable);

  const Module& module_;
  const Function& function_;
};

}  // namespace kernelsmith::ptx
