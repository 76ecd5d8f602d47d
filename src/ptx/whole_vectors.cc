#include "ptx/whole_vectors.h"

#include "ptx/special_registers.h"

namespace kernelsmith::ptx {
namespace {

constexpr Selector kElements[] = {Selector::kX, Selector::kY, Selector::kZ, Selector::kW};
constexpr std::string_view kElementNames[] = {".x", ".y", ".z", ".w"};

bool IsWholeSpecial(const Operand& operand) {
  if (operand.kind != OperandKind::kSpecialRegister || operand.selector != Selector::kNone) {
    return false;
  }
  const SpecialRegister* special = FindSpecialRegister(operand.name);
  return special != nullptr && !special->components.empty();
}

class Expander {
 public:
  Expander(const Function& function, const Instruction& instruction)
      : function_(function),
        is_vector_move_(instruction.opcode() == Opcode::kMov &&
                        instruction.mnemonic->vector_width > 1) {}

  bool HasWholeVector(const Operand& operand) const {
    if (WidthOf(operand) > 1) return true;
    for (size_t i = FirstPart(operand); i < operand.elements.size(); ++i) {
      if (HasWholeVector(operand.elements[i])) return true;
    }
    return false;
  }

  // As deep as the parser lets operands nest.
  void Expand(Operand* operand) const {
    const int width = WidthOf(*operand);
    if (width == 1) {
      for (size_t i = FirstPart(*operand); i < operand->elements.size(); ++i) {
        // A vector among the elements of another is no PTX; the checks find it as it is.
        if (operand->kind != OperandKind::kVector) Expand(&operand->elements[i]);
      }
      return;
    }
    Operand vector;
    vector.where = operand->where;
    vector.kind = OperandKind::kVector;
    vector.name = operand->name;
    vector.negated = operand->negated;
    for (int i = 0; i < width; ++i) {
      Operand element = *operand;
      element.negated = false;
      element.selector = kElements[i];
      if (element.kind == OperandKind::kSpecialRegister) element.name += kElementNames[i];
      vector.elements.push_back(std::move(element));
    }
    *operand = std::move(vector);
  }

 private:
  // What stands first in brackets is an address, which no vector can be.
  static size_t FirstPart(const Operand& operand) {
    return operand.kind == OperandKind::kAddress ? 1 : 0;
  }

  // More than 1 for whole vectors alone.
  int WidthOf(const Operand& operand) const {
    if (is_vector_move_ && IsWholeSpecial(operand)) return 4;
    if (operand.selector != Selector::kNone) return 1;
    return RegisterWidth(function_, operand);
  }

  const Function& function_;
  bool is_vector_move_;
};

}  // namespace

int RegisterWidth(const Function& function, const Operand& operand) {
  if (operand.kind != OperandKind::kName) return 1;
  const auto width_of = [](const Variable& variable) {
    return variable.space == Space::kReg ? variable.vector_width : 1;
  };
  switch (operand.symbol.kind) {
    case SymbolKind::kRegister:
      return function.registers[operand.symbol.index].vector_width;
    case SymbolKind::kParameter:
      return width_of(function.parameters[operand.symbol.index]);
    case SymbolKind::kReturn:
      return width_of(function.returns[operand.symbol.index]);
    default:
      return 1;
  }
}

int ElementOf(Selector selector) {
  if (selector < Selector::kX || selector > Selector::kW) return -1;
  return static_cast<int>(selector) - static_cast<int>(Selector::kX);
}

std::optional<Instruction> ExpandWholeVectors(const Function& function,
                                              const Instruction& instruction) {
  const Expander expander(function, instruction);
  bool any = false;
  for (const Operand& operand : instruction.operands) any |= expander.HasWholeVector(operand);
  if (!any) return std::nullopt;
  Instruction expanded = instruction;
  for (Operand& operand : expanded.operands) expander.Expand(&operand);
  return expanded;
}

}  // namespace kernelsmith::ptx
