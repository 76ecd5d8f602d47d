// Convolutions, pools, normalisations, resampling.
#include <algorithm>
#include <cmath>

#include "graph/call.h"
#include "tensor/layout.h"
#include "tensor/map.h"
#include "tensor/norm.h"
#include "tensor/reduce.h"
#include "tensor/window.h"

namespace kernelsmith {
namespace {

template <typename T>
ConvolutionOptions ConvolutionArguments(const Call<T>& c, size_t first) {
  return {.stride = c.integers(first),
          .padding = c.integers(first + 1),
          .dilation = c.integers(first + 2),
          .output_padding = c.integers(first + 4),
          .transposed = c.flag(first + 3),
          .groups = c.integer(first + 5)};
}
template <typename T>
Tensors<T> Convolve(const Call<T>& c) {
  return {Convolution(c.tensor(0), c.tensor(1), c.optional_tensor(2), ConvolutionArguments(c, 3))};
}
template <typename T>
Tensors<T> ConvolveBackward(const Call<T>& c) {
  const std::vector<bool> mask = c.flags(10);
  Require(mask.size() == 3, "expected three flags");
  const ConvolutionGradients<T> g = ConvolutionBackward(
      c.tensor(0), c.tensor(1), c.tensor(2), ConvolutionArguments(c, 4), mask[0], mask[1], mask[2]);
  return {g.input, g.weight, g.bias};
}

template <typename T>
Tensors<T> MaxPoolNd(const Call<T>& c, int spatial) {
  auto [values, indices] = MaxPool(c.tensor(0), spatial,
                                   {.kernel = c.integers(1),
                                    .stride = c.integers(2),
                                    .padding = c.integers(3),
                                    .dilation = c.integers(4),
                                    .ceil_mode = c.flag(5)});
  return {values, indices};
}
template <typename T>
Tensors<T> MaxPool2d(const Call<T>& c) {
  return MaxPoolNd(c, 2);
}
template <typename T>
Tensors<T> MaxPool3d(const Call<T>& c) {
  return MaxPoolNd(c, 3);
}
template <typename T>
Tensors<T> MaxPool2dBackward(const Call<T>& c) {
  return {MaxPoolBackward(c.tensor(0), c.tensor(1).shape, 2, c.tensor(7))};
}
template <typename T>
Tensors<T> MaxPool3dBackward(const Call<T>& c) {
  return {MaxPoolBackward(c.tensor(0), c.tensor(1).shape, 3, c.tensor(7))};
}

// Arguments from `first` on: kernel, stride, padding, ceil_mode, count_include_pad,
// divisor_override.
template <typename T>
PoolOptions AverageArguments(const Call<T>& c, size_t first) {
  PoolOptions options{.kernel = c.integers(first),
                      .stride = c.integers(first + 1),
                      .padding = c.integers(first + 2),
                      .ceil_mode = c.flag(first + 3),
                      .count_include_pad = c.flag(first + 4)};
  if (first + 5 < c.argument_count()) options.divisor = c.optional_integer(first + 5);
  Require(!options.divisor || *options.divisor != 0, "a divisor of 0");
  return options;
}
template <typename T>
Tensors<T> AvgPool2d(const Call<T>& c) {
  return {AvgPool(c.tensor(0), 2, AverageArguments(c, 1))};
}
template <typename T>
Tensors<T> AvgPool3d(const Call<T>& c) {
  return {AvgPool(c.tensor(0), 3, AverageArguments(c, 1))};
}
template <typename T>
Tensors<T> AvgPool2dBackward(const Call<T>& c) {
  return {AvgPoolBackward(c.tensor(0), c.tensor(1).shape, 2, AverageArguments(c, 2))};
}
template <typename T>
Tensors<T> AvgPool3dBackward(const Call<T>& c) {
  return {AvgPoolBackward(c.tensor(0), c.tensor(1).shape, 3, AverageArguments(c, 2))};
}
template <typename T>
Tensors<T> AdaptiveAvgPoolNd(const Call<T>& c) {
  return {AdaptiveAvgPool(c.tensor(0), c.integers(1))};
}
template <typename T>
Tensors<T> AdaptiveAvgPool2dBackward(const Call<T>& c) {
  return {AdaptiveAvgPoolBackward(c.tensor(0), c.tensor(1).shape, 2)};
}
template <typename T>
Tensors<T> AdaptiveAvgPool3dBackward(const Call<T>& c) {
  return {AdaptiveAvgPoolBackward(c.tensor(0), c.tensor(1).shape, 3)};
}
template <typename T>
Tensors<T> AdaptiveMaxPoolNd(const Call<T>& c) {
  auto [values, indices] = AdaptiveMaxPool(c.tensor(0), c.integers(1));
  return {values, indices};
}
template <typename T>
Tensors<T> AdaptiveMaxPool2dBackward(const Call<T>& c) {
  return {MaxPoolBackward(c.tensor(0), c.tensor(1).shape, 2, c.tensor(2))};
}
template <typename T>
Tensors<T> AdaptiveMaxPool3dBackward(const Call<T>& c) {
  return {MaxPoolBackward(c.tensor(0), c.tensor(1).shape, 3, c.tensor(2))};
}

template <typename T>
Tensor<T> Times(const Tensor<T>& x, const Tensor<T>& y) {
  return Map<T>(x, y, [](const T& a, const T& b) -> T { return a * b; });
}
template <typename T>
Tensor<T> Minus(const Tensor<T>& x, const Tensor<T>& y) {
  return Map<T>(x, y, [](const T& a, const T& b) -> T { return a - b; });
}

template <typename T>
Tensors<T> NativeLayerNorm(const Call<T>& c) {
  const Normalized<T> r = LayerNorm(c.tensor(0), c.integers(1), c.optional_tensor(2),
                                    c.optional_tensor(3), c.scalar(4));
  return {r.out, r.mean, r.rstd};
}

// x̂ = (x − mean)·rstd; the gradient of x is rstd·(h − mean(h) − x̂·mean(h·x̂)) with h = g·weight,
// means over `dims`.
template <typename T>
Tensor<T> NormalizedGradient(const Tensor<T>& h, const Tensor<T>& xhat, const Tensor<T>& rstd,
                             const Dims& dims) {
  const Tensor<T> mean = Mean(h, dims, true);
  const Tensor<T> slope = Mean(Times(h, xhat), dims, true);
  return Times(Minus(Minus(h, mean), Times(xhat, slope)), rstd);
}

template <typename T>
Tensors<T> NativeLayerNormBackward(const Call<T>& c) {
  const Tensor<T> g = c.tensor(0), x = c.tensor(1), mean = c.tensor(3), rstd = c.tensor(4);
  const Tensor<T> weight = c.optional_tensor(5);
  const auto inner = static_cast<int64_t>(c.integers(2).size());
  Require(inner <= x.rank(), "a normalised shape that does not fit");
  Dims normalized, leading;
  for (int64_t d = 0; d < x.rank(); ++d) (d < x.rank() - inner ? leading : normalized).push_back(d);
  const Tensor<T> xhat = Times(Minus(x, mean), rstd);
  const Tensor<T> h = weight.defined() ? Times(g, weight) : g;
  const auto summed = [&](const Tensor<T>& t) {
    return leading.empty() ? t : Sum(t, leading, false);
  };
  return {normalized.empty() ? g : NormalizedGradient(h, xhat, rstd, normalized),
          summed(Times(g, xhat)), summed(g)};
}

template <typename T>
Tensors<T> NativeGroupNorm(const Call<T>& c) {
  const Normalized<T> r =
      GroupNorm(c.tensor(0), c.optional_tensor(1), c.optional_tensor(2), c.integer(6), c.scalar(7));
  return {r.out, r.mean, r.rstd};
}

template <typename T>
Tensors<T> NativeGroupNormBackward(const Call<T>& c) {
  const Tensor<T> x = c.tensor(1), weight = c.optional_tensor(4);
  const int64_t batch = c.integer(5), channels = c.integer(6), plane = c.integer(7),
                groups = c.integer(8);
  Require(groups > 0 && channels % groups == 0, "groups that do not divide the channels");
  const Shape grouped{batch, groups, channels / groups, plane};
  const Tensor<T> gx = x.Reshaped(grouped), g = c.tensor(0).Reshaped(grouped);
  const Tensor<T> mean = c.tensor(2).Reshaped({batch, groups, 1, 1}),
                  rstd = c.tensor(3).Reshaped({batch, groups, 1, 1});
  const Tensor<T> xhat = Times(Minus(gx, mean), rstd);
  const Tensor<T> h =
      weight.defined() ? Times(g, weight.Reshaped({1, groups, channels / groups, 1})) : g;
  return {NormalizedGradient(h, xhat, rstd, {2, 3}).Reshaped(x.shape),
          Sum(Times(g, xhat), {0, 3}, false).Reshaped({channels}),
          Sum(g, {0, 3}, false).Reshaped({channels})};
}

// Results that the graph says are empty (statistics that were not computed) are.
template <typename T>
Tensors<T> BatchNormResults(const Call<T>& c, const BatchNormed<T>& r) {
  Tensors<T> results{r.out, r.mean, r.rstd, r.running_mean, r.running_var};
  for (size_t i = 1; i < std::min<size_t>(3, c.result_count()); ++i) {
    if (c.result(i).shape == Shape{0}) results[i] = Tensor<T>(DType::kFloat32, {0});
  }
  return results;
}
template <typename T>
Tensors<T> NativeBatchNorm(const Call<T>& c) {
  return BatchNormResults(
      c, BatchNorm(c.tensor(0), c.optional_tensor(1), c.optional_tensor(2), c.optional_tensor(3),
                   c.optional_tensor(4), c.flag(5), c.number(6), c.scalar(7)));
}
template <typename T>
Tensors<T> NativeBatchNormNoTraining(const Call<T>& c) {
  return BatchNormResults(
      c, BatchNorm(c.tensor(0), c.optional_tensor(1), c.optional_tensor(2), c.optional_tensor(3),
                   c.optional_tensor(4), false, c.number(5), c.scalar(6)));
}
template <typename T>
Tensors<T> NativeBatchNormNoStats(const Call<T>& c) {
  return BatchNormResults(
      c, BatchNorm(c.tensor(0), c.optional_tensor(1), c.optional_tensor(2), Tensor<T>(),
                   Tensor<T>(), c.flag(3), c.number(4), c.scalar(5)));
}

template <typename T>
Tensors<T> NativeBatchNormBackward(const Call<T>& c) {
  const Tensor<T> g = c.tensor(0), x = c.tensor(1), weight = c.optional_tensor(2);
  const bool training = c.flag(7);
  Require(x.rank() >= 2, "a batch norm of fewer than two dimensions");
  Shape channel_shape(x.shape.size(), 1);
  channel_shape[1] = x.size(1);
  Dims dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d != 1) dims.push_back(d);
  }
  const T eps = c.scalar(8);
  const Tensor<T> mean = (training ? c.tensor(5) : c.tensor(3)).Reshaped(channel_shape);
  const Tensor<T> rstd = (training ? c.tensor(6) : Map<T>(c.tensor(4), [&](const T& v) -> T {
                           return Rsqrt(v + eps);
                         })).Reshaped(channel_shape);
  const Tensor<T> xhat = Times(Minus(x, mean), rstd);
  const Tensor<T> h = weight.defined() ? Times(g, weight.Reshaped(channel_shape)) : g;
  return {training ? NormalizedGradient(h, xhat, rstd, dims) : Times(h, rstd),
          Sum(Times(g, xhat), dims, false), Sum(g, dims, false)};
}

// w = g·v/|v|, the norm over all dimensions but `dim`.
template <typename T>
Dims AllBut(const Tensor<T>& v, int64_t dim) {
  const int64_t kept = NormalizeDim(dim, v.rank());
  Dims dims;
  for (int64_t d = 0; d < v.rank(); ++d) {
    if (d != kept) dims.push_back(d);
  }
  Require(!dims.empty(), "a weight norm of one dimension");
  return dims;
}
template <typename T>
Tensors<T> WeightNorm(const Call<T>& c) {
  const Tensor<T> v = c.tensor(0), g = c.tensor(1);
  const Tensor<T> norms =
      Map<T>(Sum(Times(v, v), AllBut(v, c.integer(2)), true), [](const T& s) { return Sqrt(s); });
  const Tensor<T> scale = Map<T>(g, norms, [](const T& a, const T& n) -> T { return a / n; });
  return {Times(v, scale), norms};
}
template <typename T>
Tensors<T> WeightNormBackward(const Call<T>& c) {
  const Tensor<T> gw = c.tensor(0), v = c.tensor(1), g = c.tensor(2), norms = c.tensor(3);
  const auto ratio = [](const Tensor<T>& a, const Tensor<T>& b) {
    return Map<T>(a, b, [](const T& x, const T& y) -> T { return x / y; });
  };
  const Tensor<T> along = Sum(Times(gw, v), AllBut(v, c.integer(4)), true);
  const Tensor<T> grad_g = ratio(along, norms);
  // g/|v|·(gw − v·(gw·v)/|v|²)
  const Tensor<T> grad_v =
      Times(ratio(g, norms), Minus(gw, Times(v, ratio(along, Times(norms, norms)))));
  return {grad_v, grad_g};
}

template <typename T>
ResampleOptions Scales(const Call<T>& c, size_t first, Resampling kind, bool align) {
  ResampleOptions options{.kind = kind, .align_corners = align};
  for (size_t i = first; i < c.argument_count(); ++i) {
    options.scales.push_back(c.has(i) ? std::optional(c.number(i)) : std::nullopt);
  }
  return options;
}
template <typename T>
Tensors<T> UpsampleNearest(const Call<T>& c) {
  return {Resample(c.tensor(0), c.integers(1), Scales(c, 2, Resampling::kNearest, false))};
}
template <typename T>
Tensors<T> UpsampleLinear(const Call<T>& c) {
  return {Resample(c.tensor(0), c.integers(1), Scales(c, 3, Resampling::kLinear, c.flag(2)))};
}
template <typename T>
Tensors<T> UpsampleCubic(const Call<T>& c) {
  return {Resample(c.tensor(0), c.integers(1), Scales(c, 3, Resampling::kCubic, c.flag(2)))};
}
template <typename T>
Tensors<T> Upward(const Call<T>& c, const ResampleOptions& options) {
  return {ResampleBackward(c.tensor(0), c.integers(2), static_cast<int>(c.integers(1).size()),
                           options)};
}
template <typename T>
Tensors<T> UpsampleNearestBackward(const Call<T>& c) {
  return Upward(c, Scales(c, 3, Resampling::kNearest, false));
}
template <typename T>
Tensors<T> UpsampleLinearBackward(const Call<T>& c) {
  return Upward(c, Scales(c, 4, Resampling::kLinear, c.flag(3)));
}
template <typename T>
Tensors<T> UpsampleCubicBackward(const Call<T>& c) {
  return Upward(c, Scales(c, 4, Resampling::kCubic, c.flag(3)));
}

}  // namespace

template <typename T>
void AddWindows(ImplementationTable<T>* table) {
#define KS_WINDOW(enumerator, name, implementation, ...) \
  table->Add(AtenOp::k##enumerator, &implementation<T>);
#include "graph/aten_ops.def"
}
template <typename T>
void AddNorms(ImplementationTable<T>* table) {
#define KS_NORM(enumerator, name, implementation, ...) \
  table->Add(AtenOp::k##enumerator, &implementation<T>);
#include "graph/aten_ops.def"
}

#define KS_INSTANTIATE(T)                               \
  template void AddWindows<T>(ImplementationTable<T>*); \
  template void AddNorms<T>(ImplementationTable<T>*);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
