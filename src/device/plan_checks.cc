#include "device/plan_checks.h"

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

}  // namespace

PlanChecks::PlanChecks(const Plan& plan, checkers::CheckerList& list, vgpu::VirtualGpu& gpu,
                       Options options)
    : plan_(plan), list_(list), gpu_(gpu), options_(std::move(options)) {}

void PlanChecks::OnBuffers(const std::vector<uint64_t>& addresses,
                           const vgpu::DeviceMemory& memory) {
  addresses_ = addresses;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (plan_.buffers[i].kind == PlanBuffer::Kind::kVariable) continue;
    if (const auto allocation = memory.Find(addresses[i])) list_.OnAllocate(*allocation, {});
  }
}

void PlanChecks::OnInputs(const std::vector<const CallArgument*>&) {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    if (buffer.kind != PlanBuffer::Kind::kInput) continue;
    if (buffer.bytes > 0) list_.OnDefined(addresses_[i], buffer.bytes);
    const bool may_write =
        buffer.argument < options_.may_write.size() && options_.may_write[buffer.argument];
    if (!may_write) gpu_.memory().SetReadOnly(addresses_[i], true);
  }
}

// Streams as the tracer recorded them: each in order, the default stream (0) in order with all.
void PlanChecks::Order(const PlanStep& step) {
  if (const auto* event = std::get_if<EventStep>(&step.action)) {
    if (event->kind == EventStep::Kind::kRecord) {
      events_[event->event] = last_[step.stream];
      return;
    }
    const uint64_t recorded = events_[event->event];
    if (event->kind == EventStep::Kind::kSynchronise) {
      if (recorded != 0) list_.OnHostWait(std::vector<uint64_t>{recorded});
      return;
    }
    std::vector<uint64_t> after;
    if (recorded != 0) after.push_back(recorded);
    if (last_[step.stream] != 0) after.push_back(last_[step.stream]);
    list_.OnSubmit(++operation_, after);
    last_[step.stream] = operation_;
    return;
  }
  std::vector<uint64_t> after;
  for (const auto& [stream, operation] : last_) {
    if (operation != 0 && (stream == step.stream || stream == 0 || step.stream == 0)) {
      after.push_back(operation);
    }
  }
  list_.OnSubmit(++operation_, after);
  last_[step.stream] = operation_;
}

void PlanChecks::BeforeStep(const PlanStep& step) {
  Order(step);
  const checkers::Place place = options_.place ? options_.place(step) : checkers::Place{};
  if (const auto* fill = std::get_if<FillStep>(&step.action)) {
    list_.OnFill({.operation = operation_,
                  .to = AddressOf(fill->to),
                  .to_device = true,
                  .width = fill->width * fill->element_bytes,
                  .height = fill->height,
                  .depth = fill->depth,
                  .to_pitch = fill->pitch,
                  .to_slice = fill->slice,
                  .place = place});
  } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
    list_.OnCopy({.operation = operation_,
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
    list_.OnFill({.operation = operation_,
                  .to = AddressOf(upload->to),
                  .to_device = true,
                  .width = upload->data.size(),
                  .place = place});
  } else if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
    std::vector<uint32_t> offsets;
    for (const PointerPatch& pointer : launch->pointers) offsets.push_back(pointer.at);
    list_.OnParameterPointers(offsets);
  } else if (const auto* read = std::get_if<HostReadStep>(&step.action)) {
    list_.OnCopy({.operation = operation_,
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
}

}  // namespace kernelsmith
