// Normalisations and resampling.
#pragma once

#include <array>
#include <optional>

#include "tensor/tensor.h"

namespace kernelsmith {

template <typename T>
struct Normalized {
  Tensor<T> out, mean, rstd;
};

// x as [rows, n]: each row minus its mean, over its deviation. out has x's shape, mean and rstd
// have `rows` elements.
template <typename T>
Normalized<T> NormalizeRows(const Tensor<T>& x, int64_t rows, int64_t n, const T& eps);

// Over the trailing dimensions `normalized`; weight and bias may be undefined.
template <typename T>
Normalized<T> LayerNorm(const Tensor<T>& x, const Shape& normalized, const Tensor<T>& weight,
                        const Tensor<T>& bias, const T& eps);
template <typename T>
Normalized<T> GroupNorm(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& bias,
                        int64_t groups, const T& eps);

template <typename T>
struct BatchNormed {
  Tensor<T> out, mean, rstd;
  Tensor<T> running_mean, running_var;  // new values in training, where given
};
// x [batch, channels, ...]. In training the batch's statistics, otherwise the running ones.
template <typename T>
BatchNormed<T> BatchNorm(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& bias,
                         const Tensor<T>& running_mean, const Tensor<T>& running_var, bool training,
                         double momentum, const T& eps);

enum class Resampling { kNearest, kNearestExact, kLinear, kCubic };
struct ResampleOptions {
  Resampling kind = Resampling::kNearest;
  bool align_corners = false;
  std::vector<std::optional<double>>
      scales;  // one a spatial dimension, as the user gave them; may be empty
};
// The trailing dimensions become `sizes`.
template <typename T>
Tensor<T> Resample(const Tensor<T>& x, const std::vector<int64_t>& sizes,
                   const ResampleOptions& options);
template <typename T>
Tensor<T> ResampleBackward(const Tensor<T>& gradient, const Shape& input_shape, int spatial,
                           const ResampleOptions& options);

}  // namespace kernelsmith
