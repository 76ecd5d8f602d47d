#include "tensor/tensor.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace kernelsmith {

int64_t CountOrThrow(const Shape& shape) {
  const std::optional<int64_t> count = ElementCount(shape);
  // 2^36 elements of a double are 512 GB: no graph that can be evaluated has them.
  if (!count || *count > (int64_t{1} << 36)) throw OperatorError("a tensor too large to evaluate");
  return *count;
}

int64_t NormalizeDim(int64_t dim, int64_t rank) {
  // A scalar counts as one dimension.
  const int64_t limit = std::max<int64_t>(rank, 1);
  if (dim < -limit || dim >= limit) throw OperatorError("a dimension out of range");
  return dim < 0 ? dim + limit : dim;
}

std::vector<int64_t> NormalizeDims(const std::vector<int64_t>& dims, int64_t rank) {
  std::vector<int64_t> result;
  for (const int64_t dim : dims) result.push_back(NormalizeDim(dim, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    throw OperatorError("a dimension named twice");
  }
  return result;
}

Shape BroadcastShapes(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) throw OperatorError("shapes that do not broadcast");
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

Shape RowMajorStrides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (n <= 0) return;
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t threads = std::min(cores, (n + grain - 1) / std::max<int64_t>(grain, 1));
  if (threads <= 1) {
    body(0, n);
    return;
  }
  const Algebra* algebra = Algebra::CurrentOrNull();
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto run = [&](int64_t index) {
    const AlgebraScope scope(algebra);
    try {
      body(n * index / threads, n * (index + 1) / threads);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::jthread> workers;
  for (int64_t i = 1; i < threads; ++i) workers.emplace_back(run, i);
  run(0);
  workers.clear();
  if (failure) std::rethrow_exception(failure);
}

template <typename T>
Tensor<T> FromHost(const HostTensor& host) {
  Tensor<T> result(host.dtype, host.shape);
  for (int64_t i = 0; i < result.count(); ++i) result[i] = Number<T>(host.at(i));
  return result;
}

Tensor<Symbolic> SymbolicInputs(const HostTensor& host, uint64_t first_input) {
  if (!IsFloat(host.dtype)) return FromHost<Symbolic>(host);
  Tensor<Symbolic> result(host.dtype, host.shape);
  for (int64_t i = 0; i < result.count(); ++i) {
    result[i] = SymbolicInput(host.at(i), first_input + static_cast<uint64_t>(i));
  }
  return result;
}

Tensor<Symbolic> SymbolicConstants(const HostTensor& host) {
  if (!IsFloat(host.dtype)) return FromHost<Symbolic>(host);
  Tensor<Symbolic> result(host.dtype, host.shape);
  const Precision precision = PrecisionOf(host.dtype);
  for (int64_t i = 0; i < result.count(); ++i) result[i] = SymbolicConstant(host.at(i), precision);
  return result;
}

template <typename T>
HostTensor ToHost(const Tensor<T>& tensor, DType dtype) {
  HostTensor host = MakeHostTensor(dtype, tensor.shape);
  for (int64_t i = 0; i < tensor.count(); ++i) host.set(i, Float(tensor[i]));
  return host;
}

#define KS_INSTANTIATE(T)                            \
  template Tensor<T> FromHost<T>(const HostTensor&); \
  template HostTensor ToHost<T>(const Tensor<T>&, DType);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
