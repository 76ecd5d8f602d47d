// The tensor that reference operators work on: row-major, of one scalar type T (float, double,
// Bounded or Symbolic) whatever its dtype. Integers and booleans are held in T as well, so that a
// decision carries its near tie along; exact up to 2^53 (2^24 in float).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "field/functions.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {

// What operators throw on arguments that do not fit together. Never leaves src/graph, which turns
// it into a Result.
class OperatorError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void Require(bool condition, const char* message) {
  if (!condition) throw OperatorError(message);
}

int64_t CountOrThrow(const Shape& shape);

template <typename T>
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape)
      : dtype(dtype),
        shape(std::move(shape)),
        count_(CountOrThrow(this->shape)),
        data_(new T[static_cast<size_t>(count_)]()) {}
  Tensor(DType dtype, Shape shape, const T& fill) : Tensor(dtype, std::move(shape)) {
    for (int64_t i = 0; i < count_; ++i) data_[static_cast<size_t>(i)] = fill;
  }

  int64_t count() const { return count_; }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t size(int64_t dim) const { return shape[static_cast<size_t>(dim)]; }
  bool defined() const { return data_ != nullptr; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](int64_t i) { return data_[static_cast<size_t>(i)]; }
  const T& operator[](int64_t i) const { return data_[static_cast<size_t>(i)]; }

  // The same elements under another shape; shares the data.
  Tensor Reshaped(Shape new_shape) const {
    Require(CountOrThrow(new_shape) == count_, "a view with another number of elements");
    Tensor result = *this;
    result.shape = std::move(new_shape);
    return result;
  }
  Tensor WithDType(DType new_dtype) const {
    Tensor result = *this;
    result.dtype = new_dtype;
    return result;
  }

  DType dtype = DType::kFloat32;
  Shape shape;

 private:
  int64_t count_ = 0;
  std::shared_ptr<T[]> data_;
};

// Dimensions counted from the end when negative; throws when out of range.
int64_t NormalizeDim(int64_t dim, int64_t rank);
std::vector<int64_t> NormalizeDims(const std::vector<int64_t>& dims, int64_t rank);
Shape BroadcastShapes(const Shape& a, const Shape& b);
Shape RowMajorStrides(const Shape& shape);

// Calls body(begin, end) on slices of [0, n), on all cores where n is worth it. `grain` is about
// how many items make a thread worth its start. The current algebra is that of the caller in every
// slice.
void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

// Elements in row-major order, each as T: floats are inputs of the algebra from number
// `first_input` on, integers and booleans are constants.
template <typename T>
Tensor<T> FromHost(const HostTensor& host);
Tensor<Symbolic> SymbolicInputs(const HostTensor& host, uint64_t first_input);
// Elements as constants of the program (lifted tensors).
Tensor<Symbolic> SymbolicConstants(const HostTensor& host);
template <typename T>
HostTensor ToHost(const Tensor<T>& tensor, DType dtype);

// Explicit instantiation of a function template's file for all scalar types.
#define KS_FOR_EACH_SCALAR(X) X(float) X(double) X(Bounded) X(Symbolic)

}  // namespace kernelsmith
