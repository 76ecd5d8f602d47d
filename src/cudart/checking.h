// Checked runs: `kernelsmith sanitize` sets KERNELSMITH_CHECK (which checks) and
// KERNELSMITH_CHECK_REPORT (a file) in the environment of a program. The runtime then tells the
// checkers what the host does, kernels run under their eyes, and findings go to the file as soon as
// they are there.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "checkers/checker.h"
#include "checkers/determinism.h"
#include "checkers/finding.h"
#include "support/settings.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::cudart {

struct GraphProgram;

// The operations of a graph's steps in one launch of it: each is ordered only as the graph says.
struct GraphOperations {
  std::vector<uint64_t> steps;
  std::vector<std::unique_ptr<GraphOperations>> children;  // the graphs of steps that are graphs
  uint64_t end = 0;                                        // after all of them
};

class Checking {
 public:
  // Null unless the settings ask for it.
  static std::unique_ptr<Checking> FromSettings(const RuntimeSettings& settings);

  // Wide guard zones and a long quarantine, before the GPU is made.
  static void SetMemoryOptions(vgpu::DeviceMemory::Options& options);
  void Start(vgpu::VirtualGpu& gpu);
  checkers::CheckerList& list() { return list_; }

  // The program's code that called into this library, on this thread.
  checkers::Place CallPlace() const;

  // A call returned `error`. Whether the program looks at it is known only later: at
  // cudaGetLastError or at the end.
  void OnError(const char* call, cudaError_t error, bool from_launch_syntax);
  void OnErrorSeen();
  // <<<>>> calls a stub, which calls the API: the place is that of the first half.
  void OnLaunchSyntax();
  checkers::Place LaunchPlace() const;

  // Operations: what Submit started, with the call it came from.
  uint64_t NewOperation(std::vector<uint64_t> after);
  GraphOperations NewOperations(const GraphProgram& program, std::vector<uint64_t> after);

  // Runs a kernel, and again in other orders where that is asked for and nothing else uses the
  // memory meanwhile.
  Result<vgpu::LaunchResult> Launch(vgpu::VirtualGpu& gpu, const vgpu::LaunchRequest& request);
  // While the result lives, the caller uses device memory outside of Launch.
  std::shared_ptr<void> UseMemory();

  // Once, at the program's end.
  void Finish();

 private:
  struct PendingError {
    std::thread::id thread;
    checkers::ApiError error;
  };

  Checking() = default;

  std::vector<std::string> checks_;
  int report_ = -1;
  std::atomic<bool> launched_ = false;
  checkers::FindingSink sink_;
  checkers::CheckerList list_{sink_};
  std::mutex mutex_;
  std::vector<PendingError> pending_;
  uint64_t next_operation_ = 1;
  // Who uses device memory: held while kernels are repeated, so that nobody begins to.
  std::mutex memory_mutex_;
  uint64_t users_ = 0;
  uint64_t uses_ = 0;                         // how many uses ever began
  std::map<std::string, int> repeated_;       // launches of a kernel that ran in several orders
  checkers::OrderChecker* orders_ = nullptr;  // the one in the list; null: it was not asked for
  bool finished_ = false;
};

// Whether the code at `pc`, behind a call, looks at the call's result (eax): false only if it
// certainly does not. `returns` is set if it hands the result on to its own caller.
bool UsesResult(const unsigned char* pc, bool* returns);

}  // namespace kernelsmith::cudart
