// How each kind of work runs.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "cudart/checking.h"
#include "cudart/graph.h"
#include "cudart/messages.h"
#include "cudart/profiling.h"
#include "cudart/runtime.h"

namespace kernelsmith::cudart {
namespace {

// Each row at a time, slices outermost. `row` gets the offsets in both.
template <typename Row>
void ForEachRow(size_t height, size_t depth, const Row& row) {
  for (size_t z = 0; z < depth; ++z) {
    for (size_t y = 0; y < height; ++y) row(y, z);
  }
}

// Conditions with a default have it again at each launch.
void BeginConditions(const GraphProgram& program) {
  for (const GraphProgram::Step& step : program.steps) {
    if (step.child != nullptr) BeginConditions(*step.child);
    if (step.bodies.empty()) continue;
    Conditions::Get().Begin(step.condition.handle);
    for (const auto& body : step.bodies) BeginConditions(*body);
  }
}

bool IsOfDevice(const vgpu::DeviceMemory& memory, const void* pointer) {
  return memory.InReservedRange(reinterpret_cast<uint64_t>(pointer));
}

}  // namespace

std::byte* Runtime::Access(const void* pointer, size_t size) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (memory().InReservedRange(address)) {
    return static_cast<std::byte*>(memory().HostAlias(address, size));
  }
  return static_cast<std::byte*>(const_cast<void*>(pointer));
}

bool Runtime::broken() const {
  const std::lock_guard lock(fault_mutex_);
  return fault_ != cudaSuccess;
}

void Runtime::Execute(const Work& work) {
  const bool broken = this->broken();
  if (const auto* host = std::get_if<HostWork>(&work)) {
    if (!broken || host->callback != nullptr) RunHost(*host);
    return;
  }
  if (const auto* record = std::get_if<RecordWork>(&work)) {
    std::shared_ptr<EventRecord> target = record->record;
    if (target == nullptr) {
      const std::shared_ptr<Event> event = FindEvent(record->event);
      if (event == nullptr) return;
      // From a graph: the event is done as soon as this step is.
      target = std::make_shared<EventRecord>();
      target->time = std::chrono::steady_clock::now();
      const std::lock_guard lock(mutex_);
      event->last = std::move(target);
      return;
    }
    target->time = std::chrono::steady_clock::now();
    return;
  }
  if (broken) return;  // nothing runs any more on a GPU whose kernel went wrong
  if (const auto* kernel = std::get_if<KernelWork>(&work)) return RunKernel(*kernel);
  if (const auto* copy = std::get_if<CopyWork>(&work)) return RunCopy(*copy);
  if (const auto* fill = std::get_if<FillWork>(&work)) return RunFill(*fill);
  if (const auto* release = std::get_if<FreeWork>(&work)) {
    if (Free(release->pointer) != cudaSuccess) {
      Fail(cudaErrorInvalidValue, "cudaFreeAsync of memory that is not allocated");
    }
    return;
  }
  if (const auto* wait = std::get_if<WaitWork>(&work)) {
    const std::shared_ptr<Event> event = FindEvent(wait->event);
    if (event != nullptr) WaitForRecord(event->last);
    return;
  }
  if (const auto* graph = std::get_if<GraphWork>(&work)) {
    BeginConditions(*graph->program);
    RunGraph(*graph->program);
  }
}

void Runtime::RunGraph(const GraphProgram& program) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].enabled) ExecuteStep(program, i);
  }
}

void Runtime::RunBodies(const Condition& condition,
                        const std::vector<std::shared_ptr<const GraphProgram>>& bodies) {
  const auto value = [&] { return Conditions::Get().ValueOf(condition.handle); };
  switch (condition.type) {
    case cudaGraphCondTypeIf:
      if (value() != 0) return RunGraph(*bodies[0]);
      if (bodies.size() > 1) RunGraph(*bodies[1]);
      return;
    case cudaGraphCondTypeWhile:
      while (value() != 0 && !broken()) RunGraph(*bodies[0]);
      return;
    case cudaGraphCondTypeSwitch:
      if (value() < bodies.size()) RunGraph(*bodies[value()]);
      return;
  }
}

void Runtime::RunKernel(const KernelWork& work) {
  vgpu::Observer* observer = nullptr;
  if (checking_ != nullptr) {
    observer = &checking_->list();
  } else if (profiling_ != nullptr) {
    observer = &profiling_->observer();
  }
  const vgpu::LaunchRequest request{.module = work.kernel->module->loaded(),
                                    .entry = work.kernel->name,
                                    .grid = work.grid,
                                    .block = work.block,
                                    .cluster = work.cluster,
                                    .dynamic_shared_bytes = work.dynamic_shared,
                                    .parameters = work.parameters,
                                    .cooperative = work.cooperative,
                                    .observer = observer,
                                    .operation = current_operation()};
  const Result<vgpu::LaunchResult> result =
      checking_ != nullptr ? checking_->Launch(gpu(), request) : gpu().Launch(request);
  if (!result.ok()) {
    Fail(result.error().kind() == ErrorKind::kUnsupported ? cudaErrorNotSupported
                                                          : cudaErrorLaunchFailure,
         result.error().Format());
    return;
  }
  if (result->fault) FailInKernel(*result->fault);
}

void Runtime::FailInKernel(const vgpu::Fault& fault) {
  Fail(ErrorOfFault(fault.kind), fault.message);
}

void Runtime::RunCopy(const CopyWork& work) {
  if (work.empty()) return;
  const auto turn = checking_ != nullptr ? checking_->UseMemory() : nullptr;
  std::byte* dst = Access(work.dst, work.dst_extent());
  const std::byte* src = Access(work.src, work.src_extent());
  if (dst == nullptr || src == nullptr) {
    // The arguments were right when the call was made.
    Fail(cudaErrorIllegalAddress, "a copy ran after its memory was freed");
    return;
  }
  if (checking_ != nullptr) {
    checking_->list().OnCopy({.operation = current_operation(),
                              .to = reinterpret_cast<uint64_t>(work.dst),
                              .from = reinterpret_cast<uint64_t>(work.src),
                              .to_device = IsOfDevice(memory(), work.dst),
                              .from_device = IsOfDevice(memory(), work.src),
                              .width = work.width,
                              .height = work.height,
                              .depth = work.depth,
                              .to_pitch = work.dst_pitch,
                              .from_pitch = work.src_pitch,
                              .to_slice = work.dst_slice,
                              .from_slice = work.src_slice,
                              .place = current_place()});
  }
  ForEachRow(work.height, work.depth, [&](size_t y, size_t z) {
    // Rows may overlap when a program copies within one buffer.
    std::memmove(dst + z * work.dst_slice + y * work.dst_pitch,
                 src + z * work.src_slice + y * work.src_pitch, work.width);
  });
}

void Runtime::RunFill(const FillWork& work) {
  if (work.empty()) return;
  const auto turn = checking_ != nullptr ? checking_->UseMemory() : nullptr;
  std::byte* dst = Access(work.dst, work.extent());
  if (dst == nullptr) {
    Fail(cudaErrorIllegalAddress, "a memset ran after its memory was freed");
    return;
  }
  if (checking_ != nullptr) {
    checking_->list().OnFill({.operation = current_operation(),
                              .to = reinterpret_cast<uint64_t>(work.dst),
                              .to_device = IsOfDevice(memory(), work.dst),
                              .width = work.row_bytes(),
                              .height = work.height,
                              .depth = work.depth,
                              .to_pitch = work.pitch,
                              .to_slice = work.slice,
                              .place = current_place()});
  }
  ForEachRow(work.height, work.depth, [&](size_t y, size_t z) {
    std::byte* row = dst + z * work.slice + y * work.pitch;
    if (work.element_bytes == 1) {
      std::memset(row, static_cast<int>(work.value & 0xff), work.width);
      return;
    }
    for (size_t x = 0; x < work.width; ++x) {
      std::memcpy(row + x * work.element_bytes, &work.value, work.element_bytes);
    }
  });
}

void Runtime::RunHost(const HostWork& work) {
  // What kernels printed before comes out before what the host function prints.
  FlushPrints();
  if (work.callback != nullptr) {
    cudaError_t status = cudaSuccess;
    {
      const std::lock_guard lock(fault_mutex_);
      status = fault_;
    }
    work.callback(work.stream, status, work.user_data);
  } else {
    work.function(work.user_data);
  }
}

}  // namespace kernelsmith::cudart
