#include "tensor/norm.h"

#include <algorithm>
#include <cmath>

#include "tensor/matmul.h"

namespace kernelsmith {

template <typename T>
Normalized<T> NormalizeRows(const Tensor<T>& x, int64_t rows, int64_t n, const T& eps) {
  Require(x.count() == rows * n, "a normalisation that does not fit");
  Normalized<T> r{Tensor<T>(x.dtype, x.shape), Tensor<T>(x.dtype, {rows}),
                  Tensor<T>(x.dtype, {rows})};
  const T count = Number<T>(static_cast<double>(n));
  ParallelFor(rows, std::max<int64_t>(1, 8192 / (1 + n)), [&](int64_t begin, int64_t end) {
    std::vector<T> squares(static_cast<size_t>(n));
    for (int64_t row = begin; row < end; ++row) {
      const T* in = x.data() + row * n;
      T* out = r.out.data() + row * n;
      const T mean = SumOf(in, n, 1) / count;
      for (int64_t i = 0; i < n; ++i) {
        out[i] = in[i] - mean;
        squares[static_cast<size_t>(i)] = out[i] * out[i];
      }
      const T rstd = Rsqrt(SumOf(squares.data(), n, 1) / count + eps);
      for (int64_t i = 0; i < n; ++i) out[i] = out[i] * rstd;
      r.mean[row] = mean;
      r.rstd[row] = rstd;
    }
  });
  return r;
}

namespace {

// out[i] = out[i]·weight[channel(i)] + bias[channel(i)], channel(i) = i / inner % channels
template <typename T>
void ScaleAndShift(Tensor<T>* out, const Tensor<T>& weight, const Tensor<T>& bias, int64_t inner,
                   int64_t channels) {
  Require(!weight.defined() || weight.count() == channels, "a weight of another size");
  Require(!bias.defined() || bias.count() == channels, "a bias of another size");
  if (!weight.defined() && !bias.defined()) return;
  ParallelFor(out->count(), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i / inner % channels;
      T& value = (*out)[i];
      if (weight.defined()) value = value * weight[c];
      if (bias.defined()) value = value + bias[c];
    }
  });
}

}  // namespace

template <typename T>
Normalized<T> LayerNorm(const Tensor<T>& x, const Shape& normalized, const Tensor<T>& weight,
                        const Tensor<T>& bias, const T& eps) {
  Require(normalized.size() <= x.shape.size() &&
              std::equal(normalized.rbegin(), normalized.rend(), x.shape.rbegin()),
          "a normalised shape that does not fit");
  const int64_t n = CountOrThrow(normalized);
  const Shape leading(x.shape.begin(), x.shape.end() - static_cast<int64_t>(normalized.size()));
  const int64_t rows = CountOrThrow(leading);
  Normalized<T> r = NormalizeRows(x, rows, n, eps);
  if (n > 0) ScaleAndShift(&r.out, weight, bias, 1, n);
  Shape kept = leading;
  kept.resize(x.shape.size(), 1);
  r.mean = r.mean.Reshaped(kept);
  r.rstd = r.rstd.Reshaped(kept);
  return r;
}

template <typename T>
Normalized<T> GroupNorm(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& bias,
                        int64_t groups, const T& eps) {
  Require(x.rank() >= 2 && groups >= 1 && x.size(1) % groups == 0,
          "groups that do not divide the channels");
  const int64_t rows = x.size(0) * groups;
  Normalized<T> r = NormalizeRows(x, rows, rows == 0 ? 0 : x.count() / rows, eps);
  const int64_t channels = x.size(1);
  if (x.count() > 0)
    ScaleAndShift(&r.out, weight, bias, x.count() / (x.size(0) * channels), channels);
  r.mean = r.mean.Reshaped({x.size(0), groups});
  r.rstd = r.rstd.Reshaped({x.size(0), groups});
  return r;
}

template <typename T>
BatchNormed<T> BatchNorm(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& bias,
                         const Tensor<T>& running_mean, const Tensor<T>& running_var, bool training,
                         double momentum, const T& eps) {
  Require(x.rank() >= 2, "a batch norm of fewer than two dimensions");
  const int64_t batch = x.size(0), channels = x.size(1);
  const int64_t inner = batch * channels == 0 ? 0 : x.count() / (batch * channels);
  const int64_t n = batch * inner;
  BatchNormed<T> r{Tensor<T>(x.dtype, x.shape),
                   Tensor<T>(x.dtype, {channels}),
                   Tensor<T>(x.dtype, {channels}),
                   {},
                   {}};
  Require(training || (running_mean.defined() && running_var.defined()), "no running statistics");
  for (const Tensor<T>* t : {&running_mean, &running_var}) {
    Require(!t->defined() || t->count() == channels, "running statistics of another size");
  }
  Tensor<T> var(x.dtype, {channels});
  const T count = Number<T>(static_cast<double>(n));
  ParallelFor(channels, std::max<int64_t>(1, 8192 / (1 + n)), [&](int64_t begin, int64_t end) {
    std::vector<T> values(static_cast<size_t>(n));
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t b = 0; b < batch; ++b) {
        const T* in = x.data() + (b * channels + c) * inner;
        std::copy(in, in + inner, values.begin() + b * inner);
      }
      if (training) {
        r.mean[c] = SumOf(values.data(), n, 1) / count;
        std::vector<T> squares(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
          const T d = values[i] - r.mean[c];
          squares[i] = d * d;
        }
        var[c] = SumOf(squares.data(), n, 1) / count;
      } else {
        r.mean[c] = running_mean[c];
        var[c] = running_var[c];
      }
      r.rstd[c] = Rsqrt(var[c] + eps);
      for (int64_t b = 0; b < batch; ++b) {
        T* out = r.out.data() + (b * channels + c) * inner;
        for (int64_t i = 0; i < inner; ++i) {
          out[i] = (values[static_cast<size_t>(b * inner + i)] - r.mean[c]) * r.rstd[c];
        }
      }
    }
  });
  if (inner > 0) ScaleAndShift(&r.out, weight, bias, inner, channels);
  if (training) {
    const T keep = Constant<T>(1 - momentum, Precision::kFloat64);
    const T take = Constant<T>(momentum, Precision::kFloat64);
    const auto blend = [&](const Tensor<T>& old, const Tensor<T>& now, const T& factor) {
      Tensor<T> mixed(old.dtype, old.shape);
      for (int64_t c = 0; c < channels; ++c) mixed[c] = keep * old[c] + take * (now[c] * factor);
      return mixed;
    };
    if (running_mean.defined()) r.running_mean = blend(running_mean, r.mean, Number<T>(1));
    // The running variance is the unbiased one.
    const T unbiased = count / Number<T>(static_cast<double>(n - 1));
    if (running_var.defined()) r.running_var = blend(running_var, var, unbiased);
  } else {
    r.running_mean = running_mean;
    r.running_var = running_var;
  }
  return r;
}

namespace {

// Output position o along one dimension is Σ weight·input[position].
template <typename T>
struct Tap {
  int64_t position;
  T weight;
};
template <typename T>
using Taps = std::vector<std::vector<Tap<T>>>;

double SourceScale(int64_t in, int64_t out, const std::optional<double>& scale) {
  return scale && *scale > 0 ? 1 / *scale : static_cast<double>(in) / static_cast<double>(out);
}

template <typename T>
Taps<T> MakeTaps(int64_t in, int64_t out, const ResampleOptions& options,
                 const std::optional<double>& given) {
  Require(in > 0 && out > 0, "a resampling of nothing");
  Taps<T> taps(static_cast<size_t>(out));
  const auto weight = [](double w) { return Constant<T>(w, Precision::kFloat64); };
  const double scale = SourceScale(in, out, given);
  for (int64_t o = 0; o < out; ++o) {
    std::vector<Tap<T>>& list = taps[static_cast<size_t>(o)];
    const auto position = static_cast<double>(o);
    if (options.kind == Resampling::kNearest || options.kind == Resampling::kNearestExact) {
      const double half = options.kind == Resampling::kNearestExact ? 0.5 : 0;
      const auto source = static_cast<int64_t>(std::floor((position + half) * scale));
      list.push_back({std::min(source, in - 1), Number<T>(1)});
      continue;
    }
    double source =
        options.align_corners
            ? (out > 1 ? position * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0)
            : (position + 0.5) * scale - 0.5;
    if (options.kind == Resampling::kLinear) {
      source = std::max(source, 0.0);
      const int64_t low = std::min(static_cast<int64_t>(source), in - 1);
      const double fraction = std::clamp(source - static_cast<double>(low), 0.0, 1.0);
      list.push_back({low, weight(1 - fraction)});
      if (low + 1 < in) {
        list.push_back({low + 1, weight(fraction)});
      } else {
        list.back().weight = Number<T>(1);
      }
      continue;
    }
    const double low = std::floor(source);
    const double t = source - low;
    constexpr double kA = -0.75;  // PyTorch's choice for the cubic kernel
    const auto near = [&](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
    const auto far = [&](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
    const double weights[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (int i = 0; i < 4; ++i) {
      const int64_t at = std::clamp<int64_t>(static_cast<int64_t>(low) - 1 + i, 0, in - 1);
      list.push_back({at, weight(weights[i])});
    }
  }
  return taps;
}

// Applies the taps along one dimension, or their adjoint.
template <typename T>
Tensor<T> ApplyTaps(const Tensor<T>& x, size_t dim, int64_t in, const Taps<T>& taps, bool adjoint) {
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (d < dim) outer *= x.shape[d];
    if (d > dim) inner *= x.shape[d];
  }
  const auto out = static_cast<int64_t>(taps.size());
  Shape shape = x.shape;
  shape[dim] = adjoint ? in : out;
  Tensor<T> result(x.dtype, shape, Number<T>(0));
  for (int64_t a = 0; a < outer; ++a) {
    for (int64_t o = 0; o < out; ++o) {
      for (const Tap<T>& tap : taps[static_cast<size_t>(o)]) {
        const int64_t wide = (a * in + tap.position) * inner;
        const int64_t narrow = (a * out + o) * inner;
        for (int64_t i = 0; i < inner; ++i) {
          T& target = result[(adjoint ? wide : narrow) + i];
          target = target + tap.weight * x[(adjoint ? narrow : wide) + i];
        }
      }
    }
  }
  return result;
}

}  // namespace

template <typename T>
Tensor<T> Resample(const Tensor<T>& x, const std::vector<int64_t>& sizes,
                   const ResampleOptions& options) {
  Require(sizes.size() <= x.shape.size(), "more sizes than dimensions");
  Require(options.scales.empty() || options.scales.size() == sizes.size(),
          "scales that do not fit");
  Tensor<T> result = x;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t dim = x.shape.size() - sizes.size() + i;
    const Taps<T> taps = MakeTaps<T>(x.shape[dim], sizes[i], options,
                                     options.scales.empty() ? std::nullopt : options.scales[i]);
    result = ApplyTaps(result, dim, x.shape[dim], taps, false);
  }
  return result;
}

template <typename T>
Tensor<T> ResampleBackward(const Tensor<T>& gradient, const Shape& input_shape, int spatial,
                           const ResampleOptions& options) {
  Require(input_shape.size() == gradient.shape.size() &&
              static_cast<size_t>(spatial) <= input_shape.size(),
          "a gradient of another rank");
  Require(options.scales.empty() || options.scales.size() == static_cast<size_t>(spatial),
          "scales that do not fit");
  Tensor<T> result = gradient;
  for (size_t i = 0; i < static_cast<size_t>(spatial); ++i) {
    const size_t dim = input_shape.size() - static_cast<size_t>(spatial) + i;
    const Taps<T> taps = MakeTaps<T>(input_shape[dim], gradient.shape[dim], options,
                                     options.scales.empty() ? std::nullopt : options.scales[i]);
    result = ApplyTaps(result, dim, input_shape[dim], taps, true);
  }
  Require(result.shape == input_shape, "a gradient of another shape");
  return result;
}

#define KS_INSTANTIATE(T)                                                                    \
  template Normalized<T> NormalizeRows<T>(const Tensor<T>&, int64_t, int64_t, const T&);     \
  template Normalized<T> LayerNorm<T>(const Tensor<T>&, const Shape&, const Tensor<T>&,      \
                                      const Tensor<T>&, const T&);                           \
  template Normalized<T> GroupNorm<T>(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,  \
                                      int64_t, const T&);                                    \
  template BatchNormed<T> BatchNorm<T>(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, \
                                       const Tensor<T>&, const Tensor<T>&, bool, double,     \
                                       const T&);                                            \
  template Tensor<T> Resample<T>(const Tensor<T>&, const std::vector<int64_t>&,              \
                                 const ResampleOptions&);                                    \
  template Tensor<T> ResampleBackward<T>(const Tensor<T>&, const Shape&, int,                \
                                         const ResampleOptions&);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
