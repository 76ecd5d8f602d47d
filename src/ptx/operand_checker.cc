#include "ptx/operand_checker.h"

#include "ptx/special_registers.h"
#include "ptx/whole_vectors.h"
#include "support/diagnostic.h"

namespace kernelsmith::ptx {
namespace {

bool IsVideo(Opcode opcode) { return opcode >= Opcode::kVadd && opcode <= Opcode::kVset4; }

}  // namespace

std::string Quoted(std::string_view text) {
  return "'" + EscapeForTerminal(text.substr(0, 80)) + "'";
}

Mismatch Expected(const Operand& operand, const std::string& what) {
  return {operand.where, "expected " + what, 0};
}

const Register* OperandChecker::FindRegister(const Operand& operand) const {
  return operand.IsRegister() ? &function_.registers[operand.symbol.index] : nullptr;
}

Type OperandChecker::RegisterType(const Operand& operand) const {
  if (const Register* reg = FindRegister(operand)) return reg->type;
  if (operand.kind != OperandKind::kName || (operand.symbol.kind != SymbolKind::kParameter &&
                                             operand.symbol.kind != SymbolKind::kReturn)) {
    return Type::kNone;
  }
  const Variable* variable = VariableOf(operand.symbol);
  return variable->space == Space::kReg ? variable->type : Type::kNone;
}

const Variable* OperandChecker::VariableOf(const Symbol& symbol) const {
  switch (symbol.kind) {
    case SymbolKind::kLocalVariable:
      return &function_.variables[symbol.index];
    case SymbolKind::kParameter:
      return &function_.parameters[symbol.index];
    case SymbolKind::kReturn:
      return &function_.returns[symbol.index];
    case SymbolKind::kGlobalVariable:
      return &module_.variables[symbol.index];
    default:
      return nullptr;
  }
}

Check OperandChecker::CheckOperand(const Instruction& instruction, const OperandRule& rule,
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

Check OperandChecker::CheckSingle(const Instruction& instruction, const OperandRule& rule,
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

Check OperandChecker::CheckWidth(const OperandRule& rule, const Operand& operand,
                                 bool writes) const {
  if (rule.vector_width == 1) return CheckScalar(rule, operand, writes);
  const auto width = static_cast<size_t>(rule.vector_width);
  if (operand.kind != OperandKind::kVector || operand.elements.size() != width) {
    return Expected(operand, "a vector of " + std::to_string(width) + " elements");
  }
  for (const Operand& element : operand.elements) {
    if (Check mismatch = CheckScalar(rule, element, writes)) return mismatch;
  }
  return std::nullopt;
}

Check OperandChecker::CheckAnyVector(const Instruction& instruction, const OperandRule& rule,
                                     const Operand& operand) const {
  if (operand.kind != OperandKind::kVector) {
    // mov needs the braces to tell a vector from a plain operand.
    if (instruction.opcode() == Opcode::kMov && instruction.mnemonic->vector_width == 1) {
      return Expected(operand, "a vector in braces");
    }
    return CheckScalar(rule, operand, false);
  }
  for (const Operand& element : operand.elements) {
    if (element.kind == OperandKind::kVector || element.kind == OperandKind::kAddress) {
      return Expected(element, "a register");
    }
    if (Check mismatch = CheckScalar(rule, element, false)) return mismatch;
  }
  if (instruction.opcode() == Opcode::kMov && instruction.mnemonic->vector_width == 1) {
    return CheckPacking(instruction, operand);
  }
  return std::nullopt;
}

Check OperandChecker::CheckPacking(const Instruction& instruction, const Operand& operand) const {
  const int whole = BitsOf(instruction.mnemonic->LastType());
  const size_t count = operand.elements.size();
  const bool unpacks = &operand == &instruction.operands[0];
  bool fits = count == 2 || count == 4;
  for (const Operand& element : operand.elements) {
    if (element.kind == OperandKind::kSink) continue;
    const Type type = RegisterType(element);
    if (type == Type::kNone && unpacks) return Expected(element, "a register");
    fits = fits && (type == Type::kNone || BitsOf(type) * static_cast<int>(count) == whole);
  }
  if (fits) return std::nullopt;
  return Mismatch{operand.where, "the elements do not make up " + std::to_string(whole) + " bits"};
}

Check OperandChecker::CheckScalar(const OperandRule& rule, const Operand& operand,
                                  bool writes) const {
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
    case OperandKind::kVector:
      if (!operand.name.empty()) {
        return Expected(operand, "one element, " + Quoted(operand.name) + " is a vector");
      }
      [[fallthrough]];
    default:
      return Expected(operand, "a register" + std::string(writes ? "" : " or a constant"));
  }
  if (Check mismatch = CheckElement(operand)) return mismatch;
  const Symbol& symbol = operand.symbol;
  if (symbol.kind == SymbolKind::kParameter || symbol.kind == SymbolKind::kReturn) {
    const Variable& parameter = symbol.kind == SymbolKind::kParameter
                                    ? function_.parameters[symbol.index]
                                    : function_.returns[symbol.index];
    if (parameter.space == Space::kReg) return CheckType(rule, operand, parameter.type);
  }
  const Register* reg = FindRegister(operand);
  if (reg == nullptr) return Expected(operand, "a register, " + Quoted(operand.name) + " is none");
  if (operand.integer != 0 && operand.selector != Selector::kMask) {
    return Mismatch{operand.where, "an offset is possible in addresses only"};
  }
  return CheckType(rule, operand, reg->type);
}

Check OperandChecker::CheckElement(const Operand& operand) const {
  const int width = RegisterWidth(function_, operand);
  const int element = ElementOf(operand.selector);
  if (element >= width || (element >= 0 && width == 1)) {
    return Mismatch{operand.where, Quoted(operand.name) +
                                       (width == 1 ? " is no vector"
                                                   : " has no such element, it is a vector of " +
                                                         std::to_string(width))};
  }
  // Bytes and halves are taken of whole registers; a vector without a selector is an element of
  // another vector here, for all others have been expanded.
  if (width > 1 && element < 0) {
    return Expected(operand, "one element, " + Quoted(operand.name) + " is a vector");
  }
  return std::nullopt;
}

Check OperandChecker::CheckSpecial(const OperandRule& rule, const Operand& operand) {
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

Check OperandChecker::CheckType(const OperandRule& rule, const Operand& operand, Type actual) {
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
    const bool integer_expected = expected == TypeKind::kUnsigned || expected == TypeKind::kSigned;
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

Check OperandChecker::CheckAddress(const Instruction& instruction, const Operand& operand) const {
  if (operand.kind != OperandKind::kAddress) {
    // An element of an array by its number: a[3].
    if (operand.has_index && VariableOf(operand.symbol) != nullptr) return std::nullopt;
    return Expected(operand, "an address in brackets");
  }
  if (operand.elements.size() != 1) return Expected(operand, "a single address");
  const Operand& base = operand.elements[0];
  if (base.kind == OperandKind::kInteger) return std::nullopt;
  if (RegisterWidth(function_, base) != 1 || ElementOf(base.selector) >= 0) {
    return Expected(base, "a register, which no vector and no element of one can replace here");
  }
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

Space OperandChecker::Broad(Space space) {
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

Check OperandChecker::CheckSpace(const Instruction& instruction, const Operand& base,
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
  return Mismatch{base.where, Quoted(base.name) + " is in " + std::string(NameOf(variable.space)) +
                                  ", the instruction accesses " + std::string(NameOf(space))};
}

}  // namespace kernelsmith::ptx
