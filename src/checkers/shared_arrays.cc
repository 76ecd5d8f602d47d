#include "checkers/shared_arrays.h"

#include <algorithm>
#include <cstring>

#include "checkers/pointer_origins.h"
#include "support/demangle.h"

namespace kernelsmith::checkers {

using vgpu::Function;
using vgpu::Instruction;

namespace {

const ptx::Instruction* SyntaxOf(const Function& function, const Instruction& in) {
  return in.location < function.locations.size() ? function.locations[in.location].syntax : nullptr;
}

// Where a variable lies stands in the code alone: in the instruction that takes its address, or
// that accesses it by name.
struct Named {
  const ptx::Operand* operand = nullptr;
  uint64_t address = 0;  // of what the operand names, with its offset
};

std::optional<Named> NamedBy(const Function& function, const Instruction& in,
                             const ptx::Instruction& syntax) {
  if (in.op == vgpu::Op::kMov && syntax.opcode() == ptx::Opcode::kMov &&
      syntax.operands.size() == 2 && in.a.exists() && in.a.base() == vgpu::OperandBase::kConstant &&
      in.a.bytes() >= 4) {
    uint64_t value = 0;
    std::memcpy(&value, function.constant_data + in.a.offset(),
                std::min<size_t>(in.a.bytes(), sizeof value));
    return Named{&syntax.operands[1], value};
  }
  if (in.space != vgpu::MemorySpace::kShared || in.address != vgpu::AddressBase::kAbsolute) {
    return std::nullopt;
  }
  for (const ptx::Operand& operand : syntax.operands) {
    if (operand.kind == ptx::OperandKind::kAddress && !operand.elements.empty()) {
      return Named{operand.elements.data(), static_cast<uint64_t>(in.offset)};
    }
  }
  return std::nullopt;
}

}  // namespace

SharedArrays::SharedArrays(const vgpu::Kernel& kernel) {
  Collect(kernel);
  if (arrays_.size() < 2) return;
  for (const auto& function : kernel.functions) Match(*function);
}

void SharedArrays::Collect(const vgpu::Kernel& kernel) {
  for (const auto& owned : kernel.functions) {
    const Function& function = *owned;
    if (function.syntax == nullptr || function.module == nullptr) continue;
    for (const Instruction& in : function.code) {
      const ptx::Instruction* syntax = SyntaxOf(function, in);
      if (syntax == nullptr) continue;
      const std::optional<Named> named = NamedBy(function, in, *syntax);
      if (!named || named->operand->has_index) continue;
      const ptx::Symbol& symbol = named->operand->symbol;
      const ptx::Variable* variable = SharedVariable(*function.module, *function.syntax, symbol);
      if (variable == nullptr || arrays_.contains(variable)) continue;
      const uint64_t before =
          static_cast<uint64_t>(named->operand->integer) + symbol.number * variable->Size();
      const uint64_t begin = named->address - before;
      const bool dynamic = variable->Size() == 0;
      arrays_[variable] = {
          .name = Demangle(variable->name),
          .begin = begin,
          .end = dynamic ? ~uint64_t{0}
                         : begin + variable->Size() * std::max<uint64_t>(variable->count, 1)};
    }
  }
}

void SharedArrays::Match(const Function& function) {
  if (function.syntax == nullptr || function.module == nullptr) return;
  const PointerOrigins origins(*function.module, *function.syntax);
  for (const Instruction& in : function.code) {
    if (in.op != vgpu::Op::kLoad && in.op != vgpu::Op::kStore && in.op != vgpu::Op::kAtom &&
        in.op != vgpu::Op::kRed) {
      continue;
    }
    const ptx::Instruction* syntax = SyntaxOf(function, in);
    if (syntax == nullptr) continue;
    const PointerOrigin origin = origins.OfAddress(*syntax);
    if (origin.kind != PointerOrigin::Kind::kShared) continue;
    const auto array =
        arrays_.find(SharedVariable(*function.module, *function.syntax, origin.symbol));
    if (array != arrays_.end()) meant_[&in] = &array->second;
  }
}

const SharedArray* SharedArrays::MeantBy(const Instruction& instruction) const {
  const auto it = meant_.find(&instruction);
  return it == meant_.end() ? nullptr : it->second;
}

const SharedArray* SharedArrays::At(uint64_t offset) const {
  for (const auto& [variable, array] : arrays_) {
    if (array.Contains(offset, 1)) return &array;
  }
  return nullptr;
}

}  // namespace kernelsmith::checkers
