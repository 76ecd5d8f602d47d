#include "checkers/pointer_origins.h"

namespace kernelsmith::checkers {

using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;
using ptx::SymbolKind;

namespace {

const Operand* AddressOf(const ptx::Instruction& instruction) {
  size_t index = 0;
  switch (instruction.opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
    case Opcode::kAtom:
      index = 1;
      break;
    case Opcode::kSt:
    case Opcode::kRed:
      break;
    default:
      return nullptr;
  }
  if (index >= instruction.operands.size()) return nullptr;
  const Operand& operand = instruction.operands[index];
  if (operand.kind == OperandKind::kName) return &operand;  // a[3]
  return operand.kind == OperandKind::kAddress && !operand.elements.empty() ? &operand.elements[0]
                                                                            : nullptr;
}

bool IsFloat(const ptx::Instruction& instruction) {
  return ptx::IsFloat(instruction.mnemonic->TypeAt(0));
}

}  // namespace

const ptx::Variable* SharedVariable(const ptx::Module& module, const ptx::Function& function,
                                    const ptx::Symbol& symbol) {
  const ptx::Variable* variable = nullptr;
  if (symbol.kind == SymbolKind::kLocalVariable) variable = &function.variables[symbol.index];
  if (symbol.kind == SymbolKind::kGlobalVariable) variable = &module.variables[symbol.index];
  if (variable == nullptr) return nullptr;
  return variable->space == ptx::Space::kShared || variable->space == ptx::Space::kSharedCta
             ? variable
             : nullptr;
}

PointerOrigins::PointerOrigins(const ptx::Module& module, const ptx::Function& function)
    : module_(module), function_(function) {
  size_t count = 0;
  for (const ptx::Register& reg : function.registers) {
    first_.push_back(count);
    count += reg.count;
  }
  origins_.resize(count);
  // Each round changes an origin for good, which can happen three times to each; in practice there
  // are two or three rounds.
  do {
    changed_ = false;
    for (const ptx::Instruction& instruction : function.instructions) Transfer(instruction);
  } while (changed_);
}

PointerOrigin PointerOrigins::OfAddress(const ptx::Instruction& instruction) const {
  const Operand* base = AddressOf(instruction);
  return base == nullptr ? PointerOrigin{Kind::kUnknown, {}} : Of(*base);
}

PointerOrigin PointerOrigins::Of(const Operand& operand) const {
  switch (operand.kind) {
    case OperandKind::kInteger:
    case OperandKind::kFloat:
    case OperandKind::kSpecialRegister:
    case OperandKind::kSink:
      return {Kind::kNumber, {}};
    case OperandKind::kName:
      break;
    default:
      return {Kind::kUnknown, {}};
  }
  if (operand.IsRegister()) return origins_[first_[operand.symbol.index] + operand.symbol.number];
  if (SharedVariable(module_, function_, operand.symbol) == nullptr) return {Kind::kUnknown, {}};
  ptx::Symbol symbol = operand.symbol;
  symbol.number = 0;
  return {Kind::kShared, symbol};
}

PointerOrigin PointerOrigins::Sum(const PointerOrigin& a, const PointerOrigin& b) {
  if (a.kind == Kind::kUnset || a.kind == Kind::kNumber) {
    return b.kind == Kind::kUnset ? a : b;
  }
  return b.kind == Kind::kUnset || b.kind == Kind::kNumber ? a : PointerOrigin{Kind::kUnknown, {}};
}

PointerOrigin PointerOrigins::Difference(const PointerOrigin& a, const PointerOrigin& b) {
  if (b.kind == Kind::kUnset || b.kind == Kind::kNumber) return a;
  return {Kind::kUnknown, {}};
}

PointerOrigin PointerOrigins::Either(const PointerOrigin& a, const PointerOrigin& b) {
  if (a.kind == Kind::kUnset || a == b) return b;
  if (b.kind == Kind::kUnset) return a;
  return {Kind::kUnknown, {}};
}

PointerOrigin PointerOrigins::Loaded(const ptx::Instruction& load) const {
  const Operand* base = AddressOf(load);
  const ptx::Space space = load.mnemonic->SpaceAt(0);
  const bool wide = ptx::BitsOf(load.mnemonic->LastType()) == 64;
  switch (space) {
    case ptx::Space::kGlobal:
    case ptx::Space::kConst:
    case ptx::Space::kShared:
    case ptx::Space::kSharedCta:
    case ptx::Space::kSharedCluster:
    case ptx::Space::kNone:
      return {Kind::kNumber, {}};
    default:
      break;
  }
  // Kernels get addresses of shared memory from nowhere; functions may.
  if (!function_.is_entry || base == nullptr || base->symbol.kind != SymbolKind::kParameter) {
    return {Kind::kUnknown, {}};
  }
  if (!wide) return {Kind::kNumber, {}};
  // A struct has several.
  if (base->integer != 0 || load.mnemonic->vector_width > 1) return {Kind::kUnknown, {}};
  return {Kind::kParameter, base->symbol};
}

PointerOrigin PointerOrigins::MixedOf(const Operand& operand) const {
  PointerOrigin origin{Kind::kNumber, {}};
  if (operand.elements.empty()) origin = Of(operand);
  for (const Operand& element : operand.elements) origin = Sum(origin, MixedOf(element));
  return origin.kind == Kind::kUnset || origin.kind == Kind::kNumber
             ? origin
             : PointerOrigin{Kind::kUnknown, {}};
}

PointerOrigin PointerOrigins::Mixed(const ptx::Instruction& instruction) const {
  PointerOrigin origin{Kind::kNumber, {}};
  for (size_t i = 1; i < instruction.operands.size(); ++i) {
    origin = Sum(origin, MixedOf(instruction.operands[i]));
  }
  return origin;
}

PointerOrigin PointerOrigins::ResultOf(const ptx::Instruction& instruction) const {
  const std::vector<Operand>& operands = instruction.operands;
  switch (instruction.opcode()) {
    case Opcode::kMov:
      if (operands.size() != 2 || operands[0].kind != OperandKind::kName ||
          operands[1].kind == OperandKind::kVector) {
        return Mixed(instruction);
      }
      return Of(operands[1]);
    case Opcode::kCvta:
      return operands.size() == 2 ? Of(operands[1]) : Mixed(instruction);
    case Opcode::kCvt: {
      // Addresses in shared memory fit in 32 bits.
      const ptx::Type from = instruction.mnemonic->LastType();
      const bool whole = !ptx::IsFloat(from) && !IsFloat(instruction) && ptx::BitsOf(from) >= 32 &&
                         ptx::BitsOf(instruction.mnemonic->TypeAt(0)) >= 32;
      return whole && operands.size() == 2 ? Of(operands[1]) : Mixed(instruction);
    }
    case Opcode::kAdd:
    case Opcode::kOr:  // of a multiple of a power of two and something below it
      if (operands.size() != 3 || IsFloat(instruction)) return Mixed(instruction);
      return Sum(Of(operands[1]), Of(operands[2]));
    case Opcode::kSub:
      if (operands.size() != 3 || IsFloat(instruction)) return Mixed(instruction);
      return Difference(Of(operands[1]), Of(operands[2]));
    case Opcode::kMad: {
      if (operands.size() != 4 || IsFloat(instruction)) return Mixed(instruction);
      return Sum(Sum(MixedOf(operands[1]), MixedOf(operands[2])), Of(operands[3]));
    }
    case Opcode::kSelp:
      return operands.size() == 4 ? Either(Of(operands[1]), Of(operands[2])) : Mixed(instruction);
    case Opcode::kLd:
    case Opcode::kLdu:
      return Loaded(instruction);
    case Opcode::kAtom:
      return {Kind::kNumber, {}};
    case Opcode::kCall:
      return {Kind::kUnknown, {}};
    default:
      return Mixed(instruction);
  }
}

void PointerOrigins::Assign(const Operand& target, const PointerOrigin& origin) {
  for (const Operand& element : target.elements) Assign(element, origin);
  if (!target.IsRegister()) return;
  PointerOrigin& place = origins_[first_[target.symbol.index] + target.symbol.number];
  const PointerOrigin joined = Either(place, origin);
  if (joined == place) return;
  place = joined;
  changed_ = true;
}

void PointerOrigins::Transfer(const ptx::Instruction& instruction) {
  if (instruction.operands.empty()) return;
  const Operand& target = instruction.operands[0];
  // Stores have their address here, and write no register.
  if (target.kind == OperandKind::kAddress) return;
  Assign(target, ResultOf(instruction));
}

}  // namespace kernelsmith::checkers
