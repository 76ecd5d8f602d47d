#include "device/plan_checks.h"

#include <algorithm>

namespace kernelsmith {

namespace {

// Calls visit(byte offset, bytes) for every contiguous run of the tensor's elements.
template <typename Visit>
void ForEachRun(const PlanTensor& tensor, const Visit& visit) {
  const auto size = static_cast<uint64_t>(SizeOf(tensor.dtype));
  // Dimensions from the innermost on that lie together make one run.
  uint64_t run = 1;
  size_t outer = tensor.shape.size();
  while (outer > 0 && (tensor.shape[outer - 1] == 1 ||
                       static_cast<uint64_t>(tensor.strides[outer - 1]) == run)) {
    run *= static_cast<uint64_t>(tensor.shape[outer - 1]);
    --outer;
  }
  uint64_t runs = 1;
  for (size_t d = 0; d < outer; ++d) runs *= static_cast<uint64_t>(tensor.shape[d]);
  if (run == 0 || runs == 0) return;
  for (uint64_t i = 0; i < runs; ++i) {
    uint64_t rest = i;
    uint64_t offset = 0;
    for (size_t d = outer; d-- > 0;) {
      const auto extent = static_cast<uint64_t>(tensor.shape[d]);
      offset += rest % extent * static_cast<uint64_t>(tensor.strides[d]);
      rest /= extent;
    }
    visit(offset * size, run * size);
  }
}

bool MayOverlap(const std::vector<PlanStep>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const PlanStep& step) {
    const auto* launch = std::get_if<LaunchStep>(&step.action);
    return step.stream != 0 || (launch != nullptr && launch->programmatic);
  });
}

}  // namespace

bool StepsMayOverlap(const Plan& plan) {
  return MayOverlap(plan.preparation) || MayOverlap(plan.steps);
}

PlanChecks::PlanChecks(const Plan& plan, checkers::CheckerList& list, vgpu::VirtualGpu& gpu,
                       Options options)
    : plan_(plan),
      list_(list),
      gpu_(gpu),
      options_(std::move(options)),
      overlaps_(StepsMayOverlap(plan)) {}

void PlanChecks::OnBuffers(const std::vector<uint64_t>& addresses,
                           const vgpu::DeviceMemory& memory) {
  addresses_ = addresses;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (plan_.buffers[i].kind == PlanBuffer::Kind::kVariable) continue;
    if (const auto allocation = memory.Find(addresses[i])) list_.OnAllocate(*allocation, {});
  }
}

void PlanChecks::OnInputs(const std::vector<const CallArgument*>&) {
  if (overlaps_) SubmitCaller();
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    if (buffer.kind != PlanBuffer::Kind::kInput) continue;
    if (buffer.bytes > 0) list_.OnDefined(addresses_[i], buffer.bytes);
    if (overlaps_ && buffer.bytes > 0) {
      list_.OnFill({.operation = operation(),
                    .to = addresses_[i],
                    .to_device = true,
                    .width = buffer.bytes,
                    .what = "write of the caller"});
    }
    const bool may_write =
        buffer.argument < options_.may_write.size() && options_.may_write[buffer.argument];
    if (!may_write) gpu_.memory().SetReadOnly(addresses_[i], true);
  }
}

// Each stream is in order. The default stream (0) waits for all others and they for it, unless they
// are apart.
std::vector<uint64_t> PlanChecks::After(const PlanStep& step) const {
  std::vector<uint64_t> after;
  for (const auto& [stream, last] : last_) {
    const bool ordered =
        stream == step.stream || (stream == 0 && !step.apart) || (step.stream == 0 && !last.apart);
    if (ordered) after.insert(after.end(), last.operations.begin(), last.operations.end());
  }
  return after;
}

void PlanChecks::Submit(const PlanStep& step) {
  const auto* launch = std::get_if<LaunchStep>(&step.action);
  std::vector<uint64_t> after = After(step);
  Last& last = last_[step.stream];
  std::vector<uint64_t> beside;
  if (launch != nullptr && launch->programmatic && last.kernel) {
    // It may run beside the kernel before it, but behind what that one waits for.
    beside = last.operations;
    std::erase_if(after, [&](uint64_t operation) {
      return std::find(beside.begin(), beside.end(), operation) != beside.end();
    });
    after.insert(after.end(), last.after.begin(), last.after.end());
  }
  list_.OnSubmit(++operation_, after);
  if (!beside.empty()) list_.OnMayBeginEarly(operation_, beside);
  beside.push_back(operation_);
  last = {std::move(beside), std::move(after), step.apart, launch != nullptr};
}

void PlanChecks::SubmitCaller() { Submit(PlanStep{.action = HostReadStep{}}); }

void PlanChecks::Wait(const PlanStep& step, const EventStep& event) {
  switch (event.kind) {
    case EventStep::Kind::kRecord: {
      events_[event.event] = last_[step.stream].operations;
      return;
    }
    case EventStep::Kind::kSynchronise: {
      std::vector<uint64_t> awaited;
      if (event.event != EventStep::kEverything) {
        awaited = events_[event.event];
      } else {
        for (const auto& [stream, last] : last_) {
          awaited.insert(awaited.end(), last.operations.begin(), last.operations.end());
        }
      }
      list_.OnHostWait(awaited);
      return;
    }
    case EventStep::Kind::kWait: {
      std::vector<uint64_t> after = After(step);
      const std::vector<uint64_t>& recorded = events_[event.event];
      after.insert(after.end(), recorded.begin(), recorded.end());
      list_.OnSubmit(++operation_, after);
      last_[step.stream] = {{operation_}, std::move(after), step.apart};
      return;
    }
  }
}

void PlanChecks::Order(const PlanStep& step) {
  if (!overlaps_) return;
  if (const auto* event = std::get_if<EventStep>(&step.action)) {
    Wait(step, *event);
  } else {
    Submit(step);
  }
}

void PlanChecks::BeforeStep(const PlanStep& step) {
  Order(step);
  const checkers::Place place = options_.place ? options_.place(step) : checkers::Place{};
  if (const auto* fill = std::get_if<FillStep>(&step.action)) {
    list_.OnFill({.operation = operation(),
                  .to = AddressOf(fill->to),
                  .to_device = true,
                  .width = fill->width * fill->element_bytes,
                  .height = fill->height,
                  .depth = fill->depth,
                  .to_pitch = fill->pitch,
                  .to_slice = fill->slice,
                  .place = place});
  } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
    list_.OnCopy({.operation = operation(),
                  .to = AddressOf(copy->to),
                  .from = AddressOf(copy->from),
                  .to_device = true,
                  .from_device = true,
                  .width = copy->width,
                  .height = copy->height,
                  .depth = copy->depth,
                  .to_pitch = copy->to_pitch,
                  .from_pitch = copy->from_pitch,
                  .to_slice = copy->to_slice,
                  .from_slice = copy->from_slice,
                  .place = place});
  } else if (const auto* upload = std::get_if<UploadStep>(&step.action)) {
    list_.OnFill({.operation = operation(),
                  .to = AddressOf(upload->to),
                  .to_device = true,
                  .width = upload->data.size(),
                  .place = place});
  } else if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
    std::vector<uint32_t> offsets;
    for (const PointerPatch& pointer : launch->pointers) offsets.push_back(pointer.at);
    list_.OnParameterPointers(offsets);
  } else if (const auto* library = std::get_if<LibraryStep>(&step.action); library && overlaps_) {
    const auto each_run = [&](const std::vector<PlanTensor>& tensors, const auto& visit) {
      for (const PlanTensor& tensor : tensors) {
        ForEachRun(tensor, [&](uint64_t offset, uint64_t bytes) {
          visit(AddressOf(tensor.at) + offset, bytes);
        });
      }
    };
    each_run(library->tensors, [&](uint64_t from, uint64_t bytes) {
      list_.OnCopy({.operation = operation_,
                    .from = from,
                    .from_device = true,
                    .width = bytes,
                    .place = place,
                    .what = "read of a library"});
    });
    each_run(library->outputs, [&](uint64_t to, uint64_t bytes) {
      list_.OnFill({.operation = operation_,
                    .to = to,
                    .to_device = true,
                    .width = bytes,
                    .place = place,
                    .what = "write of a library"});
    });
  } else if (const auto* read = std::get_if<HostReadStep>(&step.action)) {
    list_.OnCopy({.operation = operation(),
                  .from = AddressOf(read->from),
                  .from_device = true,
                  .width = read->bytes,
                  .place = place});
  }
}

void PlanChecks::AfterStep(const PlanStep& step) {
  if (const auto* upload = std::get_if<UploadStep>(&step.action)) {
    std::vector<uint64_t> places;
    for (const PointerPatch& pointer : upload->pointers) {
      places.push_back(AddressOf(upload->to) + pointer.at);
    }
    list_.OnPointersWritten(places);
  }
  const auto* library = std::get_if<LibraryStep>(&step.action);
  if (library == nullptr) return;
  for (const PlanTensor& output : library->outputs) {
    ForEachRun(output, [&](uint64_t offset, uint64_t bytes) {
      list_.OnDefined(AddressOf(output.at) + offset, bytes);
    });
  }
}

void PlanChecks::OnOutputs() {
  // Inputs that the task changes in place are results as well; others are as they were.
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    if (buffer.kind != PlanBuffer::Kind::kInput || buffer.bytes == 0) continue;
    list_.OnHostRead(addresses_[i], buffer.bytes, {});
  }
  for (const PlanTensor& output : plan_.outputs) {
    ForEachRun(output, [&](uint64_t offset, uint64_t bytes) {
      list_.OnHostRead(AddressOf(output.at) + offset, bytes, {});
    });
  }
  if (overlaps_) CallerGoesOn();
}

// The caller's next kernels read the results, and all other memory may be someone else's by then.
void PlanChecks::CallerGoesOn() {
  SubmitCaller();
  std::vector<bool> result(plan_.buffers.size());
  for (const PlanTensor& output : plan_.outputs) {
    result[output.at.buffer] = true;
    ForEachRun(output, [&](uint64_t offset, uint64_t bytes) {
      list_.OnCopy({.operation = operation_,
                    .from = AddressOf(output.at) + offset,
                    .from_device = true,
                    .width = bytes,
                    .what = "read of the caller"});
    });
  }
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    const bool given_back =
        buffer.kind == PlanBuffer::Kind::kInput || buffer.kind == PlanBuffer::Kind::kWorkspace;
    // What an earlier call has made stays the candidate's own.
    if (result[i] || !given_back || buffer.prepared || buffer.bytes == 0) continue;
    list_.OnFill({.operation = operation_,
                  .to = addresses_[i],
                  .to_device = true,
                  .width = buffer.bytes,
                  .what = "later use by the caller"});
  }
}

}  // namespace kernelsmith
