#include "tensor/host_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "support/check.h"

namespace kernelsmith {

std::optional<int64_t> ElementCount(const Shape& shape) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (count > std::numeric_limits<int64_t>::max() / 64 / size) {
      // Leaves room for the size of an element.
      return std::nullopt;
    } else {
      count *= size;
    }
  }
  return empty ? 0 : count;
}

std::string FormatShape(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

HostTensor MakeHostTensor(DType dtype, Shape shape) {
  const std::optional<int64_t> count = ElementCount(shape);
  KS_CHECK(count.has_value());
  HostTensor tensor{.dtype = dtype, .shape = std::move(shape)};
  tensor.bytes.resize(static_cast<size_t>(*count * SizeOf(dtype)));
  return tensor;
}

HostTensor MakeHostTensor(DType dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor = MakeHostTensor(dtype, std::move(shape));
  KS_CHECK(tensor.count() == static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

std::vector<int64_t> PatternOfZeros(const HostTensor& tensor) {
  std::vector<int64_t> zeros;
  if (!IsFloat(tensor.dtype) || tensor.shape.size() < 2) return zeros;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (tensor.at(i) == 0) zeros.push_back(i);
  }
  constexpr int64_t kFewest = 8;  // one in so many
  const auto count = static_cast<int64_t>(zeros.size());
  if (count * kFewest < tensor.count() || count == tensor.count()) zeros.clear();
  return zeros;
}

}  // namespace kernelsmith
