#include "vgpu/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/demangle.h"
#include "vgpu/linker.h"
#include "vgpu/lower.h"

namespace kernelsmith::vgpu {

struct LoadedModule::Impl {
  Impl(std::vector<std::shared_ptr<const ptx::Module>> modules, DeviceMemory& memory,
       std::string name, CpuLevel cpu)
      : name(std::move(name)), memory(memory), cpu(cpu), linker(std::move(modules)) {}

  std::string name;
  DeviceMemory& memory;
  CpuLevel cpu;
  Linker linker;
  std::map<std::string, EntryInfo, std::less<>> entries;
  std::map<uint64_t, const EntryInfo*> entries_by_address;
  std::mutex mutex;  // guards kernels
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
};

namespace {

std::optional<Dim3> ToDim3(const std::vector<uint32_t>& numbers) {
  if (numbers.empty()) return std::nullopt;
  return Dim3{numbers[0], numbers.size() > 1 ? numbers[1] : 1, numbers.size() > 2 ? numbers[2] : 1};
}

Result<EntryInfo> DescribeEntry(const Linker& linker, FunctionRef ref) {
  EntryInfo info;
  info.name = ref.function->name;
  uint64_t offset = 0;
  for (const ptx::Variable& parameter : ref.function->parameters) {
    const auto alignment = static_cast<uint64_t>(std::max(parameter.Alignment(), 1));
    offset = (offset + alignment - 1) / alignment * alignment;
    // Far beyond what any GPU takes; keeps hostile sizes out of the arithmetic.
    constexpr uint64_t kMostParameterBytes = 1 << 20;
    if (parameter.Size() > kMostParameterBytes || offset > kMostParameterBytes) {
      return ErrorAt(ErrorKind::kInvalidInput, *ref.module, parameter.where,
                     fmt::format("parameter {} of kernel {} is too large", parameter.name,
                                 KernelName(info.name)));
    }
    info.parameters.push_back({.name = parameter.name,
                               .offset = static_cast<uint32_t>(offset),
                               .size = static_cast<uint32_t>(parameter.Size()),
                               .alignment = static_cast<uint32_t>(alignment)});
    offset += parameter.Size();
  }
  info.parameter_bytes = static_cast<uint32_t>(offset);
  KS_TRY(const SharedLayout shared, LayOutShared(linker, ref));
  info.static_shared_bytes = shared.static_bytes;
  for (const ptx::Variable& variable : ref.function->variables) {
    if (variable.space == ptx::Space::kLocal) {
      info.local_bytes += static_cast<uint32_t>(variable.Size());
    }
  }
  const ptx::FunctionDirectives& directives = ref.function->directives;
  info.required_threads = ToDim3(directives.reqntid);
  info.max_threads = ToDim3(directives.maxntid);
  info.min_blocks_per_sm = directives.minnctapersm;
  info.max_registers = directives.maxnreg;
  info.required_cluster = ToDim3(directives.reqnctapercluster);
  return info;
}

}  // namespace

LoadedModule::LoadedModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoadedModule::~LoadedModule() = default;

Result<std::unique_ptr<LoadedModule>> LoadedModule::Load(
    std::vector<std::shared_ptr<const ptx::Module>> modules, DeviceMemory& memory, std::string name,
    CpuLevel cpu) {
  auto impl = std::make_unique<Impl>(std::move(modules), memory, std::move(name), cpu);
  for (const auto& module : impl->linker.modules()) {
    if (module->address_size != 64) {
      return Error(ErrorKind::kUnsupported,
                   fmt::format("{}: .address_size {}; only 64 is supported", module->file_name,
                               module->address_size));
    }
  }
  KS_RETURN_IF_ERROR(impl->linker.Link(memory, impl->name));
  for (const auto& module : impl->linker.modules()) {
    for (const ptx::Function& function : module->functions) {
      if (!function.is_entry || !function.is_definition) continue;
      KS_TRY(EntryInfo info, DescribeEntry(impl->linker, {module.get(), &function}));
      const auto [it, added] = impl->entries.try_emplace(function.name, std::move(info));
      impl->entries_by_address[impl->linker.AddressOf(function)] = &it->second;
    }
  }
  return std::unique_ptr<LoadedModule>(new LoadedModule(std::move(impl)));
}

const EntryInfo* LoadedModule::FindEntry(std::string_view name) const {
  const auto it = impl_->entries.find(name);
  return it == impl_->entries.end() ? nullptr : &it->second;
}

const EntryInfo* LoadedModule::FindEntryAt(uint64_t address) const {
  const auto it = impl_->entries_by_address.find(address);
  return it == impl_->entries_by_address.end() ? nullptr : it->second;
}

const VariableInfo* LoadedModule::FindVariable(std::string_view name) const {
  const auto& variables = impl_->linker.variables();
  const auto it = variables.find(name);
  return it == variables.end() ? nullptr : &it->second;
}

std::vector<const EntryInfo*> LoadedModule::Entries() const {
  std::vector<const EntryInfo*> all;
  for (const auto& [name, info] : impl_->entries) all.push_back(&info);
  return all;
}

std::vector<const VariableInfo*> LoadedModule::Variables() const {
  std::vector<const VariableInfo*> all;
  for (const auto& [name, info] : impl_->linker.variables()) all.push_back(&info);
  return all;
}

Result<const Kernel*> LoadedModule::Prepare(std::string_view entry) {
  std::lock_guard lock(impl_->mutex);
  const auto known = impl_->kernels.find(entry);
  if (known != impl_->kernels.end()) return known->second.get();
  const FunctionRef ref = impl_->linker.FindEntry(entry);
  if (!ref) return InvalidInput(fmt::format("{} has no kernel {}", impl_->name, entry));
  KS_TRY(std::unique_ptr<Kernel> kernel,
         LowerKernel(impl_->linker, impl_->memory, ref, impl_->cpu));
  const Kernel* result = kernel.get();
  impl_->kernels.emplace(std::string(entry), std::move(kernel));
  return result;
}

const std::string& LoadedModule::name() const { return impl_->name; }
DeviceMemory& LoadedModule::memory() const { return impl_->memory; }

}  // namespace kernelsmith::vgpu
