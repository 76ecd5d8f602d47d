#include "vgpu/linker.h"

#include <fmt/format.h>

#include <cstring>
#include <set>

namespace kernelsmith::vgpu {

Error ErrorAt(ErrorKind kind, const ptx::Module& module, ptx::Position where, std::string message) {
  return {kind, Diagnostic{.where = {module.file_name, where.line, where.column},
                           .message = std::move(message)}};
}

SystemCall SystemCallOf(std::string_view name) {
#define KS_SYSTEM_CALL(function, call) \
  if (name == #function) return SystemCall::call;
#include "vgpu/system_calls.def"
#undef KS_SYSTEM_CALL
  return SystemCall::kNone;
}

namespace {

bool IsMemoryVariable(const ptx::Variable& variable) {
  return variable.space == ptx::Space::kGlobal || variable.space == ptx::Space::kConst;
}

bool IsDefinition(const ptx::Variable& variable) {
  return variable.linkage != ptx::Linkage::kExtern;
}

bool VisibleOutside(ptx::Linkage linkage) { return linkage != ptx::Linkage::kNone; }

}  // namespace

Linker::~Linker() {
  for (const uint64_t address : allocated_) static_cast<void>(memory_->Free(address));
}

Status Linker::Link(DeviceMemory& memory, const std::string& name) {
  memory_ = &memory;
  KS_RETURN_IF_ERROR(IndexNames());
  uint64_t functions = 0;
  for (const auto& module : modules_) functions += module->functions.size();
  uint64_t code = memory.ReserveCode(functions + 1);
  for (const auto& module : modules_) {
    for (const ptx::Function& function : module->functions) {
      code_[&function] = code;
      code += kCodeStride;
    }
  }
  KS_RETURN_IF_ERROR(AllocateVariables(name));
  FindAddressTaken();
  return ApplyRelocations();
}

Status Linker::IndexNames() {
  for (const auto& module : modules_) {
    for (const ptx::Function& function : module->functions) {
      if (!function.is_definition) continue;
      if (!VisibleOutside(function.linkage) && !function.is_entry) continue;
      const auto [it, inserted] =
          functions_.try_emplace(function.name, FunctionRef{module.get(), &function});
      if (inserted || function.linkage == ptx::Linkage::kWeak) continue;
      if (it->second.function->linkage == ptx::Linkage::kWeak) {
        it->second = {module.get(), &function};
      } else if (it->second.module != module.get()) {
        return ErrorAt(ErrorKind::kInvalidInput, *module, function.where,
                       fmt::format("function {} is defined in {} as well", function.name,
                                   it->second.module->file_name));
      }
    }
    for (const ptx::Variable& variable : module->variables) {
      if (!IsDefinition(variable) || !VisibleOutside(variable.linkage)) continue;
      const auto [it, inserted] =
          definitions_.try_emplace(variable.name, VariableRef{module.get(), &variable});
      if (inserted || variable.linkage == ptx::Linkage::kWeak ||
          variable.linkage == ptx::Linkage::kCommon) {
        continue;
      }
      if (it->second.variable->linkage != ptx::Linkage::kVisible) {
        it->second = {module.get(), &variable};
      } else if (it->second.module != module.get()) {
        return ErrorAt(ErrorKind::kInvalidInput, *module, variable.where,
                       fmt::format("variable {} is defined in {} as well", variable.name,
                                   it->second.module->file_name));
      }
    }
  }
  return {};
}

Status Linker::AllocateVariables(const std::string& name) {
  for (const auto& module : modules_) {
    for (size_t i = 0; i < module->variables.size(); ++i) {
      const ptx::Variable& variable = module->variables[i];
      if (!IsMemoryVariable(variable) || !IsDefinition(variable)) continue;
      // Among several weak definitions only the chosen one gets memory.
      if (ResolveVariable(*module, static_cast<uint32_t>(i)).variable != &variable) continue;
      KS_RETURN_IF_ERROR(Allocate(variable, name));
      const uint64_t size = variable.Size() * std::max<uint64_t>(variable.count, 1);
      variables_.try_emplace(variable.name,
                             VariableInfo{.name = variable.name,
                                          .address = addresses_.at(&variable),
                                          .size = size,
                                          .constant = variable.space == ptx::Space::kConst,
                                          .managed = variable.managed});
    }
    // Static variables of functions: the same, but nobody outside can name them.
    for (const ptx::Function& function : module->functions) {
      for (const ptx::Variable& variable : function.variables) {
        if (IsMemoryVariable(variable)) KS_RETURN_IF_ERROR(Allocate(variable, name));
      }
    }
  }
  return {};
}

Status Linker::Allocate(const ptx::Variable& variable, const std::string& name) {
  const uint64_t size = variable.Size() * std::max<uint64_t>(variable.count, 1);
  const AllocationKind kind = variable.space == ptx::Space::kConst ? AllocationKind::kConstant
                              : variable.managed                   ? AllocationKind::kManaged
                                                                   : AllocationKind::kGlobal;
  KS_TRY(const uint64_t address,
         memory_->Allocate(size, kind, fmt::format("variable {} of {}", variable.name, name),
                           std::max(variable.Alignment(), 256), variable.name));
  allocated_.push_back(address);
  addresses_[&variable] = address;
  if (!variable.image.empty()) {
    void* bytes = memory_->HostAlias(address, size);
    std::memcpy(bytes, variable.image.data(), std::min<uint64_t>(variable.image.size(), size));
  }
  return {};
}

Status Linker::ApplyRelocations() {
  for (const auto& module : modules_) {
    for (const ptx::Variable& variable : module->variables) {
      if (addresses_.contains(&variable)) KS_RETURN_IF_ERROR(Initialise(*module, variable));
    }
    for (const ptx::Function& function : module->functions) {
      for (const ptx::Variable& variable : function.variables) {
        if (addresses_.contains(&variable)) KS_RETURN_IF_ERROR(Initialise(*module, variable));
      }
    }
  }
  return {};
}

Status Linker::Initialise(const ptx::Module& module, const ptx::Variable& variable) {
  for (const ptx::Relocation& relocation : variable.relocations) {
    uint64_t value = 0;
    bool found = false;
    for (uint32_t i = 0; i < module.variables.size() && !found; ++i) {
      if (module.variables[i].name != relocation.name) continue;
      const VariableRef target = ResolveVariable(module, i);
      found = target && addresses_.contains(target.variable);
      if (found) value = addresses_.at(target.variable);
    }
    for (uint32_t i = 0; i < module.functions.size() && !found; ++i) {
      if (module.functions[i].name != relocation.name) continue;
      const FunctionRef target = ResolveFunction(module, i);
      found = static_cast<bool>(target);
      if (found) value = code_.at(target.function);
    }
    if (!found) {
      return ErrorAt(ErrorKind::kInvalidInput, module, relocation.where,
                     fmt::format("initialiser of {} names {}, which has no address", variable.name,
                                 relocation.name));
    }
    value = (value + static_cast<uint64_t>(relocation.addend)) >> relocation.shift;
    void* bytes = memory_->HostAlias(addresses_.at(&variable) + relocation.offset, relocation.size);
    if (bytes == nullptr || relocation.size > 8) {
      return ErrorAt(ErrorKind::kInvalidInput, module, relocation.where,
                     fmt::format("initialiser of {} lies outside of it", variable.name));
    }
    std::memcpy(bytes, &value, static_cast<size_t>(relocation.size));
  }
  return {};
}

FunctionRef Linker::ResolveFunction(const ptx::Module& module, uint32_t index) const {
  const ptx::Function* function = &module.functions[index];
  // An alias may name another alias; a loop of them ends.
  for (size_t step = 0; !function->is_definition && step <= module.aliases.size(); ++step) {
    const ptx::Function* target = module.FindFunction(function->name);
    for (const ptx::Alias& alias : module.aliases) {
      if (alias.name == function->name && !(target != nullptr && target->is_definition)) {
        target = module.FindFunction(alias.target);
      }
    }
    if (target == nullptr || target == function) break;
    function = target;
  }
  const bool shared = VisibleOutside(function->linkage) || !function->is_definition;
  if (shared) {
    const auto it = functions_.find(function->name);
    if (it != functions_.end()) return it->second;
  }
  if (function->is_definition) return {&module, function};
  return {};
}

VariableRef Linker::ResolveVariable(const ptx::Module& module, uint32_t index) const {
  const ptx::Variable& variable = module.variables[index];
  if (VisibleOutside(variable.linkage)) {
    const auto it = definitions_.find(variable.name);
    if (it != definitions_.end()) return it->second;
  }
  if (IsDefinition(variable) || variable.space == ptx::Space::kShared) return {&module, &variable};
  return {};
}

FunctionRef Linker::FindEntry(std::string_view name) const {
  for (const auto& module : modules_) {
    for (const ptx::Function& function : module->functions) {
      if (function.is_entry && function.is_definition && function.name == name) {
        return {module.get(), &function};
      }
    }
  }
  return {};
}

uint64_t Linker::AddressOf(const ptx::Variable& variable) const {
  const auto it = addresses_.find(&variable);
  return it == addresses_.end() ? 0 : it->second;
}

uint64_t Linker::AddressOf(const ptx::Function& function) const { return code_.at(&function); }

void Linker::FindAddressTaken() {
  std::set<const ptx::Function*> seen;
  const auto take = [&](FunctionRef ref) {
    // That of a kernel is for launching it.
    if (!ref || ref.function->is_entry) return;
    if (seen.insert(ref.function).second) address_taken_.push_back(ref);
  };
  for (const auto& module : modules_) {
    std::map<std::string_view, uint32_t> names;
    for (uint32_t i = 0; i < module->functions.size(); ++i)
      names.emplace(module->functions[i].name, i);
    for (const ptx::Variable& variable : module->variables) {
      for (const ptx::Relocation& relocation : variable.relocations) {
        const auto it = names.find(relocation.name);
        if (it != names.end()) take(ResolveFunction(*module, it->second));
      }
    }
    for (const ptx::Function& function : module->functions) {
      for (const ptx::Instruction& instruction : function.instructions) {
        if (instruction.opcode() == ptx::Opcode::kCall) continue;
        for (const ptx::Operand& operand : instruction.operands) {
          VisitOperand(operand, [&](const ptx::Operand& part) {
            if (part.symbol.kind == ptx::SymbolKind::kFunction) {
              take(ResolveFunction(*module, part.symbol.index));
            }
          });
        }
      }
    }
  }
}

Reachable Linker::FindReachable(FunctionRef entry, Calls calls) const {
  Reachable result;
  std::set<const ptx::Function*> seen;
  const auto add = [&](FunctionRef ref) {
    if (ref && seen.insert(ref.function).second) result.functions.push_back(ref);
  };
  add(entry);
  for (size_t i = 0; i < result.functions.size(); ++i) {
    const FunctionRef caller = result.functions[i];
    for (const ptx::Instruction& instruction : caller.function->instructions) {
      if (instruction.opcode() != ptx::Opcode::kCall) continue;
      const ptx::CallParts parts = ptx::PartsOfCall(instruction);
      if (parts.target == nullptr) continue;
      if (parts.target->symbol.kind == ptx::SymbolKind::kFunction) {
        add(ResolveFunction(*caller.module, parts.target->symbol.index));
      } else if (!result.indirect_calls) {
        result.indirect_calls = true;
        if (calls == Calls::kDirect) continue;
        for (const FunctionRef& ref : address_taken_) add(ref);
      }
    }
  }
  return result;
}

}  // namespace kernelsmith::vgpu
