// A tensor as it lies in a file or on a device: bytes, row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace kernelsmith {

using Shape = std::vector<int64_t>;

// The number of elements; nothing if a size is negative or the product does not fit.
std::optional<int64_t> ElementCount(const Shape& shape);
std::string FormatShape(const Shape& shape);  // "[2, 3]"

struct HostTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<std::byte> bytes;

  int64_t count() const { return static_cast<int64_t>(bytes.size()) / SizeOf(dtype); }
  double at(int64_t i) const { return LoadElement(dtype, bytes.data() + i * SizeOf(dtype)); }
  void set(int64_t i, double value) {
    StoreElement(dtype, value, bytes.data() + i * SizeOf(dtype));
  }
};

// Zeros. The shape must have an element count that fits in memory.
HostTensor MakeHostTensor(DType dtype, Shape shape);
HostTensor MakeHostTensor(DType dtype, Shape shape, const std::vector<double>& values);

// Where a matrix is exactly zero, if that is no accident: triangular, banded and sparse ones have a
// pattern that kernels may rely on. Empty: there is none.
std::vector<int64_t> PatternOfZeros(const HostTensor& tensor);

using TensorMap = std::map<std::string, HostTensor>;

}  // namespace kernelsmith
