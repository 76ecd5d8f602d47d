#include "plan/parameter_use.h"

#include <algorithm>
#include <cstdint>

#include "ptx/ptx.h"

namespace kernelsmith {
namespace {

// No kernel has as much; keeps hostile sizes out of the arithmetic.
constexpr uint64_t kMostBytes = 1 << 20;

class Kernel {
 public:
  explicit Kernel(const ptx::Function& function) : function_(function) {
    uint64_t offset = 0;
    for (const ptx::Variable& parameter : function.parameters) {
      const auto alignment = static_cast<uint64_t>(std::max(parameter.Alignment(), 1));
      offset = (offset + alignment - 1) / alignment * alignment;
      offsets_.push_back(offset);
      if (parameter.Size() > kMostBytes || offset > kMostBytes) {
        valid_ = false;
        return;
      }
      offset += parameter.Size();
    }
    reads_.assign(offset, false);
  }

  // Nothing: what it reads is not known.
  std::vector<bool> Run() {
    if (!valid_) return {};
    for (const ptx::Instruction& instruction : function_.instructions) Look(instruction);
    return std::move(reads_);
  }

 private:
  void Look(const ptx::Instruction& instruction) {
    const bool load =
        instruction.opcode() == ptx::Opcode::kLd || instruction.opcode() == ptx::Opcode::kLdu;
    for (const ptx::Operand& operand : instruction.operands) {
      if (load && operand.kind == ptx::OperandKind::kAddress && operand.elements.size() == 1 &&
          IsParameter(operand.elements[0]) && !operand.elements[0].has_index) {
        const uint64_t bytes =
            static_cast<uint64_t>(ptx::BytesOf(instruction.mnemonic->LastType())) *
            static_cast<uint64_t>(std::max(instruction.mnemonic->vector_width, 1));
        Read(operand.elements[0].symbol.index, operand.elements[0].integer, bytes);
        continue;
      }
      Cover(operand);
    }
  }

  static bool IsParameter(const ptx::Operand& operand) {
    return operand.kind == ptx::OperandKind::kName &&
           operand.symbol.kind == ptx::SymbolKind::kParameter;
  }

  void Read(uint32_t parameter, int64_t at, uint64_t bytes) {
    // Loads beyond a parameter reach its neighbours, or nothing.
    for (uint64_t i = 0; i < bytes; ++i) {
      const uint64_t byte = offsets_[parameter] + static_cast<uint64_t>(at) + i;
      if (byte < reads_.size()) reads_[byte] = true;
    }
  }

  // The parameter's address goes somewhere: all of it may be read.
  void Cover(const ptx::Operand& operand) {
    if (IsParameter(operand)) {
      Read(operand.symbol.index, 0, function_.parameters[operand.symbol.index].Size());
    }
    for (const ptx::Operand& part : operand.elements) Cover(part);
  }

  const ptx::Function& function_;
  std::vector<uint64_t> offsets_;
  std::vector<bool> reads_;
  bool valid_ = true;
};

}  // namespace

void ParameterUse::Analyse() const {
  const Result<ptx::Module> module = ptx::Parse(ptx_, "candidate.ptx");
  // What can't be read can't run either; until then every byte counts.
  if (!module.ok()) return;
  has_variables_ = std::any_of(
      module->variables.begin(), module->variables.end(),
      [](const ptx::Variable& variable) { return variable.space == ptx::Space::kGlobal; });
  for (const ptx::Function& function : module->functions) {
    if (!function.is_entry || !function.is_definition) continue;
    std::vector<bool> reads = Kernel(function).Run();
    if (!reads.empty()) reads_.emplace(function.name, std::move(reads));
  }
}

bool ParameterUse::Reads(const std::string& kernel, size_t byte) const {
  std::call_once(once_, [this] { Analyse(); });
  const auto found = reads_.find(kernel);
  if (found == reads_.end()) return true;
  // Behind the last parameter there is nothing to read.
  return byte < found->second.size() && found->second[byte];
}

bool ParameterUse::HasVariables() const {
  std::call_once(once_, [this] { Analyse(); });
  return has_variables_;
}

}  // namespace kernelsmith
