// The virtual GPU: runs the kernels of loaded PTX modules on the CPU with exact warp semantics.
//
//   KS_TRY(auto gpu, VirtualGpu::Create({}));
//   KS_TRY(auto module, LoadedModule::Load({ptx}, gpu->memory(), "k.ptx"));
//   KS_TRY(auto result, gpu->Launch({.module = module.get(), .entry = "k", ...}));
//   if (result.fault) ...
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/result.h"
#include "support/settings.h"
#include "vgpu/fault.h"
#include "vgpu/gpu_model.h"
#include "vgpu/memory.h"
#include "vgpu/module.h"

namespace kernelsmith::vgpu {

class CoverageRecord;
class DeviceHeap;
class DeviceRuntime;
class DeviceRuntimeHost;
class Observer;
class SliceRun;
struct DeviceWork;
struct SliceRecord;

using kernelsmith::Engine;

struct LaunchRequest {
  LoadedModule* module = nullptr;
  std::string entry;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;  // {1,1,1}: none
  uint32_t dynamic_shared_bytes = 0;
  std::span<const std::byte> parameters;  // laid out as EntryInfo says; missing bytes are 0
  bool cooperative = false;
  // Nobody else uses the device's memory while it runs: no other launch, no thread of a program.
  bool alone = false;
  Observer* observer = nullptr;        // observer.h
  CoverageRecord* coverage = nullptr;  // gets what the launch covers (coverage.h)
  SliceRecord* slice = nullptr;        // only what decides what is written runs (slice.h)
  // 0: blocks, warps and the lanes of an atomic take their turns in ascending order. Other numbers
  // choose other orders that a GPU might have taken.
  uint64_t schedule = 0;
  uint64_t operation = 0;  // the caller's name for this launch, for the observer
};

struct LaunchStatistics {
  uint64_t blocks = 0;
  uint64_t warps = 0;
  uint64_t warp_instructions = 0;
  uint64_t lane_instructions = 0;
};

struct LaunchResult {
  std::optional<Fault> fault;   // the kernel ended early because of this
  LaunchStatistics statistics;  // instructions: those that the interpreter ran
  bool compiled = false;        // some of it ran as compiled code
  double compile_ms = 0;        // spent on compiling in this launch
  std::string fallback;         // why compiled code was wanted and not used
  bool screened = false;        // the observer's screen found nothing: it did not see the launch
  std::string suspicion;        // why the observer had to, though there is a screen
};

class VirtualGpu {
 public:
  struct Options {
    DeviceMemory::Options memory;
    uint32_t multiprocessors = static_cast<uint32_t>(DefaultGpuModel().sm_count);
    // What a multiprocessor holds at a time: blocks beyond that begin when others have ended, so
    // that nobody can wait for them.
    const GpuModel* model = &DefaultGpuModel();
    // %total_smem limits are the caller's business.
    uint32_t max_shared_bytes = static_cast<uint32_t>(DefaultGpuModel().shared_per_block_optin);
    uint64_t heap_bytes = 8 << 20;    // cudaLimitMallocHeapSize
    uint32_t stack_bytes = 64 << 10;  // per thread, for kernels with recursion or indirect calls
    uint64_t clock_hz = static_cast<uint64_t>(DefaultGpuModel().clock_hz());  // of clock64
    // All that can run only spins for so long, in processor time of the thread that runs it: the
    // launch ends with kNoProgress. Zero: never.
    std::chrono::milliseconds watchdog{20'000};
    // A launch that needs more processor time on one of its threads ends with kNoProgress, whatever
    // it does. Zero: never.
    std::chrono::milliseconds time_limit{0};
    EngineSettings settings;
    // What printf of kernels writes. Called in order, on the launching thread.
    std::function<void(std::string_view)> print;
    // What kernels that call the CUDA runtime ask of the host's; null: they get errors.
    DeviceRuntimeHost* runtime_host = nullptr;
  };

  static Result<std::unique_ptr<VirtualGpu>> Create(Options options);
  ~VirtualGpu();

  // Runs the grid to its end, and what it launches itself (device_runtime.h). An error: the launch
  // is impossible (unknown kernel, unsupported instruction, no threads). Safe to call from several
  // threads; launches then run concurrently.
  Result<LaunchResult> Launch(const LaunchRequest& request);

  DeviceMemory& memory() { return *memory_; }
  DeviceHeap& heap() { return *heap_; }
  Options& options() { return options_; }  // change only while nothing runs

 private:
  VirtualGpu() = default;
  // Without what it launches, which goes to `started`; `depth` kernels launched one another.
  Result<LaunchResult> LaunchOne(const LaunchRequest& request, uint32_t depth,
                                 std::deque<DeviceWork>* started);
  Result<LaunchResult> LaunchSlice(const LaunchRequest& request, const Kernel& kernel);
  Result<LaunchResult> LaunchKernel(const LaunchRequest& request, const Kernel& kernel,
                                    uint32_t shared_bytes, SliceRun* slice, DeviceRuntime* runtime);
  Result<LaunchResult> RunDeviceWork(const LaunchRequest& parent, const DeviceWork& work,
                                     std::deque<DeviceWork>* started);
  Options options_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<DeviceHeap> heap_;
};

}  // namespace kernelsmith::vgpu
