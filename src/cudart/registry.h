// What programs register before main: fat binaries, and the host addresses that stand for their
// kernels and variables. Device code is read, parsed and loaded when it is first needed.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cudart/fat_binary.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::cudart {

class DeviceModule;
class Recorder;

// A kernel as the API sees it: cudaKernel_t, cudaFunction_t and the host stub's address all lead to
// one of these. Lives as long as its module.
struct Kernel {
  DeviceModule* module = nullptr;
  std::string name;                     // mangled, as in the PTX
  const void* host_function = nullptr;  // null for kernels of cudaLibrary_t
  // Set by cudaFuncSetAttribute and friends; launches read them.
  std::atomic<int> max_dynamic_shared{-1};  // -1: not asked for, the 48 KB rule holds
  std::atomic<int> shared_carveout{-1};
  std::atomic<int> cluster_x{0}, cluster_y{0}, cluster_z{0};
  std::atomic<bool> non_portable_cluster{false};
  std::atomic<int> cluster_policy{0};
};

struct RegisteredVariable {
  std::string name;
  size_t size = 0;
  bool constant = false;
  void** managed_pointer = nullptr;  // host pointer to fill in with the managed address
};

// The device code of one fat binary, or of several that are linked together (-rdc=true).
class DeviceModule {
 public:
  DeviceModule(std::vector<const void*> images, std::string name)
      : images_(std::move(images)), name_(std::move(name)) {}
  // Owns the image: cudaLibraryLoadData and cudaLibraryLoadFromFile.
  DeviceModule(std::string image, std::string name)
      : owned_image_(std::move(image)), name_(std::move(name)) {}

  // Loads once; every later call gives the same answer. An error is printed once, to stderr:
  // without that, all a program would tell is "no kernel image is available".
  // A recorder is told what was read.
  cudaError_t Load(vgpu::VirtualGpu& gpu, const GpuModel& model, Recorder* recorder = nullptr);
  vgpu::LoadedModule* loaded() { return loaded_.get(); }
  // The next Load starts afresh; nothing of it may be running.
  void Unload();

  Kernel* AddKernel(const void* host_function, std::string name);
  void AddVariable(const void* host_variable, RegisteredVariable variable);
  // A kernel by its mangled name, made on demand; null if the loaded code has none.
  Kernel* FindKernel(std::string_view name);
  std::vector<Kernel*> Kernels();

  const std::string& name() const { return name_; }

 private:
  friend class Registry;
  Result<std::vector<std::shared_ptr<const ptx::Module>>> ReadModules(const GpuModel& model,
                                                                      Recorder* recorder);
  cudaError_t Fail(cudaError_t code, const std::string& message);
  void ConnectManagedVariables();

  std::vector<const void*> images_;
  std::string owned_image_;
  std::string name_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<RegisteredVariable> managed_;

  std::mutex mutex_;  // guards the rest, and kernels_ once loaded
  bool tried_ = false;
  cudaError_t load_error_ = cudaSuccess;
  std::unique_ptr<vgpu::LoadedModule> loaded_;
};

// Thread-safe.
class Registry {
 public:
  DeviceModule* AddModule(const void* wrapper);
  DeviceModule* AddLibrary(std::string image, std::string name);
  void Remove(DeviceModule* module);
  bool Contains(DeviceModule* module) const;

  void AddFunction(DeviceModule* module, const void* host_function, const char* name);
  void AddVariable(DeviceModule* module, const void* host_variable, RegisteredVariable variable);

  // By host stub or by handle; null if it is neither.
  Kernel* FindKernel(const void* function_or_handle) const;
  // By its name in loaded code; null if that is none of this registry's.
  Kernel* FindKernel(const vgpu::LoadedModule& loaded, std::string_view name) const;
  struct FoundVariable {
    DeviceModule* module = nullptr;
    RegisteredVariable variable;
  };
  std::optional<FoundVariable> FindVariable(const void* host_variable) const;
  void NoteHandle(Kernel* kernel);
  void UnloadAll();

 private:
  mutable std::shared_mutex mutex_;
  std::map<DeviceModule*, std::unique_ptr<DeviceModule>> modules_;
  std::unordered_map<const void*, Kernel*> by_host_function_;
  std::unordered_map<const void*, Kernel*> handles_;
  std::unordered_map<const void*, FoundVariable> variables_;
};

// The error that a fault of a running kernel becomes.
cudaError_t ErrorOfFault(vgpu::FaultKind kind);

}  // namespace kernelsmith::cudart
