#include "tensor/window.h"

#include <algorithm>
#include <cmath>

#include "tensor/matmul.h"

namespace kernelsmith {
namespace {

constexpr int64_t kLargestExtent = int64_t{1} << 31;

// One entry a spatial dimension, all in [low, 2^31).
std::vector<int64_t> PerDimension(const std::vector<int64_t>& values, size_t spatial, int64_t low,
                                  const char* what) {
  std::vector<int64_t> result = values;
  if (result.size() == 1) result.resize(spatial, values[0]);
  Require(result.size() == spatial, what);
  for (const int64_t value : result) Require(value >= low && value < kLargestExtent, what);
  return result;
}

// How a window slides over `in`, giving `out` positions.
struct Window {
  std::vector<int64_t> in, kernel, stride, padding, dilation, out;
  int64_t in_count = 1, kernel_count = 1, out_count = 1;

  void Finish() {
    in_count = CountOrThrow(in);
    kernel_count = CountOrThrow(kernel);
    out_count = CountOrThrow(out);
  }
  // Where element k of the window at output position o lies in the input; −1: in the padding.
  int64_t Position(int64_t o, int64_t k) const {
    int64_t position = 0, scale = 1;
    for (size_t d = in.size(); d-- > 0;) {
      const int64_t at = o % out[d] * stride[d] - padding[d] + k % kernel[d] * dilation[d];
      if (at < 0 || at >= in[d]) return -1;
      position += at * scale;
      scale *= in[d];
      o /= out[d];
      k /= kernel[d];
    }
    return position;
  }
  // Position() of every pair, [kernel_count, out_count].
  std::vector<int64_t> Table() const {
    CountOrThrow({kernel_count, out_count});
    std::vector<int64_t> table(static_cast<size_t>(kernel_count * out_count));
    for (int64_t k = 0; k < kernel_count; ++k) {
      for (int64_t o = 0; o < out_count; ++o)
        table[static_cast<size_t>(k * out_count + o)] = Position(o, k);
    }
    return table;
  }
};

Window MakeConvolutionWindow(const Shape& x, const Shape& weight,
                             const ConvolutionOptions& options) {
  Require(x.size() >= 3 && x.size() <= 5 && weight.size() == x.size(),
          "a convolution of other than 1 to 3 dimensions");
  Require(options.groups >= 1 && x[1] % options.groups == 0, "channels that groups do not divide");
  const size_t spatial = x.size() - 2;
  Window w;
  const std::vector<int64_t> own(x.begin() + 2, x.end());
  w.kernel.assign(weight.begin() + 2, weight.end());
  w.stride = PerDimension(options.stride, spatial, 1, "a bad stride");
  w.padding = PerDimension(options.padding, spatial, 0, "a bad padding");
  w.dilation = PerDimension(options.dilation, spatial, 1, "a bad dilation");
  for (size_t d = 0; d < spatial; ++d) {
    Require(w.kernel[d] >= 1 && w.kernel[d] < kLargestExtent && own[d] < kLargestExtent,
            "a bad kernel size");
    const int64_t reach = w.dilation[d] * (w.kernel[d] - 1) + 1;
    if (options.transposed) {
      const std::vector<int64_t> extra =
          PerDimension(options.output_padding, spatial, 0, "a bad output padding");
      w.in.push_back((own[d] - 1) * w.stride[d] - 2 * w.padding[d] + reach + extra[d]);
    } else {
      const int64_t room = own[d] + 2 * w.padding[d] - reach;
      Require(room >= 0, "a kernel larger than the padded input");
      w.in.push_back(own[d]);
      w.out.push_back(room / w.stride[d] + 1);
    }
  }
  if (options.transposed) w.out = own;
  for (const int64_t size : w.in) Require(size >= 0, "an output of negative size");
  w.Finish();
  return w;
}

// [channels · kernel, out]: each column holds the input under one window.
template <typename T>
void GatherColumns(const Window& w, const std::vector<int64_t>& table, int64_t channels, const T* x,
                   T* columns) {
  const T zero = Number<T>(0);
  const int64_t rows = channels * w.kernel_count;
  ParallelFor(rows, std::max<int64_t>(1, 65536 / (1 + w.out_count)),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  const T* plane = x + row / w.kernel_count * w.in_count;
                  const int64_t* positions = table.data() + row % w.kernel_count * w.out_count;
                  T* out = columns + row * w.out_count;
                  for (int64_t o = 0; o < w.out_count; ++o)
                    out[o] = positions[o] < 0 ? zero : plane[positions[o]];
                }
              });
}

// The adjoint: adds each column back to the input it came from.
template <typename T>
void ScatterColumns(const Window& w, const std::vector<int64_t>& table, int64_t channels,
                    const T* columns, T* x) {
  ParallelFor(channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      T* plane = x + c * w.in_count;
      for (int64_t i = 0; i < w.kernel_count * w.out_count; ++i) {
        const int64_t position = table[static_cast<size_t>(i)];
        if (position >= 0)
          plane[position] = plane[position] + columns[c * w.kernel_count * w.out_count + i];
      }
    }
  });
}

template <typename T>
std::vector<T> TransposedMatrix(const T* x, int64_t rows, int64_t columns) {
  std::vector<T> result(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      result[static_cast<size_t>(j * rows + i)] = x[i * columns + j];
  }
  return result;
}

// The two sides of a convolution: the wide one is where windows slide, the narrow one has an
// element a window. Forward goes from wide to narrow, transposed from narrow to wide; gradients go
// the other way.
template <typename T>
struct Sides {
  Window w;
  std::vector<int64_t> table;
  int64_t batch = 0, groups = 1;
  int64_t wide_channels = 0, narrow_channels = 0;  // a group
  int64_t rows() const { return wide_channels * w.kernel_count; }

  // narrow[n, out] = weight[n, rows] · columns(wide)
  void ToNarrow(const T* wide, const T* weight, T* narrow) const {
    std::vector<T> columns(static_cast<size_t>(rows() * w.out_count));
    ForEachGroup([&](int64_t at, int64_t g) {
      GatherColumns(w, table, wide_channels, wide + at * wide_channels * w.in_count,
                    columns.data());
      Gemm(narrow_channels, w.out_count, rows(), weight + g * narrow_channels * rows(),
           columns.data(), narrow + at * narrow_channels * w.out_count);
    });
  }
  // wide += scatter(weightᵀ · narrow)
  void ToWide(const T* narrow, const T* weight, T* wide) const {
    std::vector<T> columns(static_cast<size_t>(rows() * w.out_count));
    ForEachGroup([&](int64_t at, int64_t g) {
      const std::vector<T> turned =
          TransposedMatrix(weight + g * narrow_channels * rows(), narrow_channels, rows());
      Gemm(rows(), w.out_count, narrow_channels, turned.data(),
           narrow + at * narrow_channels * w.out_count, columns.data());
      ScatterColumns(w, table, wide_channels, columns.data(),
                     wide + at * wide_channels * w.in_count);
    });
  }
  // weight += narrow · columns(wide)ᵀ
  void ToWeight(const T* narrow, const T* wide, T* weight) const {
    std::vector<T> columns(static_cast<size_t>(rows() * w.out_count));
    std::vector<T> product(static_cast<size_t>(narrow_channels * rows()));
    ForEachGroup([&](int64_t at, int64_t g) {
      GatherColumns(w, table, wide_channels, wide + at * wide_channels * w.in_count,
                    columns.data());
      const std::vector<T> turned = TransposedMatrix(columns.data(), rows(), w.out_count);
      Gemm(narrow_channels, rows(), w.out_count, narrow + at * narrow_channels * w.out_count,
           turned.data(), product.data());
      T* target = weight + g * narrow_channels * rows();
      for (size_t i = 0; i < product.size(); ++i) target[i] = target[i] + product[i];
    });
  }

 private:
  template <typename F>
  void ForEachGroup(const F& body) const {
    for (int64_t at = 0; at < batch * groups; ++at) body(at, at % groups);
  }
};

template <typename T>
Sides<T> MakeSides(const Shape& x, const Shape& weight, const ConvolutionOptions& options) {
  Sides<T> s;
  s.w = MakeConvolutionWindow(x, weight, options);
  s.table = s.w.Table();
  s.batch = x[0];
  s.groups = options.groups;
  // Both layouts are [narrow, wide / groups, kernel...].
  Require(weight[0] % options.groups == 0, "channels that groups do not divide");
  s.narrow_channels = weight[0] / options.groups;
  s.wide_channels = weight[1];
  Require(x[1] == (options.transposed ? s.narrow_channels : s.wide_channels) * options.groups,
          "a weight for another number of channels");
  return s;
}

Shape OutputShape(const Shape& x, const Window& w, int64_t channels, bool transposed) {
  Shape shape{x[0], channels};
  const std::vector<int64_t>& extent = transposed ? w.in : w.out;
  shape.insert(shape.end(), extent.begin(), extent.end());
  return shape;
}

}  // namespace

template <typename T>
Tensor<T> Convolution(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& bias,
                      const ConvolutionOptions& options) {
  const Sides<T> s = MakeSides<T>(x.shape, weight.shape, options);
  const int64_t channels = (options.transposed ? s.wide_channels : s.narrow_channels) * s.groups;
  Tensor<T> out(x.dtype, OutputShape(x.shape, s.w, channels, options.transposed), Number<T>(0));
  if (options.transposed) {
    s.ToWide(x.data(), weight.data(), out.data());
  } else {
    s.ToNarrow(x.data(), weight.data(), out.data());
  }
  if (bias.defined()) {
    Require(bias.count() == channels, "a bias of another size");
    const int64_t plane = options.transposed ? s.w.in_count : s.w.out_count;
    for (int64_t i = 0; i < out.count(); ++i) out[i] = out[i] + bias[i / plane % channels];
  }
  return out;
}

template <typename T>
ConvolutionGradients<T> ConvolutionBackward(const Tensor<T>& gradient, const Tensor<T>& x,
                                            const Tensor<T>& weight,
                                            const ConvolutionOptions& options, bool want_input,
                                            bool want_weight, bool want_bias) {
  const Sides<T> s = MakeSides<T>(x.shape, weight.shape, options);
  const int64_t channels = (options.transposed ? s.wide_channels : s.narrow_channels) * s.groups;
  Require(gradient.shape == OutputShape(x.shape, s.w, channels, options.transposed),
          "a gradient of another shape");
  ConvolutionGradients<T> result;
  if (want_input) {
    result.input = Tensor<T>(x.dtype, x.shape, Number<T>(0));
    if (options.transposed) {
      s.ToNarrow(gradient.data(), weight.data(), result.input.data());
    } else {
      s.ToWide(gradient.data(), weight.data(), result.input.data());
    }
  }
  if (want_weight) {
    result.weight = Tensor<T>(weight.dtype, weight.shape, Number<T>(0));
    const T* narrow = options.transposed ? x.data() : gradient.data();
    const T* wide = options.transposed ? gradient.data() : x.data();
    s.ToWeight(narrow, wide, result.weight.data());
  }
  if (want_bias) {
    const int64_t plane = options.transposed ? s.w.in_count : s.w.out_count;
    result.bias = Tensor<T>(x.dtype, {channels}, Number<T>(0));
    for (int64_t i = 0; i < s.batch * channels; ++i) {
      T& sum = result.bias[i % channels];
      sum = sum + SumOf(gradient.data() + i * plane, plane, 1);
    }
  }
  return result;
}

namespace {

struct Planes {
  int64_t count = 1;
  Shape leading;
  std::vector<int64_t> extent;
};

Planes SplitPlanes(const Shape& shape, int spatial) {
  Require(shape.size() >= static_cast<size_t>(spatial), "a pool of too few dimensions");
  Planes p;
  p.leading.assign(shape.begin(), shape.end() - spatial);
  p.extent.assign(shape.end() - spatial, shape.end());
  p.count = CountOrThrow(p.leading);
  for (const int64_t size : p.extent) Require(size < kLargestExtent, "a plane too large");
  return p;
}

Shape Joined(const Shape& leading, const std::vector<int64_t>& extent) {
  Shape shape = leading;
  shape.insert(shape.end(), extent.begin(), extent.end());
  return shape;
}

Window MakePoolWindow(const std::vector<int64_t>& extent, const PoolOptions& options) {
  const size_t spatial = extent.size();
  Window w;
  w.in = extent;
  w.kernel = PerDimension(options.kernel, spatial, 1, "a bad kernel size");
  w.stride =
      options.stride.empty() ? w.kernel : PerDimension(options.stride, spatial, 1, "a bad stride");
  w.padding = PerDimension(options.padding.empty() ? std::vector<int64_t>{0} : options.padding,
                           spatial, 0, "a bad padding");
  w.dilation = PerDimension(options.dilation.empty() ? std::vector<int64_t>{1} : options.dilation,
                            spatial, 1, "a bad dilation");
  for (size_t d = 0; d < spatial; ++d) {
    Require(2 * w.padding[d] <= w.kernel[d], "a padding of more than half the kernel");
    const int64_t room = w.in[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
    Require(room >= 0 || (options.ceil_mode && room + w.stride[d] > 0),
            "a kernel larger than the padded input");
    int64_t out = (room + (options.ceil_mode ? w.stride[d] - 1 : 0)) / w.stride[d] + 1;
    // A window that starts in the right padding is dropped.
    if (options.ceil_mode && (out - 1) * w.stride[d] >= w.in[d] + w.padding[d]) --out;
    w.out.push_back(out);
  }
  w.Finish();
  return w;
}

// The elements under each output position, as lists: what a pool reads.
struct Cell {
  std::vector<int64_t> positions;
  int64_t divisor = 1;
};

std::vector<Cell> PoolCells(const Window& w, const PoolOptions& options) {
  std::vector<Cell> cells(static_cast<size_t>(w.out_count));
  for (int64_t o = 0; o < w.out_count; ++o) {
    Cell& cell = cells[static_cast<size_t>(o)];
    for (int64_t k = 0; k < w.kernel_count; ++k) {
      const int64_t position = w.Position(o, k);
      if (position >= 0) cell.positions.push_back(position);
    }
    int64_t padded = 1, rest = o;
    for (size_t d = w.in.size(); d-- > 0;) {
      const int64_t start = rest % w.out[d] * w.stride[d] - w.padding[d];
      padded *= std::min(start + w.kernel[d], w.in[d] + w.padding[d]) - start;
      rest /= w.out[d];
    }
    cell.divisor = options.divisor             ? *options.divisor
                   : options.count_include_pad ? padded
                                               : static_cast<int64_t>(cell.positions.size());
  }
  return cells;
}

std::vector<Cell> AdaptiveCells(const std::vector<int64_t>& in, const std::vector<int64_t>& out) {
  Require(in.size() == out.size(), "output sizes that do not fit");
  for (const int64_t size : out) Require(size >= 0 && size < kLargestExtent, "a bad output size");
  const int64_t count = CountOrThrow(out);
  std::vector<Cell> cells(static_cast<size_t>(count));
  for (int64_t o = 0; o < count; ++o) {
    Cell& cell = cells[static_cast<size_t>(o)];
    cell.positions = {0};
    std::vector<int64_t> at(in.size());
    int64_t rest = o;
    for (size_t d = in.size(); d-- > 0;) {
      at[d] = rest % out[d];
      rest /= out[d];
    }
    for (size_t d = 0; d < in.size(); ++d) {
      const int64_t start = at[d] * in[d] / out[d];
      const int64_t end = ((at[d] + 1) * in[d] + out[d] - 1) / out[d];
      std::vector<int64_t> next;
      for (const int64_t base : cell.positions) {
        for (int64_t i = start; i < end; ++i) next.push_back(base * in[d] + i);
      }
      cell.positions = std::move(next);
    }
    cell.divisor = static_cast<int64_t>(cell.positions.size());
  }
  return cells;
}

template <typename T>
std::pair<Tensor<T>, Tensor<T>> MaxOverCells(const Tensor<T>& x, const Planes& planes,
                                             const std::vector<Cell>& cells,
                                             const std::vector<int64_t>& out_extent) {
  Tensor<T> values(x.dtype, Joined(planes.leading, out_extent));
  Tensor<T> indices(DType::kInt64, values.shape);
  const int64_t in_count = CountOrThrow(planes.extent);
  const auto out_count = static_cast<int64_t>(cells.size());
  ParallelFor(planes.count, std::max<int64_t>(1, 8192 / (1 + out_count)),
              [&](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; ++p) {
                  const T* plane = x.data() + p * in_count;
                  for (int64_t o = 0; o < out_count; ++o) {
                    const std::vector<int64_t>& positions = cells[static_cast<size_t>(o)].positions;
                    Require(!positions.empty(), "a window with nothing in it");
                    T best = plane[positions[0]];
                    T at = Number<T>(static_cast<double>(positions[0]));
                    for (size_t i = 1; i < positions.size(); ++i) {
                      const T& candidate = plane[positions[i]];
                      if (std::isnan(Float(best))) break;
                      const T better =
                          std::isnan(Float(candidate)) ? MakeBool<T>(true) : Less(best, candidate);
                      best = Select(better, candidate, best);
                      at = Select(better, Number<T>(static_cast<double>(positions[i])), at);
                    }
                    values[p * out_count + o] = best;
                    indices[p * out_count + o] = at;
                  }
                }
              });
  return {values, indices};
}

template <typename T>
Tensor<T> AverageOverCells(const Tensor<T>& x, const Planes& planes, const std::vector<Cell>& cells,
                           const std::vector<int64_t>& out_extent) {
  Tensor<T> values(x.dtype, Joined(planes.leading, out_extent));
  const int64_t in_count = CountOrThrow(planes.extent);
  const auto out_count = static_cast<int64_t>(cells.size());
  ParallelFor(planes.count, std::max<int64_t>(1, 8192 / (1 + out_count)),
              [&](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; ++p) {
                  const T* plane = x.data() + p * in_count;
                  for (int64_t o = 0; o < out_count; ++o) {
                    const Cell& cell = cells[static_cast<size_t>(o)];
                    T sum = Number<T>(0);
                    for (const int64_t position : cell.positions) sum = sum + plane[position];
                    values[p * out_count + o] = sum / Number<T>(static_cast<double>(cell.divisor));
                  }
                }
              });
  return values;
}

template <typename T>
Tensor<T> SpreadOverCells(const Tensor<T>& gradient, const Shape& input_shape, const Planes& planes,
                          const std::vector<Cell>& cells) {
  Tensor<T> result(gradient.dtype, input_shape, Number<T>(0));
  const int64_t in_count = CountOrThrow(planes.extent);
  const auto out_count = static_cast<int64_t>(cells.size());
  Require(gradient.count() == planes.count * out_count, "a gradient of another shape");
  ParallelFor(planes.count, std::max<int64_t>(1, 8192 / (1 + out_count)),
              [&](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; ++p) {
                  T* plane = result.data() + p * in_count;
                  for (int64_t o = 0; o < out_count; ++o) {
                    const Cell& cell = cells[static_cast<size_t>(o)];
                    const T share =
                        gradient[p * out_count + o] / Number<T>(static_cast<double>(cell.divisor));
                    for (const int64_t position : cell.positions)
                      plane[position] = plane[position] + share;
                  }
                }
              });
  return result;
}

}  // namespace

template <typename T>
std::pair<Tensor<T>, Tensor<T>> MaxPool(const Tensor<T>& x, int spatial,
                                        const PoolOptions& options) {
  const Planes planes = SplitPlanes(x.shape, spatial);
  const Window w = MakePoolWindow(planes.extent, options);
  return MaxOverCells(x, planes, PoolCells(w, options), w.out);
}

template <typename T>
std::pair<Tensor<T>, Tensor<T>> AdaptiveMaxPool(const Tensor<T>& x,
                                                const std::vector<int64_t>& sizes) {
  const Planes planes = SplitPlanes(x.shape, static_cast<int>(sizes.size()));
  return MaxOverCells(x, planes, AdaptiveCells(planes.extent, sizes), sizes);
}

template <typename T>
Tensor<T> MaxPoolBackward(const Tensor<T>& gradient, const Shape& input_shape, int spatial,
                          const Tensor<T>& indices) {
  const Planes planes = SplitPlanes(input_shape, spatial);
  const int64_t in_count = CountOrThrow(planes.extent);
  Require(gradient.count() == indices.count() &&
              (planes.count == 0 || gradient.count() % planes.count == 0),
          "a gradient of another shape");
  Tensor<T> result(gradient.dtype, input_shape, Number<T>(0));
  const int64_t out_count = planes.count == 0 ? 0 : gradient.count() / planes.count;
  for (int64_t i = 0; i < gradient.count(); ++i) {
    const double index = Float(indices[i]);
    Require(index >= 0 && index < static_cast<double>(in_count), "an index out of range");
    T& target = result[i / out_count * in_count + static_cast<int64_t>(index)];
    // Select keeps the near tie of the choice.
    target = target + Select(indices[i], gradient[i], gradient[i]);
  }
  return result;
}

template <typename T>
Tensor<T> AvgPool(const Tensor<T>& x, int spatial, const PoolOptions& options) {
  const Planes planes = SplitPlanes(x.shape, spatial);
  const Window w = MakePoolWindow(planes.extent, options);
  return AverageOverCells(x, planes, PoolCells(w, options), w.out);
}

template <typename T>
Tensor<T> AvgPoolBackward(const Tensor<T>& gradient, const Shape& input_shape, int spatial,
                          const PoolOptions& options) {
  const Planes planes = SplitPlanes(input_shape, spatial);
  const Window w = MakePoolWindow(planes.extent, options);
  return SpreadOverCells(gradient, input_shape, planes, PoolCells(w, options));
}

template <typename T>
Tensor<T> AdaptiveAvgPool(const Tensor<T>& x, const std::vector<int64_t>& sizes) {
  const Planes planes = SplitPlanes(x.shape, static_cast<int>(sizes.size()));
  return AverageOverCells(x, planes, AdaptiveCells(planes.extent, sizes), sizes);
}

template <typename T>
Tensor<T> AdaptiveAvgPoolBackward(const Tensor<T>& gradient, const Shape& input_shape,
                                  int spatial) {
  const Planes planes = SplitPlanes(input_shape, spatial);
  const Planes out = SplitPlanes(gradient.shape, spatial);
  return SpreadOverCells(gradient, input_shape, planes, AdaptiveCells(planes.extent, out.extent));
}

#define KS_INSTANTIATE(T)                                                                          \
  template Tensor<T> Convolution<T>(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,          \
                                    const ConvolutionOptions&);                                    \
  template ConvolutionGradients<T> ConvolutionBackward<T>(                                         \
      const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, const ConvolutionOptions&, bool, bool, \
      bool);                                                                                       \
  template std::pair<Tensor<T>, Tensor<T>> MaxPool<T>(const Tensor<T>&, int, const PoolOptions&);  \
  template std::pair<Tensor<T>, Tensor<T>> AdaptiveMaxPool<T>(const Tensor<T>&,                    \
                                                              const std::vector<int64_t>&);        \
  template Tensor<T> MaxPoolBackward<T>(const Tensor<T>&, const Shape&, int, const Tensor<T>&);    \
  template Tensor<T> AvgPool<T>(const Tensor<T>&, int, const PoolOptions&);                        \
  template Tensor<T> AvgPoolBackward<T>(const Tensor<T>&, const Shape&, int, const PoolOptions&);  \
  template Tensor<T> AdaptiveAvgPool<T>(const Tensor<T>&, const std::vector<int64_t>&);            \
  template Tensor<T> AdaptiveAvgPoolBackward<T>(const Tensor<T>&, const Shape&, int);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
