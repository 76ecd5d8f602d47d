#include "cudart/runtime.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "cudart/checking.h"
#include "cudart/device_runtime.h"
#include "cudart/graph.h"
#include "cudart/messages.h"
#include "cudart/profiling.h"
#include "cudart/recorder.h"

namespace kernelsmith::cudart {
namespace {

// Stands in place of allocation flags, none of which is as high.
constexpr unsigned int kGraphMemoryFlag = 1U << 31;

// CUDA_VISIBLE_DEVICES hides devices from the first entry on that is not a device's number.
bool DeviceIsHidden(const RuntimeSettings& settings) {
  if (!settings.visible_devices) return false;
  const std::string_view visible = *settings.visible_devices;
  const std::string_view first = visible.substr(0, visible.find(','));
  return first != "0" && !first.starts_with("GPU-") && !first.starts_with("MIG-");
}

}  // namespace

Runtime::Runtime() = default;
Runtime::~Runtime() = default;

Runtime& Runtime::Get() {
  static Runtime* const runtime = new Runtime;
  return *runtime;
}

ThreadState& Runtime::Thread() {
  thread_local ThreadState state;
  return state;
}

cudaError_t Runtime::Initialise() {
  if (ready_.load(std::memory_order_acquire)) {
    // Threads and locks don't survive a fork; CUDA does not support this either.
    return forked_ ? cudaErrorInitializationError : cudaSuccess;
  }
  const std::lock_guard lock(setup_mutex_);
  if (!setup_tried_) {
    setup_tried_ = true;
    setup_error_ = SetUp();
    if (setup_error_ == cudaSuccess) ready_.store(true, std::memory_order_release);
  }
  return setup_error_;
}

const Settings& Runtime::settings() {
  std::call_once(settings_once_,
                 [this] { settings_ = SettingsFromEnvironment(settings_problems_); });
  return settings_;
}

void Runtime::SetSettings(const Settings& settings) {
  std::call_once(settings_once_, [&] { settings_ = settings; });
}

cudaError_t Runtime::SetUp() {
  const RuntimeSettings& own = settings().runtime;
  if (!settings_problems_.ok()) {
    for (const Diagnostic& each : settings_problems_.error().diagnostics()) Say(each.message);
  }
  if (DeviceIsHidden(own)) return cudaErrorNoDevice;
  model_ = &DefaultGpuModel();
  if (!own.gpu.empty()) {
    const Result<const GpuModel*> found = FindGpuModel(own.gpu);
    if (!found.ok()) {
      Say("KERNELSMITH_GPU: " + found.error().message());
      return cudaErrorNoDevice;
    }
    model_ = *found;
  }
  vgpu::VirtualGpu::Options options{.settings = settings().engine};
  options.memory.capacity = static_cast<uint64_t>(model_->global_memory_bytes);
  if (memory_options_) options.memory = *memory_options_;
  if (recorder_ == nullptr) checking_ = Checking::FromSettings(own);
  if (checking_ != nullptr) Checking::SetMemoryOptions(options.memory);
  options.multiprocessors = static_cast<uint32_t>(model_->sm_count);
  options.model = model_;
  options.max_shared_bytes = static_cast<uint32_t>(model_->shared_per_block_optin);
  options.clock_hz = uint64_t{1000} * static_cast<uint64_t>(model_->sm_clock_khz);
  if (own.watchdog) options.watchdog = *own.watchdog;
  runtime_host_ = MakeDeviceRuntimeHost(*this);
  options.runtime_host = runtime_host_.get();
  options.print = [this](std::string_view text) {
    const std::lock_guard lock(print_mutex_);
    printed_ += text;
  };
  Result<std::unique_ptr<vgpu::VirtualGpu>> gpu = vgpu::VirtualGpu::Create(std::move(options));
  if (!gpu.ok()) {
    Say(gpu.error().Format());
    return cudaErrorMemoryAllocation;
  }
  gpu_ = *std::move(gpu);
  if (checking_ != nullptr) checking_->Start(*gpu_);
  if (recorder_ == nullptr) profiling_ = Profiling::FromSettings(own, *model_, *gpu_);
  limits_[cudaLimitStackSize] = 1024;  // CUDA's default; the engine's own stacks are larger
  limits_[cudaLimitPrintfFifoSize] = size_t{1} << 20;
  limits_[cudaLimitMallocHeapSize] = gpu_->options().heap_bytes;
  limits_[cudaLimitDevRuntimePendingLaunchCount] = 2048;
  limits_[cudaLimitMaxL2FetchGranularity] = 64;
  limits_[cudaLimitPersistingL2CacheSize] = 0;
  legacy_stream_ = std::make_shared<Stream>();
  legacy_stream_->legacy = true;
  legacy_stream_->id = next_stream_id_++;
  ::pthread_atfork(nullptr, nullptr, [] { Get().forked_ = true; });
  return cudaSuccess;
}

// -- faults ---------------------------------------------------------------------------------------

cudaError_t Runtime::known_fault() const { return static_cast<cudaError_t>(known_fault_.load()); }

void Runtime::NoteError(const char* call, cudaError_t error) {
  // Once a kernel has gone wrong every call says so: one report is enough, of the kernel.
  if (checking_ == nullptr || known_fault() != cudaSuccess) return;
  const bool launch = std::string_view(call) == "Launch";
  checking_->OnError(call, error, launch && std::exchange(Thread().in_launch_syntax, false));
}

void Runtime::NoteWait(const std::vector<TaskPtr>& tasks) {
  if (checking_ == nullptr) return;
  std::vector<uint64_t> operations;
  for (const TaskPtr& task : tasks) {
    if (task != nullptr && task->operation != 0) operations.push_back(task->operation);
  }
  checking_->list().OnHostWait(operations);
}

cudaError_t Runtime::RevealFault() {
  const std::lock_guard lock(fault_mutex_);
  if (fault_ != cudaSuccess && known_fault_ == cudaSuccess) {
    if (fault_ == cudaErrorAssert) {
      SayAsCuda(fault_message_);
    } else {
      Say(fault_message_);
    }
    known_fault_ = fault_;
  }
  return known_fault();
}

void Runtime::Fail(cudaError_t code, const std::string& message) {
  const std::lock_guard lock(fault_mutex_);
  if (fault_ != cudaSuccess) return;
  fault_ = code;
  fault_message_ = message;
}

// -- streams --------------------------------------------------------------------------------------

std::shared_ptr<Stream> Runtime::FindStream(cudaStream_t handle) {
  const std::lock_guard lock(mutex_);
  if (handle == nullptr || handle == cudaStreamLegacy) return legacy_stream_;
  if (handle == cudaStreamPerThread) {
    ThreadState& thread = Thread();
    if (thread.stream == nullptr) {
      thread.stream = std::make_shared<Stream>();
      thread.stream->id = next_stream_id_++;
      per_thread_streams_.push_back(thread.stream);
    }
    return thread.stream;
  }
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second;
}

cudaStream_t Runtime::CreateStream(unsigned int flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->flags = flags;
  stream->priority = priority;
  const std::lock_guard lock(mutex_);
  stream->id = next_stream_id_++;
  if ((flags & cudaStreamNonBlocking) != 0) apart_streams_.insert(stream->id);
  auto* handle = reinterpret_cast<cudaStream_t>(stream.get());
  streams_.emplace(handle, std::move(stream));
  return handle;
}

bool Runtime::IsApart(uint64_t stream_id) {
  const std::lock_guard lock(mutex_);
  return apart_streams_.contains(stream_id);
}

bool Runtime::DestroyStream(cudaStream_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return false;
  // What is in it still runs, and the default stream still waits for it.
  if (found->second->blocking() && !executor_.IsDone(found->second->tail)) {
    orphans_.push_back(found->second->tail);
  }
  streams_.erase(found);
  return true;
}

void Runtime::Prune() {
  std::erase_if(orphans_, [this](const TaskPtr& task) { return executor_.IsDone(task); });
  std::erase_if(per_thread_streams_, [this](const std::shared_ptr<Stream>& stream) {
    return stream.use_count() == 1 && executor_.IsDone(stream->tail);
  });
}

std::vector<TaskPtr> Runtime::TasksBefore(const Stream& stream) {
  std::vector<TaskPtr> tasks{stream.tail};
  if (stream.legacy) {
    Prune();
    for (const auto& [handle, other] : streams_) {
      if (other->blocking()) tasks.push_back(other->tail);
    }
    for (const auto& other : per_thread_streams_) tasks.push_back(other->tail);
    tasks.insert(tasks.end(), orphans_.begin(), orphans_.end());
  } else if (stream.blocking()) {
    tasks.push_back(legacy_stream_->tail);
  }
  return tasks;
}

namespace {

// What the thread executes for a checked program.
thread_local uint64_t t_operation = 0;
thread_local const checkers::Place* t_place = nullptr;
thread_local const GraphOperations* t_graph = nullptr;  // the graph that this thread executes

std::vector<uint64_t> OperationsOf(const std::vector<TaskPtr>& tasks) {
  std::vector<uint64_t> operations;
  for (const TaskPtr& task : tasks) {
    if (task != nullptr && task->operation != 0) operations.push_back(task->operation);
  }
  return operations;
}

}  // namespace

TaskPtr Runtime::MakeCheckedTask(Work work, const std::vector<TaskPtr>& before) {
  const bool kernel = std::holds_alternative<KernelWork>(work);
  auto place = std::make_shared<const checkers::Place>(kernel ? checking_->LaunchPlace()
                                                              : checking_->CallPlace());
  if (kernel) Thread().in_launch_syntax = false;
  auto steps = std::make_shared<GraphOperations>();
  uint64_t operation = 0;
  if (const auto* graph = std::get_if<GraphWork>(&work)) {
    *steps = checking_->NewOperations(*graph->program, OperationsOf(before));
    operation = steps->end;
  } else {
    operation = checking_->NewOperation(OperationsOf(before));
  }
  auto task = std::make_shared<Task>([this, operation, steps = std::move(steps),
                                      place = std::move(place), work = std::move(work)] {
    const uint64_t outer = std::exchange(t_operation, operation);
    const GraphOperations* outer_graph = std::exchange(t_graph, steps.get());
    const checkers::Place* outer_place = std::exchange(t_place, place.get());
    Execute(work);
    t_operation = outer;
    t_graph = outer_graph;
    t_place = outer_place;
  });
  task->operation = operation;
  return task;
}

uint64_t Runtime::current_operation() { return t_operation; }

void Runtime::ExecuteStep(const GraphProgram& program, size_t index) {
  const GraphProgram::Step& step = program.steps[index];
  const auto run = [&] {
    if (step.child != nullptr) return RunGraph(*step.child);
    if (!step.bodies.empty()) return RunBodies(step.condition, step.bodies);
    Execute(step.work);
  };
  if (checking_ == nullptr || t_graph == nullptr) return run();
  const GraphOperations* outer_graph = t_graph;
  const uint64_t outer = std::exchange(t_operation, outer_graph->steps[index]);
  // What is in the bodies of a conditional node belongs to its operation, one after the other: how
  // often they run is not known when operations are ordered.
  t_graph = outer_graph->children[index].get();
  run();
  t_graph = outer_graph;
  t_operation = outer;
}

checkers::Place Runtime::current_place() {
  return t_place != nullptr ? *t_place : checking_->CallPlace();
}

void Runtime::NoteFree(uint64_t address) {
  if (checking_ == nullptr) return;
  if (const auto allocation = memory().Find(address)) {
    checking_->list().OnFree(*allocation, t_operation, current_place());
  }
}

cudaError_t Runtime::Submit(const std::shared_ptr<Stream>& stream, Work work, Completion completion,
                            TaskPtr* started) {
  const bool quick = IsQuick(work);
  TaskPtr task;
  std::vector<TaskPtr> before;
  {
    const std::lock_guard lock(mutex_);
    if (stream->capture != nullptr) {
      if (stream->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
      if (completion == Completion::kComplete) {
        stream->capture->invalidated = true;
        return cudaErrorStreamCaptureUnsupported;
      }
      const cudaGraphNodeType type = NodeTypeOf(work);
      stream->capture->Add(*stream, type, std::move(work));
      return cudaSuccess;
    }
    if (stream->legacy) {
      // The default stream would have to wait for a stream that only records.
      for (const std::shared_ptr<Capture>& capture : captures_) {
        const std::shared_ptr<Stream> origin = capture->origin.lock();
        if (origin == nullptr || !origin->blocking()) continue;
        capture->invalidated = true;
        return cudaErrorStreamCaptureImplicit;
      }
    }
    if (recorder_ != nullptr) {
      const cudaError_t error = recorder_->OnWork(work, stream->id);
      if (error == cudaSuccess && completion == Completion::kComplete) {
        recorder_->OnSynchronise({.stream = stream->id});
      }
      return error;
    }
    before = TasksBefore(*stream);
    if (checking_ == nullptr) {
      task = std::make_shared<Task>([this, work = std::move(work)] { Execute(work); });
    } else {
      task = MakeCheckedTask(std::move(work), before);
    }
    stream->tail = task;
  }
  if (started != nullptr) *started = task;
  executor_.Submit(task, before,
                   quick ? Executor::Where::kCallerIfReady : Executor::Where::kAnyThread);
  if (completion != Completion::kComplete) {
    executor_.WaitFor(task, settings().runtime.patience);
    if (completion == Completion::kAsIfDone) NoteWait({task});
    return cudaSuccess;
  }
  executor_.Wait(task);
  NoteWait({task});
  FlushPrints();
  return RevealFault();
}

bool Runtime::IsStreamDone(const std::shared_ptr<Stream>& stream) {
  if (recorder_ != nullptr) recorder_->OnQuery();
  const std::lock_guard lock(mutex_);
  for (const TaskPtr& task : TasksBefore(*stream)) {
    if (!executor_.IsDone(task)) return false;
  }
  NoteWait(TasksBefore(*stream));
  return true;
}

cudaError_t Runtime::Synchronise(const std::shared_ptr<Stream>& stream) {
  if (recorder_ != nullptr) recorder_->OnSynchronise({.stream = stream->id});
  std::vector<TaskPtr> before;
  {
    const std::lock_guard lock(mutex_);
    if (stream->capture != nullptr) {
      stream->capture->invalidated = true;
      return cudaErrorStreamCaptureUnsupported;
    }
    before = stream->legacy ? TasksBefore(*stream) : std::vector<TaskPtr>{stream->tail};
  }
  for (const TaskPtr& task : before) executor_.Wait(task);
  NoteWait(before);
  FlushPrints();
  return RevealFault();
}

cudaError_t Runtime::SynchroniseDevice() {
  if (recorder_ != nullptr) recorder_->OnSynchronise({});
  std::vector<TaskPtr> tasks;
  {
    const std::lock_guard lock(mutex_);
    if (!captures_.empty()) {
      for (const std::shared_ptr<Capture>& capture : captures_) capture->invalidated = true;
      return cudaErrorStreamCaptureUnsupported;
    }
    Prune();
    tasks = orphans_;
    tasks.push_back(legacy_stream_->tail);
    for (const auto& [handle, stream] : streams_) tasks.push_back(stream->tail);
    for (const auto& stream : per_thread_streams_) tasks.push_back(stream->tail);
  }
  for (const TaskPtr& task : tasks) executor_.Wait(task);
  NoteWait(tasks);
  FlushPrints();
  return RevealFault();
}

// -- events ---------------------------------------------------------------------------------------

cudaEvent_t Runtime::CreateEvent(unsigned int flags) {
  auto event = std::make_shared<Event>();
  event->flags = flags;
  auto* handle = reinterpret_cast<cudaEvent_t>(event.get());
  const std::lock_guard lock(mutex_);
  events_.emplace(handle, std::move(event));
  return handle;
}

bool Runtime::DestroyEvent(cudaEvent_t handle) {
  const std::lock_guard lock(mutex_);
  return events_.erase(handle) > 0;
}

std::shared_ptr<Event> Runtime::FindEvent(cudaEvent_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second;
}

cudaError_t Runtime::RecordEvent(const std::shared_ptr<Event>& event,
                                 const std::shared_ptr<Stream>& stream) {
  auto record = std::make_shared<EventRecord>();
  {
    const std::lock_guard lock(mutex_);
    if (stream->capture != nullptr) {
      if (stream->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
      record->capture = stream->capture;
      record->capture_tail = stream->capture_tail;
      event->last = std::move(record);
      return cudaSuccess;
    }
  }
  TaskPtr task;
  const cudaError_t error = Submit(stream, RecordWork{.record = record}, Completion::kEager, &task);
  if (error != cudaSuccess) return error;
  const std::lock_guard lock(mutex_);
  record->task = std::move(task);
  event->last = std::move(record);
  return cudaSuccess;
}

cudaError_t Runtime::WaitEvent(const std::shared_ptr<Stream>& stream,
                               const std::shared_ptr<Event>& event) {
  TaskPtr task;
  std::vector<TaskPtr> before;
  {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<EventRecord>& record = event->last;
    if (record != nullptr && record->capture != nullptr) {
      // The stream joins the capture that the event belongs to.
      if (!captures_.contains(record->capture)) return cudaErrorInvalidValue;
      if (stream->legacy) return cudaErrorStreamCaptureImplicit;
      if (stream->capture != nullptr && stream->capture != record->capture) {
        stream->capture->invalidated = true;
        record->capture->invalidated = true;
        return cudaErrorStreamCaptureMerge;
      }
      if (stream->capture == nullptr) {
        stream->capture = record->capture;
        stream->capture->members.push_back(stream);
      }
      for (GraphNode* node : record->capture_tail) {
        if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(), node) ==
            stream->capture_tail.end()) {
          stream->capture_tail.push_back(node);
        }
      }
      return cudaSuccess;
    }
    if (stream->capture != nullptr) {
      // The graph can't wait for what is outside of it.
      if (record == nullptr) return cudaSuccess;
      stream->capture->invalidated = true;
      return cudaErrorStreamCaptureIsolation;
    }
    if (record == nullptr) return cudaSuccess;
    if (recorder_ != nullptr) {
      return recorder_->OnWork(WaitWork{.event = reinterpret_cast<cudaEvent_t>(event.get())},
                               stream->id);
    }
    before = TasksBefore(*stream);
    before.push_back(record->task);
    task = std::make_shared<Task>([] {});
    if (checking_ != nullptr) task->operation = checking_->NewOperation(OperationsOf(before));
    stream->tail = task;
  }
  executor_.Submit(task, before, Executor::Where::kCallerIfReady);
  return cudaSuccess;
}

bool Runtime::IsRecordDone(const std::shared_ptr<EventRecord>& record) {
  if (recorder_ != nullptr) recorder_->OnQuery();
  if (record == nullptr) return true;
  if (!executor_.IsDone(record->task)) return false;
  NoteWait({record->task});
  return true;
}

void Runtime::WaitForRecord(const std::shared_ptr<EventRecord>& record) {
  if (recorder_ != nullptr && record != nullptr) recorder_->OnSynchronise({.record = record.get()});
  if (record != nullptr) {
    executor_.Wait(record->task);
    NoteWait({record->task});
  }
  FlushPrints();
}

// -- limits and reset -----------------------------------------------------------------------------

std::optional<size_t> Runtime::GetLimit(cudaLimit limit) {
  const std::lock_guard lock(mutex_);
  const auto found = limits_.find(limit);
  if (found == limits_.end()) return std::nullopt;
  return found->second;
}

cudaError_t Runtime::SetLimit(cudaLimit limit, size_t value) {
  const std::lock_guard lock(mutex_);
  const auto found = limits_.find(limit);
  if (found == limits_.end()) return cudaErrorUnsupportedLimit;
  switch (limit) {
    case cudaLimitPersistingL2CacheSize:
      value = std::min(value, static_cast<size_t>(model_->persisting_l2_bytes));
      break;
    case cudaLimitMaxL2FetchGranularity:
      value = std::min<size_t>(value, 128);
      break;
    case cudaLimitStackSize:
      // The engine's stacks are larger than CUDA's; a program that asks for more gets more.
      if (value > gpu_->options().stack_bytes) {
        gpu_->options().stack_bytes = static_cast<uint32_t>(std::min<size_t>(value, 512 << 10));
      }
      break;
    case cudaLimitMallocHeapSize:
      value = std::max(value, found->second);  // the heap never shrinks
      gpu_->options().heap_bytes = value;
      break;
    default:
      break;
  }
  found->second = value;
  return cudaSuccess;
}

void Runtime::Reset() {
  const std::lock_guard lock(mutex_);
  streams_.clear();
  events_.clear();
  orphans_.clear();
  captures_.clear();
  legacy_stream_->tail = nullptr;
  for (const auto& [address, flags] : allocations_) {
    const std::optional<vgpu::Allocation> found = memory().Find(address);
    if (!found) continue;
    if (found->kind == vgpu::AllocationKind::kHostRegistered) {
      (void)memory().UnregisterHostRange(reinterpret_cast<void*>(address));
    } else {
      (void)memory().Free(address);
    }
  }
  allocations_.clear();
  registry_.UnloadAll();
}

// -- memory ---------------------------------------------------------------------------------------

uint64_t Runtime::Allocate(size_t size, vgpu::AllocationKind kind, const char* call,
                           unsigned int flags) {
  const Result<uint64_t> address = memory().Allocate(size, kind, call);
  if (!address.ok()) return 0;
  const std::lock_guard lock(mutex_);
  allocations_[*address] = flags;
  if (checking_ != nullptr) {
    checking_->list().OnAllocate(*memory().Find(*address), checking_->CallPlace());
  }
  return *address;
}

cudaError_t Runtime::Free(void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) {
      if (checking_ != nullptr) checking_->list().OnBadFree(address, checking_->CallPlace());
      if (recorder_ != nullptr) recorder_->OnBadFree(address);
      return cudaErrorInvalidValue;
    }
    if (found->second == kGraphMemoryFlag) return cudaSuccess;
    allocations_.erase(found);
  }
  if (recorder_ != nullptr) {
    recorder_->OnSynchronise({});  // as cudaFree does
    return recorder_->OnFree(address);
  }
  NoteFree(address);
  return memory().Free(address).ok() ? cudaSuccess : cudaErrorInvalidValue;
}

uint64_t Runtime::AllocateGraphMemory(size_t size) {
  return Allocate(size, vgpu::AllocationKind::kDevice, "graph allocation", kGraphMemoryFlag);
}

void Runtime::FreeGraphMemory(void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  {
    const std::lock_guard lock(mutex_);
    if (allocations_.erase(address) == 0) return;  // went with cudaDeviceReset
  }
  NoteFree(address);
  (void)memory().Free(address);
}

std::optional<unsigned int> Runtime::FlagsOf(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return std::nullopt;
  return found->second;
}

void Runtime::NoteRegistered(uint64_t address, unsigned int flags) {
  const std::lock_guard lock(mutex_);
  allocations_[address] = flags;
}

// -- output ---------------------------------------------------------------------------------------

void Runtime::FlushPrints() {
  std::string text;
  {
    const std::lock_guard lock(print_mutex_);
    text.swap(printed_);
  }
  // Through the program's own stdout, so that it keeps its place between what the host prints.
  if (!text.empty()) std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace kernelsmith::cudart
