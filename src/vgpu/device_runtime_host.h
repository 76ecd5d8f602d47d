// What the CUDA runtime of kernels (device_runtime.h) asks of the one on the host. Errors,
// attributes and limits are the numbers of CUDA's own enumerations. Called by the threads that run
// kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/module.h"

namespace kernelsmith::vgpu {

class DeviceRuntimeHost {
 public:
  virtual ~DeviceRuntimeHost() = default;
  // cudaGetErrorName, cudaGetErrorString
  virtual std::string ErrorName(int error) = 0;
  virtual std::string ErrorString(int error) = 0;
  virtual std::optional<int> DeviceAttribute(int attribute) = 0;
  virtual std::optional<uint64_t> Limit(int limit) = 0;
  virtual int RuntimeVersion() = 0;
  // The bytes of a cudaFuncAttributes.
  virtual std::vector<std::byte> FunctionAttributes(const LoadedModule& module,
                                                    const EntryInfo& info) = 0;
  virtual int ActiveBlocks(const EntryInfo& info, int threads, uint64_t dynamic_shared) = 0;
  // The most dynamic shared memory of a launch.
  virtual uint64_t DynamicSharedLimit(const LoadedModule& module, const EntryInfo& info) = 0;
  // cudaGraphSetConditional
  virtual void SetConditional(uint64_t handle, uint32_t value) = 0;
};

}  // namespace kernelsmith::vgpu
