#include "ptx/validator.h"

#include <climits>
#include <optional>

#include "ptx/fragments.h"
#include "ptx/operand_rules.h"
#include "ptx/special_registers.h"
#include "support/diagnostic.h"

namespace kernelsmith::ptx {
namespace {

struct Mismatch {
  Position where;
  std::string message;
  // How far the instruction fitted the form: of several forms the furthest gives the message.
  int rank = 1;
};
using Check = std::optional<Mismatch>;

std::string Quoted(std::string_view text) {
  return "'" + EscapeForTerminal(text.substr(0, 80)) + "'";
}

bool IsVideo(Opcode opcode) { return opcode >= Opcode::kVadd && opcode <= Opcode::kVset4; }

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
  Validator(const Module& module, Reporter* reporter)
      : module_(module), reporter_(*reporter), architecture_(module.target) {}

  void Run() {
    for (const Function& function : module_.functions) {
      function_ = &function;
      for (const TargetList& list : function.target_lists) CheckTargetList(list);
      for (const Instruction& instruction : function.instructions) {
        if (reporter_.full()) return;
        if (Check mismatch = CheckInstruction(instruction)) {
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

  Check CheckInstruction(const Instruction& instruction) {
    if (instruction.guard && (instruction.guard.symbol.kind != SymbolKind::kRegister ||
                              RegisterOf(instruction.guard.symbol).type != Type::kPred)) {
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
      return Mismatch{instruction.where, Quoted(instruction.mnemonic->text) + " needs .target " +
                                             form.target + " or later"};
    }
    return std::nullopt;
  }

  Check CheckOperands(const Instruction& instruction, const OperandRules& rules) {
    for (size_t i = 0; i < rules.operands.size(); ++i) {
      if (Check mismatch = CheckOperand(instruction, rules.operands[i], instruction.operands[i])) {
        mismatch->rank += 2 * static_cast<int>(i);
        return mismatch;
      }
    }
    return std::nullopt;
  }

  static Mismatch Expected(const Operand& operand, const std::string& what) {
    return {operand.where, "expected " + what, 0};
  }

  Check CheckOperand(const Instruction& instruction, const OperandRule& rule,
                     const Operand& operand) const {
    if (operand.kind == OperandKind::kPair) {
      if (!rule.has_second) return Expected(operand, "one operand, not a pair");
      if (Check mismatch = CheckSingle(instruction, rule, operand.elements[0])) return mismatch;
      OperandRule second;
      second.role = OperandRole::kPredicate;
      second.type = Type::kPred;
      return CheckSingle(instruction, second, operand.elements[1]);
    }
    if (rule.has_second && !rule.second_optional) return Expected(operand, "a pair 'a|b'");
    return CheckSingle(instruction, rule, operand);
  }

  Check CheckSingle(const Instruction& instruction, const OperandRule& rule,
                    const Operand& operand) const {
    if (operand.negated && !rule.negatable) {
      return Mismatch{operand.where, "this operand cannot be negated"};
    }
    if (operand.selector != Selector::kNone && operand.kind == OperandKind::kName &&
        operand.selector < Selector::kX && !IsVideo(instruction.opcode())) {
      return Mismatch{operand.where, "only video instructions select bytes of registers"};
    }
    switch (rule.role) {
      case OperandRole::kSource:
        return CheckWidth(rule, operand, false);
      case OperandRole::kRegister:
        return CheckWidth(rule, operand, true);
      case OperandRole::kPredicate:
        if (operand.kind == OperandKind::kSink) return std::nullopt;
        if (operand.kind == OperandKind::kInteger && &operand != &instruction.operands[0]) {
          return std::nullopt;
        }
        return CheckScalar(rule, operand, false);
      case OperandRole::kConstant:
        if (operand.kind == OperandKind::kInteger) return std::nullopt;
        return Expected(operand, "an integer constant");
      case OperandRole::kAddress:
        return CheckAddress(instruction, operand);
      case OperandRole::kVector:
        return CheckAnyVector(instruction, rule, operand);
      case OperandRole::kLabel:
        if (operand.symbol.kind == SymbolKind::kLabel) return std::nullopt;
        return Expected(operand, "a label");
      case OperandRole::kTargetList:
        if (operand.symbol.kind == SymbolKind::kTargetList) return std::nullopt;
        return Expected(operand, "the name of a .branchtargets list");
      case OperandRole::kSymbol:
        switch (operand.symbol.kind) {
          case SymbolKind::kLocalVariable:
          case SymbolKind::kParameter:
          case SymbolKind::kReturn:
          case SymbolKind::kLabel:
          case SymbolKind::kGlobalVariable:
          case SymbolKind::kFunction:
            return std::nullopt;
          default:
            return Expected(operand, "a variable, a function or a label");
        }
    }
    return std::nullopt;
  }

  Check CheckWidth(const OperandRule& rule, const Operand& operand, bool writes) const {
    if (rule.vector_width == 1) return CheckScalar(rule, operand, writes);
    const auto width = static_cast<size_t>(rule.vector_width);
    if (operand.IsRegister() && operand.selector == Selector::kNone) {
      const Register* reg = FindRegister(operand);
      if (reg != nullptr && reg->vector_width == rule.vector_width) return std::nullopt;
    }
    if (operand.kind != OperandKind::kVector || operand.elements.size() != width) {
      return Expected(operand, "a vector of " + std::to_string(width) + " elements");
    }
    for (const Operand& element : operand.elements) {
      if (Check mismatch = CheckScalar(rule, element, writes)) return mismatch;
    }
    return std::nullopt;
  }

  Check CheckAnyVector(const Instruction& instruction, const OperandRule& rule,
                       const Operand& operand) const {
    if (operand.kind != OperandKind::kVector) {
      // mov needs the braces to tell a vector from a plain operand.
      if (instruction.opcode() == Opcode::kMov && instruction.mnemonic->vector_width == 1) {
        return Expected(operand, "a vector in braces");
      }
      if (const Register* reg = FindRegister(operand);
          reg != nullptr && reg->vector_width != 1 && operand.selector == Selector::kNone) {
        return CheckType(rule, operand, reg->type);
      }
      return CheckScalar(rule, operand, false);
    }
    int bits = 0;
    for (const Operand& element : operand.elements) {
      if (element.kind == OperandKind::kVector || element.kind == OperandKind::kAddress) {
        return Expected(element, "a register");
      }
      if (Check mismatch = CheckScalar(rule, element, false)) return mismatch;
      if (const Register* reg = FindRegister(element)) bits += BitsOf(reg->type);
    }
    if (instruction.opcode() == Opcode::kMov && instruction.mnemonic->vector_width == 1) {
      return CheckPacking(instruction, operand, bits);
    }
    return std::nullopt;
  }

  // mov.b64 %rd1, {%r1, %r2}: the parts must make up the whole. Constants and _ take what is left.
  static Check CheckPacking(const Instruction& instruction, const Operand& operand, int bits) {
    const int whole = BitsOf(instruction.mnemonic->LastType());
    const size_t count = operand.elements.size();
    bool all_registers = true;
    for (const Operand& element : operand.elements) all_registers &= element.IsRegister();
    if ((count == 2 || count == 4) && (all_registers ? bits == whole : bits < whole)) {
      return std::nullopt;
    }
    return Mismatch{operand.where,
                    "the elements do not make up " + std::to_string(whole) + " bits"};
  }

  Check CheckScalar(const OperandRule& rule, const Operand& operand, bool writes) const {
    switch (operand.kind) {
      case OperandKind::kSink:
        return std::nullopt;
      case OperandKind::kInteger:
        if (writes) return Expected(operand, "a register");
        return std::nullopt;
      case OperandKind::kFloat:
        if (writes) return Expected(operand, "a register");
        if (rule.any_type || rule.type == Type::kNone || IsFloat(rule.type) ||
            KindOf(rule.type) == TypeKind::kBits) {
          return std::nullopt;
        }
        return Expected(operand, "an integer, for the type is " + std::string(NameOf(rule.type)));
      case OperandKind::kSpecialRegister:
        if (writes) return Mismatch{operand.where, "special registers cannot be written"};
        return CheckSpecial(rule, operand);
      case OperandKind::kName:
        break;
      default:
        return Expected(operand, "a register" + std::string(writes ? "" : " or a constant"));
    }
    const Symbol& symbol = operand.symbol;
    if (symbol.kind == SymbolKind::kParameter || symbol.kind == SymbolKind::kReturn) {
      const Variable& parameter = symbol.kind == SymbolKind::kParameter
                                      ? function_->parameters[symbol.index]
                                      : function_->returns[symbol.index];
      if (parameter.space == Space::kReg) return CheckType(rule, operand, parameter.type);
    }
    const Register* reg = FindRegister(operand);
    if (reg == nullptr)
      return Expected(operand, "a register, " + Quoted(operand.name) + " is none");
    if (reg->vector_width != 1 && operand.selector == Selector::kNone && rule.vector_width == 1) {
      return Expected(operand, "one element, " + Quoted(operand.name) + " is a vector");
    }
    if (operand.integer != 0 && operand.selector != Selector::kMask) {
      return Mismatch{operand.where, "an offset is possible in addresses only"};
    }
    return CheckType(rule, operand, reg->type);
  }

  static Check CheckSpecial(const OperandRule& rule, const Operand& operand) {
    const std::string_view name = operand.name;
    const SpecialRegister* special = FindSpecialRegister(name.substr(0, name.find('.')));
    if (special == nullptr || rule.any_type || rule.type == Type::kNone) return std::nullopt;
    if (!special->components.empty() && operand.selector == Selector::kNone) {
      return Expected(operand, "one component of " + Quoted(operand.name));
    }
    const bool predicate = special->type == Type::kPred;
    // Old code reads 32-bit special registers as 16 bits, and %gridid as 32.
    if (predicate != (rule.type == Type::kPred) || IsFloat(rule.type)) {
      return Expected(operand, "a value of type " + std::string(NameOf(rule.type)));
    }
    return std::nullopt;
  }

  // The ISA's rules of agreement: sizes equal (or larger registers where the instruction allows),
  // untyped bits agree with everything, signed with unsigned, floats with floats only.
  static Check CheckType(const OperandRule& rule, const Operand& operand, Type actual) {
    if (rule.any_type || rule.type == Type::kNone) return std::nullopt;
    const int bits = BitsOf(actual);
    const bool predicate = actual == Type::kPred;
    bool fits = predicate == (rule.type == Type::kPred);
    if (fits && !predicate) {
      // Registers narrower than 16 bits are rare: 8-bit values live in 16-bit ones.
      fits = bits == rule.bits || (bits > rule.bits && (rule.wider || rule.bits < 16));
      // Floats stand for themselves: a wider register holds no narrower float, except as bits.
      const TypeKind kind = KindOf(actual);
      const bool integer = kind == TypeKind::kUnsigned || kind == TypeKind::kSigned;
      const TypeKind expected = KindOf(rule.type);
      const bool integer_expected =
          expected == TypeKind::kUnsigned || expected == TypeKind::kSigned;
      if (IsFloat(rule.type) && integer && rule.bits >= 32) fits = false;
      if (integer_expected && IsFloat(actual)) fits = false;
    }
    if (fits) return std::nullopt;
    return Mismatch{operand.where,
                    Quoted(operand.name) + " has type " + std::string(NameOf(actual)) +
                        ", expected " +
                        (rule.bits != BitsOf(rule.type) ? std::to_string(rule.bits) + " bits"
                                                        : std::string(NameOf(rule.type)))};
  }

  Check CheckAddress(const Instruction& instruction, const Operand& operand) const {
    if (operand.kind != OperandKind::kAddress) {
      // An element of an array by its number: a[3].
      if (operand.has_index && VariableOf(operand.symbol) != nullptr) return std::nullopt;
      return Expected(operand, "an address in brackets");
    }
    if (operand.elements.size() != 1) return Expected(operand, "a single address");
    const Operand& base = operand.elements[0];
    if (base.kind == OperandKind::kInteger) return std::nullopt;
    if (const Register* reg = FindRegister(base)) {
      const int bits = BitsOf(reg->type);
      if ((bits == 32 || bits == 64) && !IsFloat(reg->type)) return std::nullopt;
      return Expected(
          base, "an address, " + Quoted(base.name) + " has type " + std::string(NameOf(reg->type)));
    }
    const Variable* variable = VariableOf(base.symbol);
    if (variable == nullptr || base.kind != OperandKind::kName) {
      return Expected(base, "a register, a variable or a number");
    }
    if (variable->space == Space::kReg) return std::nullopt;
    return CheckSpace(instruction, base, *variable);
  }

  static Space Broad(Space space) {
    switch (space) {
      case Space::kSharedCta:
      case Space::kSharedCluster:
        return Space::kShared;
      case Space::kParamEntry:
      case Space::kParamFunc:
        return Space::kParam;
      default:
        return space;
    }
  }

  // Only where one state space belongs to the one address.
  static Check CheckSpace(const Instruction& instruction, const Operand& base,
                          const Variable& variable) {
    switch (instruction.opcode()) {
      case Opcode::kLd:
      case Opcode::kLdu:
      case Opcode::kSt:
      case Opcode::kAtom:
      case Opcode::kRed:
        break;
      default:
        return std::nullopt;
    }
    const Space space = instruction.mnemonic->SpaceAt(0);
    if (space == Space::kNone || Broad(space) == variable.space) return std::nullopt;
    return Mismatch{base.where, Quoted(base.name) + " is in " +
                                    std::string(NameOf(variable.space)) +
                                    ", the instruction accesses " + std::string(NameOf(space))};
  }

  Check CheckMeaning(const Instruction& instruction) const {
    if (Check mismatch = CheckFragments(instruction)) return mismatch;
    if (instruction.opcode() == Opcode::kBrxIdx &&
        function_->target_lists[instruction.operands[1].symbol.index].calls) {
      return Mismatch{instruction.operands[1].where, "expected a .branchtargets list"};
    }
    return std::nullopt;
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
        return Mismatch{operand.where, "expected " + std::to_string(fragment->registers) +
                                           " register(s), found " + std::to_string(count)};
      }
      for (size_t k = 0; k < count; ++k) {
        const Operand& element = is_vector ? operand.elements[k] : operand;
        const Register* reg = FindRegister(element);
        if (reg != nullptr && (BitsOf(reg->type) != fragment->bits || reg->vector_width != 1)) {
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
      const Variable* variable = VariableOf(actual.symbol);
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

  const Register& RegisterOf(const Symbol& symbol) const {
    return function_->registers[symbol.index];
  }
  const Register* FindRegister(const Operand& operand) const {
    return operand.IsRegister() ? &RegisterOf(operand.symbol) : nullptr;
  }
  // Null: the symbol is no variable.
  const Variable* VariableOf(const Symbol& symbol) const {
    switch (symbol.kind) {
      case SymbolKind::kLocalVariable:
        return &function_->variables[symbol.index];
      case SymbolKind::kParameter:
        return &function_->parameters[symbol.index];
      case SymbolKind::kReturn:
        return &function_->returns[symbol.index];
      case SymbolKind::kGlobalVariable:
        return &module_.variables[symbol.index];
      default:
        return nullptr;
    }
  }

  const Module& module_;
  Reporter& reporter_;
  Architecture architecture_;
  const Function* function_ = nullptr;
  OperandRulesCache rules_;
};

}  // namespace

void Validate(const Module& module, Reporter* reporter) { Validator(module, reporter).Run(); }

}  // namespace kernelsmith::ptx
