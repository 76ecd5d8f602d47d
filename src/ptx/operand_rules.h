// What an instruction's forms ask of each operand, worked out once per mnemonic.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/instruction_table.h"
#include "ptx/syntax.h"

namespace kernelsmith::ptx {

struct OperandRule {
  OperandRole role = OperandRole::kSource;
  bool negatable = false;
  bool has_second = false;
  bool second_optional = false;
  int vector_width = 1;  // the length of a<vec>
  bool any_type = false;
  Type type = Type::kNone;  // kNone as well: anything
  int bits = 0;             // the width of a register; twice the type's for `wide`
  bool wider = false;       // a larger register will do
};

// A form with one choice of its optional operands.
struct OperandRules {
  const InstructionForm* form = nullptr;
  std::vector<OperandRule> operands;
};

class OperandRulesCache {
 public:
  // Every way to write the instruction's operands. Never empty for a decoded mnemonic.
  const std::vector<OperandRules>& RulesFor(const std::shared_ptr<const Mnemonic>& mnemonic);

 private:
  std::unordered_map<const Mnemonic*, std::vector<OperandRules>> rules_;
};

}  // namespace kernelsmith::ptx
