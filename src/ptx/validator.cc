#include "ptx/validator.h"

#include <climits>
#include <optional>
#include <utility>

#include "ptx/fragments.h"
#include "ptx/operand_checker.h"
#include "ptx/operand_rules.h"
#include "ptx/whole_vectors.h"

namespace kernelsmith::ptx {
namespace {

// "sm_90a" to 90 and 'a'.
struct Architecture {
  int number = 0;
  char suffix = '\0';

  explicit Architecture(std::string_view text) {
    for (const char c : text) {
      if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
    }
    if (text.ends_with('a') || text.ends_with('f')) suffix = text.back();
  }

  // Later architectures run what earlier ones have, except for those features that exist only
  // where the name has a letter.
  bool Has(const Architecture& needed) const {
    return number >= needed.number && (needed.suffix == '\0' || suffix != '\0');
  }
};

class Validator {
 public:
  Validator(const Module& module, Reporter* reporter, InstructionRefusal* refusal)
      : module_(module), reporter_(*reporter), refusal_(refusal), architecture_(module.target) {}

  void Run() {
    for (const Function& function : module_.functions) {
      function_ = &function;
      operands_.emplace(module_, function);
      for (const TargetList& list : function.target_lists) CheckTargetList(list);
      for (const Instruction& instruction : function.instructions) {
        if (reporter_.full()) return;
        if (Check mismatch = CheckInstruction(instruction)) {
          if (refusal_ != nullptr) *std::exchange(refusal_, nullptr) = mismatch->refusal;
          reporter_.Invalid(mismatch->where, std::move(mismatch->message));
        }
      }
    }
  }

 private:
  void CheckTargetList(const TargetList& list) {
    const SymbolKind expected = list.calls ? SymbolKind::kFunction : SymbolKind::kLabel;
    for (const TargetList::Target& target : list.targets) {
      if (target.symbol.kind != expected) {
        reporter_.Invalid(target.where,
                          Quoted(target.name) + (list.calls ? " is no function" : " is no label"));
      }
    }
  }

  Check CheckInstruction(const Instruction& written) {
    const std::optional<Instruction> expanded = ExpandWholeVectors(*function_, written);
    const Instruction& instruction = expanded ? *expanded : written;
    if (instruction.guard &&
        (instruction.guard.symbol.kind != SymbolKind::kRegister ||
         function_->registers[instruction.guard.symbol.index].type != Type::kPred)) {
      return Mismatch{instruction.where,
                      "guard " + Quoted(instruction.guard.name) + " is no predicate register"};
    }
    if (instruction.opcode() == Opcode::kCall) return CheckCall(instruction);
    Check best;
    for (const OperandRules& rules : rules_.RulesFor(instruction.mnemonic)) {
      if (rules.form->any_operands) return CheckAvailable(instruction, *rules.form);
      if (rules.operands.size() != instruction.operands.size()) continue;
      Check mismatch = CheckOperands(instruction, rules);
      if (!mismatch) {
        mismatch = CheckAvailable(instruction, *rules.form);
        if (!mismatch) return CheckMeaning(instruction);
        mismatch->rank = INT_MAX;
      }
      if (!best || mismatch->rank > best->rank) best = std::move(mismatch);
    }
    if (best) return best;
    return Mismatch{instruction.where, WrongCount(instruction)};
  }

  std::string WrongCount(const Instruction& instruction) {
    size_t least = SIZE_MAX;
    size_t most = 0;
    for (const OperandRules& rules : rules_.RulesFor(instruction.mnemonic)) {
      least = std::min(least, rules.operands.size());
      most = std::max(most, rules.operands.size());
    }
    std::string expected = std::to_string(least);
    if (most != least) expected += " to " + std::to_string(most);
    return Quoted(instruction.mnemonic->text) + " takes " + expected +
           (most == 1 ? " operand, " : " operands, ") +
           std::to_string(instruction.operands.size()) + " given";
  }

  Check CheckAvailable(const Instruction& instruction, const InstructionForm& form) const {
    if (module_.version < form.version) {
      return Mismatch{instruction.where, Quoted(instruction.mnemonic->text) + " needs .version " +
                                             std::to_string(form.version.major) + "." +
                                             std::to_string(form.version.minor) + " or later"};
    }
    if (!form.target.empty() && !architecture_.Has(Architecture(form.target))) {
      return Mismatch{.where = instruction.where,
                      .message = Quoted(instruction.mnemonic->text) + " needs .target " +
                                 form.target + " or later",
                      .refusal = {.needs_newer_target = true}};
    }
    return std::nullopt;
  }

  Check CheckOperands(const Instruction& instruction, const OperandRules& rules) {
    for (size_t i = 0; i < rules.operands.size(); ++i) {
      if (Check mismatch =
              operands_->CheckOperand(instruction, rules.operands[i], instruction.operands[i])) {
        mismatch->rank += 2 * static_cast<int>(i);
        return mismatch;
      }
    }
    return std::nullopt;
  }

  Check CheckMeaning(const Instruction& instruction) const {
    if (Check mismatch = CheckVectorSize(instruction)) return mismatch;
    if (Check mismatch = CheckFragments(instruction)) return mismatch;
    if (instruction.opcode() == Opcode::kBrxIdx &&
        function_->target_lists[instruction.operands[1].symbol.index].calls) {
      return Mismatch{instruction.operands[1].where, "expected a .branchtargets list"};
    }
    return std::nullopt;
  }

  // Vectors have at most 128 bits. Since 8.8 there are 8 elements of 32 bits and 4 of 64 in loads
  // and stores of global memory.
  Check CheckVectorSize(const Instruction& instruction) const {
    const Mnemonic& mnemonic = *instruction.mnemonic;
    if (mnemonic.vector_width == 1) return std::nullopt;
    const Opcode opcode = instruction.opcode();
    if (opcode != Opcode::kLd && opcode != Opcode::kLdu && opcode != Opcode::kSt &&
        opcode != Opcode::kMov) {
      return std::nullopt;
    }
    const int bits = BitsOf(mnemonic.LastType());
    if (bits * mnemonic.vector_width <= 128 && mnemonic.vector_width <= 4) return std::nullopt;
    if (bits * mnemonic.vector_width != 256 || bits > 64 ||
        (opcode != Opcode::kLd && opcode != Opcode::kSt)) {
      return Mismatch{instruction.where, Quoted(mnemonic.text) + " has a vector of " +
                                             std::to_string(mnemonic.vector_width) + " times " +
                                             std::to_string(bits) + " bits, which does not exist"};
    }
    const Space space = mnemonic.SpaceAt(0);
    if (space != Space::kNone && space != Space::kGlobal) {
      return Mismatch{instruction.where, "vectors of 256 bits exist in .global memory only"};
    }
    return CheckAvailable(instruction, InstructionForm{.target = "sm_100", .version = {8, 8}});
  }

  Check CheckFragments(const Instruction& instruction) const {
    const Mnemonic& mnemonic = *instruction.mnemonic;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const std::optional<Fragment> fragment = FragmentOf(mnemonic, i);
      if (!fragment) continue;
      const Operand& operand = instruction.operands[i];
      const bool is_vector = operand.kind == OperandKind::kVector;
      const size_t count = is_vector ? operand.elements.size() : 1;
      if (count != static_cast<size_t>(fragment->registers)) {
        return Mismatch{.where = operand.where,
                        .message = "expected " + std::to_string(fragment->registers) +
                                   " register(s), found " + std::to_string(count),
                        .refusal = {.expected_registers = static_cast<int>(fragment->registers),
                                    .found_registers = static_cast<int>(count)}};
      }
      for (size_t k = 0; k < count; ++k) {
        const Operand& element = is_vector ? operand.elements[k] : operand;
        const Register* reg = operands_->FindRegister(element);
        const bool scalar =
            reg == nullptr || reg->vector_width == 1 || ElementOf(element.selector) >= 0;
        if (reg != nullptr && (BitsOf(reg->type) != fragment->bits || !scalar)) {
          return Expected(element, "a register of " + std::to_string(fragment->bits) + " bits");
        }
      }
    }
    return std::nullopt;
  }

  Check CheckCall(const Instruction& call) const {
    const CallParts parts = PartsOfCall(call);
    size_t used = 0;
    for (const Operand* part : {parts.returns, parts.target, parts.parameters, parts.prototype}) {
      used += part != nullptr;
    }
    if (parts.target == nullptr || parts.target->kind != OperandKind::kName ||
        used != call.operands.size()) {
      return Mismatch{call.where, "expected 'call (returns), function, (parameters), prototype'"};
    }
    const Symbol& target = parts.target->symbol;
    if (target.kind == SymbolKind::kFunction) {
      const Function& callee = module_.functions[target.index];
      if (parts.prototype != nullptr) {
        return Mismatch{parts.prototype->where, "a prototype is for indirect calls only"};
      }
      if (Check mismatch = CheckArguments(call, parts.returns, callee.returns)) return mismatch;
      return CheckArguments(call, parts.parameters, callee.parameters);
    }
    if (target.kind != SymbolKind::kRegister) {
      return Expected(*parts.target, "a function or a register");
    }
    if (parts.prototype == nullptr) {
      return Mismatch{call.where, "an indirect call needs a prototype or a list of targets"};
    }
    const Symbol& proto = parts.prototype->symbol;
    if (proto.kind == SymbolKind::kPrototype) {
      const Prototype& prototype = function_->prototypes[proto.index];
      if (Check mismatch = CheckArguments(call, parts.returns, prototype.returns)) return mismatch;
      return CheckArguments(call, parts.parameters, prototype.parameters);
    }
    if (proto.kind == SymbolKind::kTargetList && function_->target_lists[proto.index].calls) {
      return std::nullopt;
    }
    return Expected(*parts.prototype, "a .callprototype or a .calltargets list");
  }

  Check CheckArguments(const Instruction& call, const Operand* list,
                       const std::vector<Variable>& formals) const {
    const size_t given = list == nullptr ? 0 : list->elements.size();
    if (given != formals.size()) {
      return Mismatch{list == nullptr ? call.where : list->where,
                      "expected " + std::to_string(formals.size()) + " in the call's list, " +
                          std::to_string(given) + " given"};
    }
    for (size_t i = 0; i < given; ++i) {
      const Operand& actual = list->elements[i];
      if (Check mismatch = CheckVectorArgument(actual, formals[i])) return mismatch;
      const Variable* variable = operands_->VariableOf(actual.symbol);
      if (actual.kind == OperandKind::kName && variable == nullptr && !actual.IsRegister()) {
        return Expected(actual, "a .param variable, a register or a constant");
      }
      if (variable != nullptr && formals[i].space == Space::kParam && formals[i].Size() != 0 &&
          variable->Size() != formals[i].Size()) {
        return Mismatch{actual.where, Quoted(actual.name) + " has " +
                                          std::to_string(variable->Size()) + " bytes, expected " +
                                          std::to_string(formals[i].Size())};
      }
    }
    return std::nullopt;
  }

  // A vector register goes to a .reg parameter that is a vector of the same kind, and nothing else
  // goes there.
  Check CheckVectorArgument(const Operand& actual, const Variable& formal) const {
    if (actual.kind == OperandKind::kSink) return std::nullopt;
    const bool is_vector = actual.kind == OperandKind::kVector;
    if (is_vector && actual.name.empty()) {
      return Expected(actual, "a .param variable, a register or a constant");
    }
    const int expected = formal.space == Space::kReg ? formal.vector_width : 1;
    const int width = is_vector ? static_cast<int>(actual.elements.size()) : 1;
    const Type type = operands_->RegisterType(is_vector ? actual.elements[0] : actual);
    if (width == expected && (width == 1 || BitsOf(type) == BitsOf(formal.type))) {
      return is_vector ? std::nullopt : operands_->CheckElement(actual);
    }
    return Expected(actual, expected == 1
                                ? "a scalar"
                                : "a vector register of " + std::to_string(expected) + " times " +
                                      std::to_string(BitsOf(formal.type)) + " bits");
  }

  const Module& module_;
  Reporter& reporter_;
  InstructionRefusal* refusal_;  // of the first mismatch
  Architecture architecture_;
  const Function* function_ = nullptr;      // the one at hand
  std::optional<OperandChecker> operands_;  // checks the operands of that function
  OperandRulesCache rules_;
};

}  // namespace

void Validate(const Module& module, Reporter* reporter, InstructionRefusal* refusal) {
  Validator(module, reporter, refusal).Run();
}

}  // namespace kernelsmith::ptx
