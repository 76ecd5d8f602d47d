#include "cudart/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "cudart/messages.h"
#include "cudart/recorder.h"
#include "ptx/ptx.h"

namespace kernelsmith::cudart {
namespace {

// What __cudaRegisterFatBinary gets a pointer to.
struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* image;
  // Version 2 (relocatable device code): the fat binaries of the objects, ended by null. The linked
  // image itself holds only machine code, or nothing; the PTX is in these.
  const void* const* linked_images;
};
constexpr uint32_t kWrapperMagic = 0x466243b1;

// What messages call the PTX: its lines are not those of the source file.
std::string TextName(const FatBinaryEntry& entry, const std::string& module) {
  return "PTX of " + (entry.file_name.empty() ? module : entry.file_name);
}

}  // namespace

Kernel* DeviceModule::AddKernel(const void* host_function, std::string name) {
  auto kernel = std::make_unique<Kernel>();
  kernel->module = this;
  kernel->name = std::move(name);
  kernel->host_function = host_function;
  const std::lock_guard lock(mutex_);
  kernels_.push_back(std::move(kernel));
  return kernels_.back().get();
}

void DeviceModule::AddVariable(const void* /*host_variable*/, RegisteredVariable variable) {
  const std::lock_guard lock(mutex_);
  if (variable.managed_pointer != nullptr) managed_.push_back(std::move(variable));
}

Result<std::vector<std::shared_ptr<const ptx::Module>>> DeviceModule::ReadModules(
    const GpuModel& model, Recorder* recorder) {
  std::vector<Bytes> images;
  if (!owned_image_.empty()) {
    images.push_back(
        std::as_bytes(std::span<const char>(owned_image_.data(), owned_image_.size())));
  }
  for (const void* image : images_) images.push_back(ReadableFrom(image));

  std::vector<std::shared_ptr<const ptx::Module>> modules;
  std::optional<Error> without_ptx;
  for (const Bytes image : images) {
    KS_TRY(const FatBinary binary, ParseFatBinary(image));
    if (binary.entries.empty() && images.size() > 1) continue;
    Result<const FatBinaryEntry*> chosen = ChoosePtx(binary, model);
    if (!chosen.ok()) {
      // Of several linked parts some (the device runtime) may be machine code only; what they
      // define is missed when somebody uses it.
      if (!without_ptx) without_ptx = std::move(chosen).error();
      continue;
    }
    KS_TRY(const std::string text, EntryText(**chosen));
    if (recorder != nullptr) recorder->OnModule(text);
    KS_TRY(ptx::Module module, ptx::Parse(text, TextName(**chosen, name_)));
    modules.push_back(std::make_shared<const ptx::Module>(std::move(module)));
  }
  if (modules.empty()) {
    if (without_ptx) return *std::move(without_ptx);
    return Unsupported("holds no device code");
  }
  return modules;
}

cudaError_t DeviceModule::Fail(cudaError_t code, const std::string& message) {
  load_error_ = code;
  Say(fmt::format("{}: {}", name_, message));
  return code;
}

cudaError_t DeviceModule::Load(vgpu::VirtualGpu& gpu, const GpuModel& model, Recorder* recorder) {
  const std::lock_guard lock(mutex_);
  if (tried_) return load_error_;
  tried_ = true;
  Result<std::vector<std::shared_ptr<const ptx::Module>>> modules = ReadModules(model, recorder);
  if (!modules.ok()) {
    const Error& error = modules.error();
    const bool of_ptx = !error.diagnostics().front().where.file.empty();
    if (of_ptx) {
      return Fail(
          error.kind() == ErrorKind::kUnsupported ? cudaErrorNotSupported : cudaErrorInvalidPtx,
          error.Format());
    }
    return Fail(error.kind() == ErrorKind::kUnsupported ? cudaErrorNoKernelImageForDevice
                                                        : cudaErrorInvalidKernelImage,
                error.message());
  }
  Result<std::unique_ptr<vgpu::LoadedModule>> loaded = vgpu::LoadedModule::Load(
      *std::move(modules), gpu.memory(), name_, vgpu::CpuFor(gpu.options().settings));
  if (!loaded.ok()) {
    switch (loaded.error().kind()) {
      case ErrorKind::kTimeout:
        return Fail(cudaErrorMemoryAllocation, loaded.error().Format());
      case ErrorKind::kUnsupported:
        return Fail(cudaErrorNotSupported, loaded.error().Format());
      default:
        return Fail(cudaErrorInvalidPtx, loaded.error().Format());
    }
  }
  loaded_ = *std::move(loaded);
  ConnectManagedVariables();
  return cudaSuccess;
}

void DeviceModule::ConnectManagedVariables() {
  for (const RegisteredVariable& variable : managed_) {
    const vgpu::VariableInfo* info = loaded_->FindVariable(variable.name);
    if (info != nullptr) *variable.managed_pointer = reinterpret_cast<void*>(info->address);
  }
}

void DeviceModule::Unload() {
  const std::lock_guard lock(mutex_);
  // Host code keeps the addresses of managed variables, so these must stay where they are.
  if (!managed_.empty()) return;
  loaded_ = nullptr;
  tried_ = false;
  load_error_ = cudaSuccess;
}

Kernel* DeviceModule::FindKernel(std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Kernel>& kernel : kernels_) {
    if (kernel->name == name) return kernel.get();
  }
  if (loaded_ == nullptr || loaded_->FindEntry(name) == nullptr) return nullptr;
  auto kernel = std::make_unique<Kernel>();
  kernel->module = this;
  kernel->name = std::string(name);
  kernels_.push_back(std::move(kernel));
  return kernels_.back().get();
}

std::vector<Kernel*> DeviceModule::Kernels() {
  std::vector<std::string> names;
  if (loaded_ != nullptr) {
    for (const vgpu::EntryInfo* entry : loaded_->Entries()) names.push_back(entry->name);
  }
  std::vector<Kernel*> kernels;
  for (const std::string& name : names) kernels.push_back(FindKernel(name));
  return kernels;
}

DeviceModule* Registry::AddModule(const void* wrapper_address) {
  std::vector<const void*> images;
  const auto* wrapper = static_cast<const Wrapper*>(wrapper_address);
  if (wrapper != nullptr && wrapper->magic == kWrapperMagic) {
    if (wrapper->version >= 2 && wrapper->linked_images != nullptr) {
      for (const void* const* image = wrapper->linked_images; *image != nullptr; ++image) {
        images.push_back(*image);
      }
    }
    if (images.empty() && wrapper->image != nullptr) images.push_back(wrapper->image);
  }
  auto module = std::make_unique<DeviceModule>(std::move(images), "this program");
  DeviceModule* handle = module.get();
  const std::unique_lock lock(mutex_);
  modules_.emplace(handle, std::move(module));
  return handle;
}

DeviceModule* Registry::AddLibrary(std::string image, std::string name) {
  auto module = std::make_unique<DeviceModule>(std::move(image), std::move(name));
  DeviceModule* handle = module.get();
  const std::unique_lock lock(mutex_);
  modules_.emplace(handle, std::move(module));
  return handle;
}

void Registry::Remove(DeviceModule* module) {
  const std::unique_lock lock(mutex_);
  const auto belongs = [module](const auto& item) { return item.second->module == module; };
  std::erase_if(by_host_function_, belongs);
  std::erase_if(handles_, belongs);
  std::erase_if(variables_, [module](const auto& item) { return item.second.module == module; });
  modules_.erase(module);
}

bool Registry::Contains(DeviceModule* module) const {
  const std::shared_lock lock(mutex_);
  return modules_.contains(module);
}

void Registry::AddFunction(DeviceModule* module, const void* host_function, const char* name) {
  const std::unique_lock lock(mutex_);
  if (!modules_.contains(module)) return;
  Kernel* kernel = module->AddKernel(host_function, name);
  by_host_function_[host_function] = kernel;
  handles_[kernel] = kernel;
}

void Registry::NoteHandle(Kernel* kernel) {
  const std::unique_lock lock(mutex_);
  handles_[kernel] = kernel;
}

void Registry::AddVariable(DeviceModule* module, const void* host_variable,
                           RegisteredVariable variable) {
  const std::unique_lock lock(mutex_);
  if (!modules_.contains(module)) return;
  module->AddVariable(host_variable, variable);
  variables_[host_variable] = {module, std::move(variable)};
}

Kernel* Registry::FindKernel(const void* function_or_handle) const {
  const std::shared_lock lock(mutex_);
  if (const auto found = by_host_function_.find(function_or_handle);
      found != by_host_function_.end()) {
    return found->second;
  }
  const auto found = handles_.find(function_or_handle);
  return found == handles_.end() ? nullptr : found->second;
}

Kernel* Registry::FindKernel(const vgpu::LoadedModule& loaded, std::string_view name) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [handle, module] : modules_) {
    if (module->loaded() == &loaded) return module->FindKernel(name);
  }
  return nullptr;
}

std::optional<Registry::FoundVariable> Registry::FindVariable(const void* host_variable) const {
  const std::shared_lock lock(mutex_);
  const auto found = variables_.find(host_variable);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

void Registry::UnloadAll() {
  const std::unique_lock lock(mutex_);
  for (const auto& [handle, module] : modules_) module->Unload();
}

cudaError_t ErrorOfFault(vgpu::FaultKind kind) {
  switch (kind) {
    case vgpu::FaultKind::kIllegalAddress:
      return cudaErrorIllegalAddress;
    case vgpu::FaultKind::kMisalignedAddress:
      return cudaErrorMisalignedAddress;
    case vgpu::FaultKind::kIllegalInstruction:
      return cudaErrorIllegalInstruction;
    case vgpu::FaultKind::kAssert:
      return cudaErrorAssert;
    case vgpu::FaultKind::kStackOverflow:
      return cudaErrorHardwareStackError;
    case vgpu::FaultKind::kDeadlock:
    case vgpu::FaultKind::kNoProgress:
    case vgpu::FaultKind::kEndlessLoop:
      return cudaErrorLaunchTimeout;
    case vgpu::FaultKind::kTrap:
    case vgpu::FaultKind::kLaunchFailure:
      return cudaErrorLaunchFailure;
  }
  return cudaErrorLaunchFailure;
}

}  // namespace kernelsmith::cudart
