#include "plan/argument.h"

#include <cstring>

#include "tensor/tensor.h"

namespace kernelsmith {
namespace {

void Flatten(const std::vector<CallArgument>& arguments, std::vector<const CallArgument*>* out) {
  for (const CallArgument& argument : arguments) {
    if (argument.kind == CallArgument::Kind::kTensor) out->push_back(&argument);
    if (argument.kind == CallArgument::Kind::kList) Flatten(argument.items, out);
  }
}

// The offset in elements of each element, row-major.
std::vector<int64_t> Offsets(const Shape& shape, const Shape& strides) {
  std::vector<int64_t> offsets{0};
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<int64_t> finer;
    finer.reserve(offsets.size() * static_cast<size_t>(shape[d]));
    for (const int64_t base : offsets) {
      for (int64_t i = 0; i < shape[d]; ++i) finer.push_back(base + i * strides[d]);
    }
    offsets = std::move(finer);
  }
  return offsets;
}

// The tensor is its storage, byte for byte.
bool IsWhole(const CallArgument& argument) {
  return argument.offset == 0 &&
         (argument.strides.empty() || argument.strides == RowMajorStrides(argument.tensor.shape));
}

}  // namespace

std::vector<const CallArgument*> FlattenTensors(const std::vector<CallArgument>& arguments) {
  std::vector<const CallArgument*> tensors;
  Flatten(arguments, &tensors);
  return tensors;
}

bool IsBlank(const CallArgument& argument) {
  return argument.kind == CallArgument::Kind::kTensor && argument.tensor.bytes.empty() &&
         ElementCount(argument.tensor.shape).value_or(0) > 0;
}

std::span<const std::byte> StorageOf(const CallArgument& argument,
                                     std::vector<std::byte>& storage) {
  const HostTensor& tensor = argument.tensor;
  if (IsWhole(argument)) return tensor.bytes;
  storage = StorageBytes(argument);
  return storage;
}

std::vector<std::byte> StorageBytes(const CallArgument& argument) {
  const HostTensor& tensor = argument.tensor;
  if (IsWhole(argument)) return tensor.bytes;
  std::vector<int64_t> offsets = Offsets(
      tensor.shape, argument.strides.empty() ? RowMajorStrides(tensor.shape) : argument.strides);
  int64_t extent = 0;
  for (int64_t& offset : offsets) {
    offset += argument.offset;
    extent = std::max(extent, offset + 1);
  }
  const int64_t bytes = SizeOf(tensor.dtype);
  std::vector<std::byte> storage(static_cast<size_t>(extent * bytes));
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::memcpy(storage.data() + offsets[i] * bytes,
                tensor.bytes.data() + static_cast<int64_t>(i) * bytes, static_cast<size_t>(bytes));
  }
  return storage;
}

std::vector<std::byte> GatherElements(const std::byte* storage, const Shape& shape,
                                      const Shape& strides, int64_t element_bytes) {
  const int64_t count = ElementCount(shape).value_or(0);
  const auto bytes = static_cast<size_t>(count * element_bytes);
  if (strides == RowMajorStrides(shape)) {
    return count > 0 ? std::vector<std::byte>(storage, storage + bytes) : std::vector<std::byte>();
  }
  std::vector<std::byte> dense(bytes);
  const std::vector<int64_t> offsets = Offsets(shape, strides);
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::memcpy(dense.data() + static_cast<int64_t>(i) * element_bytes,
                storage + offsets[i] * element_bytes, static_cast<size_t>(element_bytes));
  }
  return dense;
}

}  // namespace kernelsmith
