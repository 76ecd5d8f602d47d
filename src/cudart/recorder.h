// Recording instead of running: src/plan's tracer sees every piece of work in program order.
#pragma once

#include <cstdint>
#include <optional>
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
  // The program frees what it did not allocate.
  virtual void OnBadFree(uint64_t /*address*/) {}
  // What the host waits for: a stream, what an event recorded, or everything.
  struct Awaited {
    std::optional<uint64_t> stream = {};
    const EventRecord* record = nullptr;
  };
  // The host is about to wait for the device: afterwards all work recorded so far must have had its
  // effect on memory that the host can see.
  virtual void OnSynchronise(const Awaited& awaited) = 0;
  // It asks whether the device is done.
  virtual void OnQuery() { OnSynchronise({}); }
  // Device code was read; `ptx` is its text.
  virtual void OnModule(const std::string& /*ptx*/) {}
  // The program set an attribute of the kernel that decides whether launches are valid.
  virtual void OnAttribute(const Kernel& /*kernel*/) {}
  // The program called a function that there is not here; what it does next may be for us alone.
  virtual void OnUnsupported(const std::string& /*function*/) {}

  // -- what a busy GPU would answer, and one that only records can't know
  // Whether work is still running, when the program asks without waiting.
  virtual bool StillRuns() { return false; }
  // Between two events; negative: as long as it took.
  virtual float ElapsedMilliseconds() { return -1; }
  // Device memory that other programs have.
  virtual uint64_t MemoryOfOthers() const { return 0; }
  // Tells GPUs of the same model apart.
  virtual uint64_t Identity() const { return 0; }

  // Kernels are lowered when they are launched, so that what can't run is an error at once.
  virtual bool prepares_kernels() const { return true; }
};

}  // namespace kernelsmith::cudart
