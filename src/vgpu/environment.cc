#include "vgpu/environment.h"

#include <algorithm>

#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

const ptx::Instruction* SyntaxOf(const Function& function, const Instruction& in) {
  return in.location < function.locations.size() ? function.locations[in.location].syntax : nullptr;
}

// Registers that are 0 here and something else on a GPU.
bool NamesUnknown(const ptx::Operand& operand) {
  if (operand.kind == ptx::OperandKind::kSpecialRegister) {
    const std::string& name = operand.name;
    return name.starts_with("%envreg") || name.starts_with("%pm") ||
           name.starts_with("%reserved_smem") || name == "%current_graph_exec";
  }
  return std::any_of(operand.elements.begin(), operand.elements.end(), NamesUnknown);
}

void AddSymbols(const Function& function, const ptx::Operand& operand,
                std::vector<SymbolOperand>* symbols) {
  if (operand.kind == ptx::OperandKind::kVector || operand.kind == ptx::OperandKind::kPair) {
    for (const ptx::Operand& part : operand.elements) AddSymbols(function, part, symbols);
    return;
  }
  if (operand.kind != ptx::OperandKind::kName) return;
  const ptx::Variable* variable = nullptr;
  if (operand.symbol.kind == ptx::SymbolKind::kLocalVariable) {
    variable = &function.syntax->variables[operand.symbol.index];
    // These have addresses in the frame: Op::kFrameAddress.
    if (variable->space == ptx::Space::kLocal || variable->space == ptx::Space::kParam) return;
  } else if (operand.symbol.kind == ptx::SymbolKind::kGlobalVariable) {
    variable = &function.module->variables[operand.symbol.index];
  } else if (operand.symbol.kind != ptx::SymbolKind::kFunction) {
    return;
  }
  SymbolOperand symbol;
  if (variable != nullptr) {
    symbol.shared =
        variable->space == ptx::Space::kShared || variable->space == ptx::Space::kSharedCta;
    symbol.alignment = static_cast<uint64_t>(std::max(variable->Alignment(), 1));
    symbol.offset = operand.integer;
    if (operand.has_index) {
      symbol.offset *= ptx::BytesOf(variable->type) * std::max(variable->vector_width, 1);
    }
  }
  symbols->push_back(symbol);
}

}  // namespace

EnvironmentRegister EnvironmentOf(const Function& function, const Instruction& in,
                                  Operand operand) {
  if (!operand.exists() || operand.base() != OperandBase::kSpecial) {
    return EnvironmentRegister::kNone;
  }
  switch (static_cast<Special>(operand.offset() / (kWarpSize * sizeof(uint32_t)))) {
    case Special::kWarpid:
    case Special::kNwarpid:
    case Special::kSmid:
    case Special::kNsmid:
    case Special::kGridid:
    case Special::kTotalSmemSize:  // a GPU rounds it up and adds its own part
      return EnvironmentRegister::kPlace;
    case Special::kEnvreg1:
      return EnvironmentRegister::kWorkspaceHigh;
    case Special::kEnvreg2:
      return EnvironmentRegister::kWorkspaceLow;
    case Special::kZero: {
      const ptx::Instruction* syntax = SyntaxOf(function, in);
      return syntax != nullptr &&
                     std::any_of(syntax->operands.begin(), syntax->operands.end(), NamesUnknown)
                 ? EnvironmentRegister::kPlace
                 : EnvironmentRegister::kNone;
    }
    default:
      return EnvironmentRegister::kNone;
  }
}

GridRegister GridRegisterOf(Operand operand) {
  if (!operand.exists() || operand.base() != OperandBase::kSpecial) return GridRegister::kOther;
  const auto special = static_cast<Special>(operand.offset() / (kWarpSize * sizeof(uint32_t)));
  if (special > Special::kLaneid) return GridRegister::kOther;
  // Both enumerations have these in the same order.
  static_assert(static_cast<int>(Special::kLaneid) + 1 == static_cast<int>(GridRegister::kLaneid));
  return static_cast<GridRegister>(static_cast<int>(special) + 1);
}

std::vector<SymbolOperand> SymbolsOf(const Function& function, const Instruction& in) {
  std::vector<SymbolOperand> symbols;
  const ptx::Instruction* syntax = SyntaxOf(function, in);
  // A call names its function, and branches their labels: no values.
  if (syntax == nullptr || in.op == Op::kCall || in.op == Op::kBra) return symbols;
  for (const ptx::Operand& operand : syntax->operands) AddSymbols(function, operand, &symbols);
  return symbols;
}

}  // namespace kernelsmith::vgpu
