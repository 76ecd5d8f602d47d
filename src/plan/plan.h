// A plan: what a candidate's host code does for one configuration, as data. The tracer makes it
// (trace.h), a device runs it (device/device.h), people read it (plan_text.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/diagnostic.h"
#include "support/result.h"
#include "tensor/host_tensor.h"
#include "vgpu/fault.h"

namespace kernelsmith {

using BufferIndex = uint32_t;

// A place in a buffer, in bytes. One past the end is allowed as the target of a pointer.
struct BufferRef {
  BufferIndex buffer = 0;
  uint64_t offset = 0;
  bool operator==(const BufferRef&) const = default;
};

struct PlanBuffer {
  enum class Kind {
    kInput,      // the storage of a tensor argument
    kWorkspace,  // allocated by the candidate; outputs are among these
    kPinned,     // the same, in memory that host code can access
    kManaged,
    kVariable,  // a __device__ or __constant__ variable of the module
  };
  Kind kind = Kind::kWorkspace;
  uint64_t bytes = 0;
  std::string name;       // the name of the variable, or of the argument
  uint32_t argument = 0;  // an input's number among the tensors of the arguments, flattened
  bool prepared = false;  // first seen during the preparation: its contents carry over to the plan
  bool operator==(const PlanBuffer&) const = default;
};

// Eight bytes at `at` are the address of `target`.
struct PointerPatch {
  uint32_t at = 0;
  BufferRef target;
  bool operator==(const PointerPatch&) const = default;
};

struct LaunchStep {
  std::string kernel;  // the name in the PTX
  vgpu::Dim3 grid;
  vgpu::Dim3 block;
  vgpu::Dim3 cluster;
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  // Programmatic dependent launch: it may begin before the kernel before it has ended, and sees
  // what that writes after griddepcontrol.wait alone.
  bool programmatic = false;
  std::vector<std::byte> parameters;
  std::vector<PointerPatch> pointers;
  bool operator==(const LaunchStep&) const = default;
};

// `width` elements of `element_bytes`, in `height` rows and `depth` slices.
struct FillStep {
  BufferRef to;
  uint64_t value = 0;
  uint32_t element_bytes = 1;  // 1, 2, 4 or 8
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  uint64_t pitch = 0;  // bytes from row to row
  uint64_t slice = 0;  // bytes from slice to slice
  bool operator==(const FillStep&) const = default;
};

// Rows of `width` bytes from device to device.
struct CopyStep {
  BufferRef to;
  BufferRef from;
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  uint64_t to_pitch = 0;
  uint64_t from_pitch = 0;
  uint64_t to_slice = 0;
  uint64_t from_slice = 0;
  bool operator==(const CopyStep&) const = default;
};

// Bytes that come from the host.
struct UploadStep {
  BufferRef to;
  std::vector<std::byte> data;
  std::vector<PointerPatch> pointers;
  bool operator==(const UploadStep&) const = default;
};

// The host looked at device memory. Replay does nothing; the report tells it.
struct HostReadStep {
  BufferRef from;
  uint64_t bytes = 0;
  bool operator==(const HostReadStep&) const = default;
};

// A tensor as the candidate sees it.
struct PlanTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  Shape strides;  // in elements, never negative
  BufferRef at;
  bool operator==(const PlanTensor&) const = default;
};

// An operator of a library: PyTorch's (op is its ATen name) or cuBLAS's. `arguments` is JSON as in
// docs/graph_format.md, with {"tensor": i} for tensors[i].
struct LibraryStep {
  std::string op;
  std::string arguments;
  std::vector<PlanTensor> tensors;
  std::vector<PlanTensor> outputs;
  bool operator==(const LibraryStep&) const = default;
};

// Order between streams: a stream waits for what another has done up to its record, or the host
// does (kSynchronise).
struct EventStep {
  enum class Kind { kRecord, kWait, kSynchronise };
  static constexpr uint32_t kEverything = UINT32_MAX;  // the host waits for all streams
  Kind kind = Kind::kRecord;
  uint32_t event = 0;
  bool operator==(const EventStep&) const = default;
};
// record, wait, synchronise.
const char* Name(EventStep::Kind kind);
std::optional<EventStep::Kind> EventKindOf(std::string_view name);

struct PlanStep {
  std::variant<LaunchStep, FillStep, CopyStep, UploadStep, HostReadStep, LibraryStep, EventStep>
      action;
  uint32_t stream = 0;  // 0 is the default stream
  bool apart = false;   // the stream neither waits for the default stream nor that for it
  uint64_t site = 0;    // return address in the host library, relative to its start; 0: not known
  bool operator==(const PlanStep&) const = default;
};

struct Plan {
  std::vector<PlanBuffer> buffers;
  std::vector<PlanStep> preparation;  // the first call; empty when nothing of it is used later
  std::vector<PlanStep> steps;        // the second call
  std::vector<PlanTensor> outputs;    // what it returned, flattened
  bool operator==(const Plan&) const = default;
};

// The number of bytes from the tensor's first to behind its last element; nothing if it overflows.
std::optional<uint64_t> ExtentBytes(const PlanTensor& tensor);

// Checks every field: indices, ranges, sizes, pointers. A plan that passes can't make a device
// touch anything but its buffers (kernels apart, which the virtual GPU checks itself). `limits` are
// those of the trace.
struct PlanLimits {
  uint64_t buffers = 100'000;
  uint64_t steps = 1'000'000;
  uint64_t buffer_bytes = uint64_t{64} << 30;  // all together
  uint64_t upload_bytes = uint64_t{1} << 30;   // all together
};
Status Validate(const Plan& plan, const PlanLimits& limits = {});

}  // namespace kernelsmith
