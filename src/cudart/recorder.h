// Recording instead of running: src/plan's tracer sees every piece of work in program order.
#pragma once

#include <cstdint>
#include <string>

#include "cudart/work.h"

namespace kernelsmith::cudart {

class Recorder {
 public:
  virtual ~Recorder() = default;
  // Called on the thread that made the call, in place of running `work`. Captured work arrives when
  // its graph is launched, as GraphWork.
  virtual cudaError_t OnWork(const Work& work, uint64_t stream) = 0;
  // In place of freeing: recorded work may still need the memory when it is run later.
  virtual cudaError_t OnFree(uint64_t address) = 0;
  // The host is about to wait for the device, or to ask whether it is done: afterwards all work
  // recorded so far must have had its effect on memory that the host can see.
  virtual void OnSynchronise() = 0;
  // Device code was read; `ptx` is its text.
  virtual void OnModule(const std::string& /*ptx*/) {}
  // The program set an attribute of the kernel that decides whether launches are valid.
  virtual void OnAttribute(const Kernel& /*kernel*/) {}
  // Kernels are lowered when they are launched, so that what can't run is an error at once.
  virtual bool prepares_kernels() const { return true; }
};

}  // namespace kernelsmith::cudart
