// Element by element, with broadcasting.
#pragma once

#include <array>

#include "tensor/tensor.h"

namespace kernelsmith {

// The strides of `operand` seen as a tensor of `shape`: 0 along broadcast dimensions.
inline Shape BroadcastStrides(const Shape& operand, const Shape& shape) {
  const Shape own = RowMajorStrides(operand);
  Shape strides(shape.size(), 0);
  for (size_t i = 0; i < operand.size(); ++i) {
    const size_t at = shape.size() - operand.size() + i;
    if (operand[i] != 1) strides[at] = own[i];
  }
  return strides;
}

// result[i] = f(operands[0][i], operands[1][i], ...) in the broadcast shape. The dtype is that of
// the first.
template <typename T, size_t N, typename F>
Tensor<T> MapN(const std::array<const Tensor<T>*, N>& operands, const F& f) {
  Shape shape = operands[0]->shape;
  for (size_t n = 1; n < N; ++n) shape = BroadcastShapes(shape, operands[n]->shape);
  Tensor<T> result(operands[0]->dtype, shape);
  if (result.count() == 0) return result;
  std::array<Shape, N> strides;
  for (size_t n = 0; n < N; ++n) strides[n] = BroadcastStrides(operands[n]->shape, shape);
  const int64_t rank = result.rank();
  const int64_t inner = rank == 0 ? 1 : shape.back();
  ParallelFor(result.count() / inner, std::max<int64_t>(1, 16384 / inner),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  std::array<const T*, N> at;
                  std::array<int64_t, N> step;
                  for (size_t n = 0; n < N; ++n) {
                    int64_t rest = row, offset = 0;
                    for (int64_t d = rank - 2; d >= 0; --d) {
                      const auto dim = static_cast<size_t>(d);
                      offset += rest % shape[dim] * strides[n][dim];
                      rest /= shape[dim];
                    }
                    at[n] = operands[n]->data() + offset;
                    step[n] = rank == 0 ? 0 : strides[n].back();
                  }
                  T* out = result.data() + row * inner;
                  for (int64_t i = 0; i < inner; ++i) {
                    if constexpr (N == 1) {
                      out[i] = f(at[0][i * step[0]]);
                    } else if constexpr (N == 2) {
                      out[i] = f(at[0][i * step[0]], at[1][i * step[1]]);
                    } else {
                      out[i] = f(at[0][i * step[0]], at[1][i * step[1]], at[2][i * step[2]]);
                    }
                  }
                }
              });
  return result;
}

// std::function rather than a template parameter: an operator then costs one instantiation less for
// each scalar type, and its call is small beside the arithmetic of a symbolic value.
template <typename T>
Tensor<T> Map(const Tensor<T>& x, const std::function<T(const T&)>& f) {
  return MapN<T, 1>({&x}, f);
}
template <typename T>
Tensor<T> Map(const Tensor<T>& x, const Tensor<T>& y,
              const std::function<T(const T&, const T&)>& f) {
  return MapN<T, 2>({&x, &y}, f);
}
template <typename T>
Tensor<T> Map(const Tensor<T>& x, const Tensor<T>& y, const Tensor<T>& z,
              const std::function<T(const T&, const T&, const T&)>& f) {
  return MapN<T, 3>({&x, &y, &z}, f);
}

}  // namespace kernelsmith
