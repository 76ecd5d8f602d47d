#include "plan/plan.h"

#include <fmt/format.h>

#include <optional>

namespace kernelsmith {
namespace {

// a * b + c, or nothing if it does not fit.
std::optional<uint64_t> MulAdd(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t product = 0;
  uint64_t sum = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum)) {
    return std::nullopt;
  }
  return sum;
}

// Bytes from the first to behind the last of `depth` slices of `height` rows of `row` bytes.
std::optional<uint64_t> BoxExtent(uint64_t row, uint64_t height, uint64_t depth, uint64_t pitch,
                                  uint64_t slice) {
  if (row == 0 || height == 0 || depth == 0) return 0;
  const std::optional<uint64_t> rows = MulAdd(height - 1, pitch, row);
  if (!rows) return std::nullopt;
  return MulAdd(depth - 1, slice, *rows);
}

class Validator {
 public:
  Validator(const Plan& plan, const PlanLimits& limits) : plan_(plan), limits_(limits) {}

  Status Run() {
    if (plan_.buffers.size() > limits_.buffers) return InvalidInput("too many buffers");
    if (plan_.steps.size() > limits_.steps || plan_.preparation.size() > limits_.steps) {
      return InvalidInput("too many steps");
    }
    uint64_t total = 0;
    for (const PlanBuffer& buffer : plan_.buffers) {
      if (buffer.bytes > limits_.buffer_bytes ||
          __builtin_add_overflow(total, buffer.bytes, &total) || total > limits_.buffer_bytes) {
        return InvalidInput("the buffers are too large");
      }
      if (buffer.kind == PlanBuffer::Kind::kVariable && buffer.name.empty()) {
        return InvalidInput("a variable without a name");
      }
    }
    KS_RETURN_IF_ERROR(Steps(plan_.preparation, "preparation"));
    KS_RETURN_IF_ERROR(Steps(plan_.steps, "step"));
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      KS_RETURN_IF_ERROR(Check(plan_.outputs[i], fmt::format("output {}", i)));
    }
    if (uploaded_ > limits_.upload_bytes) return InvalidInput("too many bytes from the host");
    return {};
  }

 private:
  Status Range(const BufferRef& ref, std::optional<uint64_t> bytes, const std::string& what) {
    if (ref.buffer >= plan_.buffers.size()) {
      return InvalidInput(fmt::format("{}: there is no buffer {}", what, ref.buffer));
    }
    const uint64_t size = plan_.buffers[ref.buffer].bytes;
    if (!bytes || ref.offset > size || *bytes > size - ref.offset) {
      return InvalidInput(fmt::format("{}: outside of buffer {} ({} bytes, offset {})", what,
                                      ref.buffer, size, ref.offset));
    }
    return {};
  }

  Status Check(const PlanTensor& tensor, const std::string& what) {
    if (tensor.shape.size() != tensor.strides.size()) {
      return InvalidInput(fmt::format("{}: sizes and strides differ in number", what));
    }
    return Range(tensor.at, ExtentBytes(tensor), what);
  }

  Status Patches(const std::vector<PointerPatch>& pointers, size_t bytes, const std::string& what) {
    for (const PointerPatch& pointer : pointers) {
      if (bytes < 8 || pointer.at > bytes - 8) {
        return InvalidInput(fmt::format("{}: a pointer outside of its bytes", what));
      }
      KS_RETURN_IF_ERROR(Range(pointer.target, 0, what));
    }
    return {};
  }

  Status Check(const LaunchStep& launch, const std::string& what) {
    if (launch.kernel.empty()) return InvalidInput(what + ": a launch without a kernel");
    // CUDA's own limit of parameters.
    if (launch.parameters.size() > 32764) return InvalidInput(what + ": too many parameters");
    return Patches(launch.pointers, launch.parameters.size(), what);
  }
  Status Check(const FillStep& fill, const std::string& what) {
    if (fill.element_bytes != 1 && fill.element_bytes != 2 && fill.element_bytes != 4 &&
        fill.element_bytes != 8) {
      return InvalidInput(what + ": a fill with elements of unknown size");
    }
    const std::optional<uint64_t> row = MulAdd(fill.width, fill.element_bytes, 0);
    if (!row) return InvalidInput(what + ": too wide");
    return Range(fill.to, BoxExtent(*row, fill.height, fill.depth, fill.pitch, fill.slice), what);
  }
  Status Check(const CopyStep& copy, const std::string& what) {
    KS_RETURN_IF_ERROR(
        Range(copy.to, BoxExtent(copy.width, copy.height, copy.depth, copy.to_pitch, copy.to_slice),
              what));
    return Range(copy.from,
                 BoxExtent(copy.width, copy.height, copy.depth, copy.from_pitch, copy.from_slice),
                 what);
  }
  Status Check(const UploadStep& upload, const std::string& what) {
    uploaded_ += upload.data.size();
    KS_RETURN_IF_ERROR(Range(upload.to, upload.data.size(), what));
    return Patches(upload.pointers, upload.data.size(), what);
  }
  Status Check(const HostReadStep& read, const std::string& what) {
    return Range(read.from, read.bytes, what);
  }
  Status Check(const LibraryStep& library, const std::string& what) {
    if (library.op.empty()) return InvalidInput(what + ": a library call without a name");
    for (const PlanTensor& tensor : library.tensors) KS_RETURN_IF_ERROR(Check(tensor, what));
    for (const PlanTensor& tensor : library.outputs) KS_RETURN_IF_ERROR(Check(tensor, what));
    return {};
  }
  Status Check(const EventStep&, const std::string&) { return {}; }

  Status Steps(const std::vector<PlanStep>& steps, const char* name) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const std::string what = fmt::format("{} {}", name, i);
      KS_RETURN_IF_ERROR(
          std::visit([&](const auto& action) { return Check(action, what); }, steps[i].action));
    }
    return {};
  }

  const Plan& plan_;
  const PlanLimits& limits_;
  uint64_t uploaded_ = 0;
};

}  // namespace

const char* Name(EventStep::Kind kind) {
  switch (kind) {
    case EventStep::Kind::kRecord:
      return "record";
    case EventStep::Kind::kWait:
      return "wait";
    case EventStep::Kind::kSynchronise:
      return "synchronise";
  }
  KS_UNREACHABLE();
}

std::optional<EventStep::Kind> EventKindOf(std::string_view name) {
  for (const auto kind :
       {EventStep::Kind::kRecord, EventStep::Kind::kWait, EventStep::Kind::kSynchronise}) {
    if (name == Name(kind)) return kind;
  }
  return std::nullopt;
}

std::optional<uint64_t> ExtentBytes(const PlanTensor& tensor) {
  uint64_t last = 0;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] < 0 || tensor.strides[i] < 0) return std::nullopt;
  }
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 0) return 0;
  }
  uint64_t count = 1;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const auto size = static_cast<uint64_t>(tensor.shape[i]);
    // Expanded tensors have more elements than bytes; a device gathers them all.
    if (__builtin_mul_overflow(count, size, &count) || count > (uint64_t{1} << 40)) {
      return std::nullopt;
    }
    const std::optional<uint64_t> next =
        MulAdd(size - 1, static_cast<uint64_t>(tensor.strides[i]), last);
    if (!next) return std::nullopt;
    last = *next;
  }
  return MulAdd(last, static_cast<uint64_t>(SizeOf(tensor.dtype)),
                static_cast<uint64_t>(SizeOf(tensor.dtype)));
}

Status Validate(const Plan& plan, const PlanLimits& limits) {
  return Validator(plan, limits).Run();
}

}  // namespace kernelsmith
