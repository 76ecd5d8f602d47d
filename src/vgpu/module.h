// A PTX module on a virtual GPU: its global variables allocated and initialised, its kernels ready
// to be lowered when they are first launched.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax.h"
#include "support/result.h"
#include "vgpu/cpu.h"
#include "vgpu/fault.h"
#include "vgpu/memory.h"

namespace kernelsmith::vgpu {

struct ParameterInfo {
  std::string name;
  uint32_t offset = 0;
  uint32_t size = 0;
  uint32_t alignment = 1;
};

struct EntryInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  uint32_t parameter_bytes = 0;
  uint32_t static_shared_bytes = 0;           // without dynamic (extern) shared memory
  uint32_t local_bytes = 0;                   // per thread, of the kernel's own frame
  std::optional<Dim3> required_threads;       // .reqntid
  std::optional<Dim3> max_threads;            // .maxntid
  std::optional<uint32_t> min_blocks_per_sm;  // .minnctapersm
  std::optional<uint32_t> max_registers;      // .maxnreg
  std::optional<Dim3> required_cluster;       // .reqnctapercluster
};

struct VariableInfo {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
  bool constant = false;
  bool managed = false;
};

struct Kernel;  // ir.h

class LoadedModule {
 public:
  // Several PTX modules are linked into one: .visible and .weak symbols meet their .extern
  // declarations. `memory` must outlive the module. Device pointers in initialisers are resolved
  // here. Kernels are not lowered yet, so an instruction the engine lacks is no error yet. `cpu`:
  // what the interpreter of its kernels may use.
  static Result<std::unique_ptr<LoadedModule>> Load(
      std::vector<std::shared_ptr<const ptx::Module>> modules, DeviceMemory& memory,
      std::string name, CpuLevel cpu = DetectCpu());
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  // Null when there is none of that name.
  const EntryInfo* FindEntry(std::string_view name) const;
  // By the address that the kernel has in device code; null when it is none's.
  const EntryInfo* FindEntryAt(uint64_t address) const;
  const VariableInfo* FindVariable(std::string_view name) const;
  std::vector<const EntryInfo*> Entries() const;
  std::vector<const VariableInfo*> Variables() const;

  // Lowers the kernel and all it may call; what the engine does not support is an error that names
  // instruction, file and line. Done once per kernel; Launch calls it too.
  Result<const Kernel*> Prepare(std::string_view entry);

  const std::string& name() const;
  DeviceMemory& memory() const;

 private:
  struct Impl;
  explicit LoadedModule(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kernelsmith::vgpu
