// Operators with sliding windows over 1 to 3 spatial dimensions: convolutions and pools.
#pragma once

#include <optional>
#include <utility>

#include "tensor/tensor.h"

namespace kernelsmith {

struct ConvolutionOptions {
  std::vector<int64_t> stride, padding, dilation,
      output_padding;  // one entry, or one a spatial dimension
  bool transposed = false;
  int64_t groups = 1;
};

// x [batch, channels, spatial...], weight as PyTorch has it; bias may be undefined.
template <typename T>
Tensor<T> Convolution(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& bias,
                      const ConvolutionOptions& options);

template <typename T>
struct ConvolutionGradients {
  Tensor<T> input, weight, bias;  // undefined where not wanted
};
template <typename T>
ConvolutionGradients<T> ConvolutionBackward(const Tensor<T>& gradient, const Tensor<T>& x,
                                            const Tensor<T>& weight,
                                            const ConvolutionOptions& options, bool want_input,
                                            bool want_weight, bool want_bias);

struct PoolOptions {
  std::vector<int64_t> kernel, stride, padding, dilation;  // one entry, or one a spatial dimension
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor;
};

// Values and the flat spatial position of each maximum. `spatial` is 1, 2 or 3; all dimensions
// before are planes.
template <typename T>
std::pair<Tensor<T>, Tensor<T>> MaxPool(const Tensor<T>& x, int spatial,
                                        const PoolOptions& options);
template <typename T>
std::pair<Tensor<T>, Tensor<T>> AdaptiveMaxPool(const Tensor<T>& x,
                                                const std::vector<int64_t>& sizes);
// Adds each gradient to the position that `indices` names.
template <typename T>
Tensor<T> MaxPoolBackward(const Tensor<T>& gradient, const Shape& input_shape, int spatial,
                          const Tensor<T>& indices);
template <typename T>
Tensor<T> AvgPool(const Tensor<T>& x, int spatial, const PoolOptions& options);
template <typename T>
Tensor<T> AvgPoolBackward(const Tensor<T>& gradient, const Shape& input_shape, int spatial,
                          const PoolOptions& options);
template <typename T>
Tensor<T> AdaptiveAvgPool(const Tensor<T>& x, const std::vector<int64_t>& sizes);
template <typename T>
Tensor<T> AdaptiveAvgPoolBackward(const Tensor<T>& gradient, const Shape& input_shape, int spatial);

}  // namespace kernelsmith
