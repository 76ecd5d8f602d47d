// The state of the CUDA runtime in this process: one virtual GPU, its streams and events, and the
// errors that calls return. The functions of the API (api_*.cc) are thin layers over it.
//
// Order of execution. Every operation becomes a task that waits for what CUDA's rules say it waits
// for: the one before it in its stream, the default stream or all blocking streams, events. A call
// that starts asynchronous work nevertheless waits for it, so that programs run deterministically;
// only when that takes longer than `patience` does the host go on by itself. So a kernel that waits
// for a flag of the host, or for a kernel in another stream, gets what it waits for.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkers/finding.h"
#include "cudart/registry.h"
#include "cudart/task.h"
#include "cudart/work.h"
#include "support/settings.h"
#include "vgpu/gpu_model.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::cudart {

// Priorities go from 0, the least, to this one.
inline constexpr int kGreatestStreamPriority = -5;

class Checking;
class Profiling;
class Recorder;
struct Capture;
struct Condition;
struct GraphNode;

struct Stream {
  uint64_t id = 0;
  unsigned int flags = cudaStreamDefault;
  int priority = 0;
  bool legacy = false;  // the null stream
  TaskPtr tail;         // the last operation
  // Set while the stream is being captured (graph.h).
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> capture_tail;
  std::map<int, cudaLaunchAttributeValue> attributes;

  bool blocking() const { return !legacy && (flags & cudaStreamNonBlocking) == 0; }
};

// One cudaEventRecord: later records of the same event don't change it.
struct EventRecord {
  TaskPtr task;
  std::chrono::steady_clock::time_point time;  // written by the task
  // Recorded in a capturing stream: what a wait for it depends on.
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> capture_tail;
};

struct Event {
  unsigned int flags = cudaEventDefault;
  std::shared_ptr<EventRecord> last;  // null: never recorded
};

// What is left of a call's error handling, see Call() in api.h.
struct ThreadState {
  cudaError_t last_error = cudaSuccess;
  struct CallConfiguration {
    dim3 grid;
    dim3 block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
  };
  std::vector<CallConfiguration> configurations;  // pushed by <<<>>>, popped by the stub
  bool in_launch_syntax = false;                  // popped, and not yet launched
  std::shared_ptr<Stream> stream;                 // cudaStreamPerThread
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
};

class Runtime {
 public:
  enum class Completion {
    kEager,     // wait for it for a while (see above)
    kComplete,  // wait for it, print what kernels printed
    // As kEager, and checkers take it as waited for: everybody counts on cudaMemset so, although
    // CUDA does not promise it.
    kAsIfDone,
  };

  // Never destroyed: programs unregister their fat binaries from exit handlers, and other threads
  // may still be in a call then.
  static Runtime& Get();
  static ThreadState& Thread();

  // Sets up the GPU at the first call. cudaErrorNoDevice, cudaErrorInitializationError (in a child
  // that was forked after this) or cudaErrorMemoryAllocation if that fails.
  cudaError_t Initialise();
  bool initialised() const { return gpu_ != nullptr; }

  // After Initialise.
  const GpuModel& model() const { return *model_; }
  vgpu::VirtualGpu& gpu() { return *gpu_; }
  vgpu::DeviceMemory& memory() { return gpu_->memory(); }

  Registry& registry() { return registry_; }

  // -- checked runs (checking.h); null otherwise.
  Checking* checking() { return checking_.get(); }
  bool forked() const { return forked_; }
  void NoteError(const char* call, cudaError_t error);

  // -- faults: errors of a kernel that has run; they stay for ever.
  // What calls return once the fault is known to the program, else cudaSuccess.
  cudaError_t known_fault() const;
  // Something ran, or can't run, and nothing will from now on. The first one counts.
  void Fail(cudaError_t code, const std::string& message);
  // Makes it known: calls that synchronise do this.
  cudaError_t RevealFault();

  // -- streams. Handles of the program are checked; null if one is not valid.
  std::shared_ptr<Stream> FindStream(cudaStream_t handle);
  cudaStream_t CreateStream(unsigned int flags, int priority);
  // Whether the stream of this number was made with cudaStreamNonBlocking, also if it is gone.
  bool IsApart(uint64_t stream_id);
  bool DestroyStream(cudaStream_t handle);
  bool IsStreamDone(const std::shared_ptr<Stream>& stream);
  // False: a capturing stream can't be waited for.
  cudaError_t Synchronise(const std::shared_ptr<Stream>& stream);
  cudaError_t SynchroniseDevice();

  // Runs `work` in the stream, or puts it into the graph that the stream is captured into.
  // `task`, if given, gets what was started (null when captured).
  cudaError_t Submit(const std::shared_ptr<Stream>& stream, Work work, Completion completion,
                     TaskPtr* task = nullptr);

  void WaitForTask(const TaskPtr& task) {
    executor_.Wait(task);
    NoteWait({task});
  }

  // -- events
  cudaEvent_t CreateEvent(unsigned int flags);
  bool DestroyEvent(cudaEvent_t handle);
  std::shared_ptr<Event> FindEvent(cudaEvent_t handle);
  cudaError_t RecordEvent(const std::shared_ptr<Event>& event,
                          const std::shared_ptr<Stream>& stream);
  cudaError_t WaitEvent(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event);
  std::shared_ptr<EventRecord> LastRecord(const std::shared_ptr<Event>& event) {
    const std::lock_guard lock(mutex_);
    return event->last;
  }
  bool IsRecordDone(const std::shared_ptr<EventRecord>& record);
  void WaitForRecord(const std::shared_ptr<EventRecord>& record);

  // Runs the work on this thread, now. Called by tasks; a fault is kept for RevealFault.
  void Execute(const Work& work);

  // Where this process may access [pointer, pointer + size) of host or device; null if it is device
  // memory that is not allocated.
  std::byte* Access(const void* pointer, size_t size);

  // -- memory of the program. 0 when there is not enough.
  uint64_t Allocate(size_t size, vgpu::AllocationKind kind, const char* call,
                    unsigned int flags = 0);
  // cudaErrorInvalidValue unless the pointer is the start of a live allocation.
  cudaError_t Free(void* pointer);
  // Flags that the allocation was made with; nothing if it is none of ours.
  std::optional<unsigned int> FlagsOf(uint64_t address);
  // Memory of allocation nodes: the program's own frees don't touch it, the graph's end does.
  uint64_t AllocateGraphMemory(size_t size);
  void FreeGraphMemory(void* pointer);
  void NoteRegistered(uint64_t address, unsigned int flags);

  // From now on work goes to `recorder` (recorder.h) instead of the GPU. Before the first call
  // only.
  void SetRecorder(Recorder* recorder) { recorder_ = recorder; }
  Recorder* recorder() { return recorder_; }
  // The environment is read when this is first asked for: programs may change it in main().
  const Settings& settings();
  // In place of the environment; before anybody asks.
  void SetSettings(const Settings& settings);
  // Options of the GPU's memory; they may be set before the first call only.
  void SetMemoryOptions(const vgpu::DeviceMemory::Options& options) { memory_options_ = options; }

  // Guards streams, events, captures and graphs. Never held while work runs.
  std::recursive_mutex& mutex() { return mutex_; }
  // Streams that are being captured, for the calls that are not allowed then.
  std::set<std::shared_ptr<Capture>>& captures() { return captures_; }

  void FlushPrints();
  void SetDeviceFlags(unsigned int flags) { device_flags_ = flags; }
  unsigned int device_flags() const { return device_flags_; }
  std::optional<size_t> GetLimit(cudaLimit limit);
  cudaError_t SetLimit(cudaLimit limit, size_t value);
  // cudaDeviceReset: streams, events and memory of the program go; its device code is loaded anew
  // at the next use. Nothing may be running.
  void Reset();

 private:
  Runtime();
  ~Runtime();
  cudaError_t SetUp();
  // The operations of tasks, for checkers.
  void NoteWait(const std::vector<TaskPtr>& tasks);
  void NoteFree(uint64_t address);
  TaskPtr MakeCheckedTask(Work work, const std::vector<TaskPtr>& before);
  // The operation and the place of the task that this thread executes, if any.
  static uint64_t current_operation();
  checkers::Place current_place();
  void ExecuteStep(const GraphProgram& program, size_t index);
  void RunGraph(const GraphProgram& program);
  void RunBodies(const Condition& condition,
                 const std::vector<std::shared_ptr<const GraphProgram>>& bodies);
  bool broken() const;  // by a fault
  void RunKernel(const KernelWork& work);
  void RunCopy(const CopyWork& work);
  void RunFill(const FillWork& work);
  void RunHost(const HostWork& work);
  void FailInKernel(const vgpu::Fault& fault);
  std::vector<TaskPtr> TasksBefore(const Stream& stream);
  void Prune();

  Registry registry_;
  Executor executor_;
  Recorder* recorder_ = nullptr;
  std::optional<vgpu::DeviceMemory::Options> memory_options_;

  std::once_flag settings_once_;
  Settings settings_;
  Status settings_problems_;  // values that make no sense

  std::mutex setup_mutex_;
  std::atomic<bool> ready_{false};
  cudaError_t setup_error_ = cudaSuccess;
  bool setup_tried_ = false;
  std::atomic<bool> forked_{false};
  const GpuModel* model_ = nullptr;
  std::unique_ptr<vgpu::DeviceRuntimeHost> runtime_host_;
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  std::unique_ptr<Checking> checking_;
  std::unique_ptr<Profiling> profiling_;  // profiled runs; null otherwise

  std::recursive_mutex mutex_;
  std::shared_ptr<Stream> legacy_stream_;
  std::map<const void*, std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<Stream>> per_thread_streams_;
  std::set<uint64_t> apart_streams_;  // numbers, also of streams that are gone
  std::vector<TaskPtr> orphans_;      // last tasks of destroyed streams that still run
  std::map<const void*, std::shared_ptr<Event>> events_;
  std::set<std::shared_ptr<Capture>> captures_;
  uint64_t next_stream_id_ = 1;
  unsigned int device_flags_ = 0;
  std::map<int, size_t> limits_;
  // Flags of the program's allocations by their start; modules' own are not among them.
  std::map<uint64_t, unsigned int> allocations_;

  std::mutex print_mutex_;
  std::string printed_;

  mutable std::mutex fault_mutex_;
  cudaError_t fault_ = cudaSuccess;
  std::string fault_message_;
  std::atomic<int> known_fault_{cudaSuccess};
};

}  // namespace kernelsmith::cudart
