// Views, movement and creation.
#include <algorithm>
#include <cmath>

#include "graph/call.h"
#include "tensor/layout.h"
#include "tensor/map.h"

namespace kernelsmith {
namespace {

template <typename T>
Tensors<T> Same(const Call<T>& c) {
  return {c.tensor(0)};
}
template <typename T>
Tensors<T> Copy(const Call<T>& c) {
  const Tensor<T> target = c.tensor(0), source = c.tensor(1);
  return {Convert(ReadView(source, ExpandView(source.shape, target.shape)), target.dtype)};
}
// To the shape that the graph says, which says more than a −1.
template <typename T>
Tensors<T> Reinterpret(const Call<T>& c) {
  return {c.tensor(0).Reshaped(c.result().shape)};
}
template <typename T>
Tensors<T> Reshape(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  Shape shape = c.integers(1);
  int64_t known = 1;
  for (const int64_t size : shape) {
    Require(size >= -1 && size < (int64_t{1} << 40), "a bad size");
    if (size > 0) known *= size;
    Require(known < (int64_t{1} << 40), "a view with another number of elements");
  }
  for (int64_t& size : shape) {
    if (size == -1) size = x.count() / known;
  }
  return {x.Reshaped(shape)};
}
template <typename T>
Tensors<T> Unsqueeze(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  Shape shape = x.shape;
  const int64_t dim = c.integer(1);
  Require(dim >= -x.rank() - 1 && dim <= x.rank(), "a dimension out of range");
  shape.insert(shape.begin() + (dim < 0 ? dim + x.rank() + 1 : dim), 1);
  return {x.Reshaped(shape)};
}
template <typename T>
Tensors<T> Permute(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {ReadView(x, PermuteView(x.shape, c.integers(1)))};
}
template <typename T>
Tensors<T> TransposeDims(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {x.rank() == 0 ? x : Transpose(x, c.integer(1), c.integer(2))};
}
template <typename T>
Tensors<T> TransposeMatrix(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  Require(x.rank() <= 2, "expected a matrix");
  return {x.rank() < 2 ? x : Transpose(x, 0, 1)};
}
template <typename T>
Tensors<T> Expand(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {ReadView(x, ExpandView(x.shape, c.integers(1)))};
}
template <typename T>
Tensors<T> RepeatDims(const Call<T>& c) {
  return {Repeat(c.tensor(0), c.integers(1))};
}
template <typename T>
Tensors<T> Slice(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {ReadView(x, SliceView(x.shape, c.integer(1), c.optional_integer(2), c.optional_integer(3),
                                c.integer(4)))};
}
template <typename T>
Tensors<T> SliceScatter(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {WriteView(
      x,
      SliceView(x.shape, c.integer(2), c.optional_integer(3), c.optional_integer(4), c.integer(5)),
      c.tensor(1))};
}
template <typename T>
Tensors<T> SelectIndex(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {ReadView(x, SelectView(x.shape, c.integer(1), c.integer(2)))};
}
template <typename T>
Tensors<T> SelectScatter(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {WriteView(x, SelectView(x.shape, c.integer(2), c.integer(3)), c.tensor(1))};
}
template <typename T>
Tensors<T> Diagonal(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {ReadView(x, DiagonalView(x.shape, c.integer(1), c.integer(2), c.integer(3)))};
}
template <typename T>
Tensors<T> DiagonalScatter(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {
      WriteView(x, DiagonalView(x.shape, c.integer(2), c.integer(3), c.integer(4)), c.tensor(1))};
}
template <typename T>
Tensors<T> Unfold(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {ReadView(x, UnfoldView(x.shape, c.integer(1), c.integer(2), c.integer(3)))};
}
// Counts in the operand's memory as PyTorch lays it out, which is laid out here first where it is
// not row-major.
template <typename T>
Tensors<T> AsStrided(const Call<T>& c) {
  const auto [x, strides] = c.storage(0);
  Tensor<T> memory = x;
  if (!strides.empty() && strides != RowMajorStrides(x.shape) && x.count() > 0) {
    double extent = 1;
    for (size_t d = 0; d < strides.size(); ++d) {
      Require(strides[d] >= 0, "a negative stride");
      extent += static_cast<double>(x.shape[d] - 1) * static_cast<double>(strides[d]);
    }
    Require(extent <= 16.0 * static_cast<double>(x.count()), "a strided view of a sparse view");
    const auto size = static_cast<int64_t>(extent);
    memory = WriteView(Tensor<T>(x.dtype, {size}, Number<T>(0)),
                       StridedView(x.shape, strides, 0, size), x);
  }
  return {ReadView(memory, StridedView(c.integers(1), c.integers(2),
                                       c.optional_integer(3).value_or(0), memory.count()))};
}
template <typename T>
Tensors<T> Flip(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {ReadView(x, FlipView(x.shape, c.integers(1)))};
}
template <typename T>
Tensors<T> Roll(const Call<T>& c) {
  Tensor<T> x = c.tensor(0);
  const Shape shape = x.shape;
  const std::vector<int64_t> shifts = c.integers(1);
  std::vector<int64_t> dims = c.integers(2);
  if (dims.empty()) {
    Require(shifts.size() == 1, "expected one shift");
    x = x.Reshaped({x.count()});
    dims = {0};
  }
  Require(shifts.size() == dims.size(), "shifts and dimensions of different number");
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = NormalizeDim(dims[i], x.rank());
    if (x.count() == 0 || x.rank() == 0) break;
    const int64_t size = x.size(dim);
    const int64_t cut = ((-shifts[i]) % size + size) % size;
    x = Concatenate<T>({ReadView(x, SliceView(x.shape, dim, cut, std::nullopt, 1)),
                        ReadView(x, SliceView(x.shape, dim, 0, cut, 1))},
                       dim);
  }
  return {x.Reshaped(shape)};
}
template <typename T>
Tensors<T> Cat(const Call<T>& c) {
  return {Concatenate(c.tensors(0), c.integer(1))};
}
template <typename T>
Tensors<T> Stack(const Call<T>& c) {
  Tensors<T> parts = c.tensors(0);
  Require(!parts.empty(), "a stack of nothing");
  const int64_t rank = parts[0].rank();
  const int64_t dim = c.integer(1);
  Require(dim >= -rank - 1 && dim <= rank, "a dimension out of range");
  const int64_t at = dim < 0 ? dim + rank + 1 : dim;
  for (Tensor<T>& part : parts) {
    Require(part.rank() == rank, "a stack of different ranks");
    Shape shape = part.shape;
    shape.insert(shape.begin() + at, 1);
    part = part.Reshaped(shape);
  }
  return {Concatenate(parts, at)};
}

template <typename T>
Tensors<T> SplitAt(const Tensor<T>& x, const std::vector<int64_t>& sizes, int64_t dim) {
  Tensors<T> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    Require(size >= 0, "a negative size");
    parts.push_back(ReadView(x, SliceView(x.shape, dim, start, start + size, 1)));
    start += size;
  }
  return parts;
}
template <typename T>
Tensors<T> SplitWithSizes(const Call<T>& c) {
  return SplitAt(c.tensor(0), c.integers(1), c.integer(2));
}
template <typename T>
Tensors<T> Split(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  const int64_t dim = NormalizeDim(c.integer(2), x.rank());
  const int64_t size = c.integer(1);
  Require(x.rank() > 0 && size > 0, "a split of a scalar or into nothing");
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < std::max<int64_t>(1, x.size(dim)); start += size) {
    sizes.push_back(std::min(size, x.size(dim) - start));
  }
  return SplitAt(x, sizes, dim);
}
template <typename T>
Tensors<T> Unbind(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  Require(x.rank() > 0, "an unbinding of a scalar");
  const int64_t dim = NormalizeDim(c.integer(1), x.rank());
  Tensors<T> parts;
  for (int64_t i = 0; i < x.size(dim); ++i)
    parts.push_back(ReadView(x, SelectView(x.shape, dim, i)));
  return parts;
}

template <typename T>
Tensors<T> ConstantPad(const Call<T>& c) {
  return {PadConstant(c.tensor(0), c.integers(1), c.scalar(2))};
}

// Adds the gradient of each padded position to the border element it repeats, one dimension after
// the other.
template <typename T>
Tensors<T> ReplicationPadBackward(const Call<T>& c, size_t spatial) {
  Tensor<T> g = c.tensor(0);
  const Tensor<T> x = c.tensor(1);
  const std::vector<int64_t> pads = c.integers(2);
  Require(pads.size() == 2 * spatial && g.rank() == x.rank() &&
              x.rank() >= static_cast<int64_t>(spatial),
          "paddings that do not fit");
  for (size_t i = 0; i < spatial; ++i) {
    const auto dim = static_cast<size_t>(x.rank()) - 1 - i;
    Shape shape = g.shape;
    shape[dim] = x.shape[dim];
    Require(g.shape[dim] == x.shape[dim] + pads[2 * i] + pads[2 * i + 1] && x.shape[dim] > 0,
            "paddings that do not fit");
    Tensor<T> index(DType::kInt64, {g.shape[dim]});
    for (int64_t j = 0; j < g.shape[dim]; ++j) {
      index[j] =
          Number<T>(static_cast<double>(std::clamp<int64_t>(j - pads[2 * i], 0, x.shape[dim] - 1)));
    }
    Tensors<T> indices(dim + 1);
    indices.back() = index;
    g = IndexPut(Tensor<T>(g.dtype, shape, Number<T>(0)), indices, g, true);
  }
  return {g};
}
template <typename T>
Tensors<T> ReplicationPad2dBackward(const Call<T>& c) {
  return ReplicationPadBackward(c, 2);
}
template <typename T>
Tensors<T> ReplicationPad3dBackward(const Call<T>& c) {
  return ReplicationPadBackward(c, 3);
}

template <typename T>
Tensors<T> GatherDim(const Call<T>& c) {
  return {Gather(c.tensor(0), c.integer(1), c.tensor(2))};
}
template <typename T>
Tensors<T> ScatterSource(const Call<T>& c) {
  return {Scatter(c.tensor(0), c.integer(1), c.tensor(2), c.tensor(3), ScatterMode::kSet)};
}
template <typename T>
Tensors<T> ScatterAdd(const Call<T>& c) {
  return {Scatter(c.tensor(0), c.integer(1), c.tensor(2), c.tensor(3), ScatterMode::kAdd)};
}
template <typename T>
Tensors<T> ScatterReduce(const Call<T>& c) {
  const std::string kind = c.text(4);
  const bool include_self = c.flag(5);
  ScatterMode mode = ScatterMode::kSet;
  if (kind == "sum") {
    mode = ScatterMode::kAdd;
  } else if (kind == "prod") {
    mode = ScatterMode::kProd;
  } else if (kind == "amax") {
    mode = ScatterMode::kMax;
  } else if (kind == "amin") {
    mode = ScatterMode::kMin;
  } else if (kind == "mean") {
    mode = ScatterMode::kMean;
  } else {
    throw OperatorError("an unknown reduction");
  }
  Tensor<T> x = c.tensor(0);
  if (mode == ScatterMode::kAdd && !include_self) {
    // The elements that are hit start from 0.
    const Tensor<T> zero(x.dtype, {}, Number<T>(0));
    x = Scatter(x, c.integer(1), c.tensor(2), zero, ScatterMode::kSet);
  }
  return {Scatter(x, c.integer(1), c.tensor(2), c.tensor(3), mode, include_self)};
}
template <typename T>
Tensors<T> IndexTensors(const Call<T>& c) {
  return {Index(c.tensor(0), c.tensors(1))};
}
template <typename T>
Tensors<T> IndexSelectDim(const Call<T>& c) {
  return {IndexSelect(c.tensor(0), c.integer(1), c.tensor(2))};
}
template <typename T>
Tensors<T> IndexPutTensors(const Call<T>& c) {
  return {IndexPut(c.tensor(0), c.tensors(1), c.tensor(2), c.flag(3))};
}
template <typename T>
Tensors<T> IndexAdd(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  Require(x.rank() > 0, "an addition to a scalar");
  Tensors<T> indices(static_cast<size_t>(NormalizeDim(c.integer(1), x.rank())) + 1);
  const Tensor<T> index = c.tensor(2);
  indices.back() = index.rank() == 0 ? index.Reshaped({1}) : index;
  const T alpha = c.scalar(4);
  const Tensor<T> source = Map<T>(c.tensor(3), [&](const T& v) -> T { return alpha * v; });
  return {IndexPut(x, indices, source, true)};
}
template <typename T>
Tensors<T> Embedding(const Call<T>& c) {
  return {Index(c.tensor(0), {c.tensor(1)})};
}
template <typename T>
Tensors<T> EmbeddingBackward(const Call<T>& c) {
  const Tensor<T> g = c.tensor(0), indices = c.tensor(1);
  Require(!c.flag(4), "gradients scaled by frequency");
  Require(g.rank() == indices.rank() + 1, "a gradient of another rank");
  const int64_t rows = c.integer(2), padding = c.integer(3), width = g.shape.back();
  Tensor<T> result(g.dtype, {rows, width}, Number<T>(0));
  for (int64_t i = 0; i < indices.count(); ++i) {
    const int64_t row = IndexOf(indices[i], rows);
    if (row == padding) continue;
    for (int64_t j = 0; j < width; ++j)
      result[row * width + j] = result[row * width + j] + g[i * width + j];
  }
  return {result};
}

template <typename T>
Tensors<T> Triangle(const Call<T>& c, bool lower) {
  const Tensor<T> x = c.tensor(0);
  Require(x.rank() >= 2, "expected a matrix");
  const int64_t rows = x.size(x.rank() - 2), columns = x.size(x.rank() - 1),
                diagonal = c.integer(1);
  Tensor<T> result(x.dtype, x.shape, Number<T>(0));
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t distance = i % columns - i / columns % rows;
    if (lower ? distance <= diagonal : distance >= diagonal) result[i] = x[i];
  }
  return {result};
}
template <typename T>
Tensors<T> Tril(const Call<T>& c) {
  return Triangle(c, true);
}
template <typename T>
Tensors<T> Triu(const Call<T>& c) {
  return Triangle(c, false);
}

// The graph says shape and dtype of what is created.
template <typename T>
Tensors<T> Filled(const Call<T>& c, const T& value) {
  return {Convert(Tensor<T>(IsFloat(c.result().dtype) ? c.result().dtype : DType::kFloat64,
                            c.result().shape, value),
                  c.result().dtype)};
}
template <typename T>
Tensors<T> Full(const Call<T>& c) {
  return Filled(c, c.scalar(1));
}
template <typename T>
Tensors<T> FullLike(const Call<T>& c) {
  return Filled(c, c.scalar(1));
}
template <typename T>
Tensors<T> NewFull(const Call<T>& c) {
  return Filled(c, c.scalar(2));
}
template <typename T>
Tensors<T> ScalarTensor(const Call<T>& c) {
  return Filled(c, c.scalar(0));
}
template <typename T>
Tensors<T> Zeros(const Call<T>& c) {
  return Filled(c, Number<T>(0));
}
template <typename T>
Tensors<T> Ones(const Call<T>& c) {
  return Filled(c, Number<T>(1));
}

template <typename T>
Tensors<T> Progression(const Call<T>& c, const T& start, const T& step) {
  Tensor<T> result(c.result().dtype, c.result().shape);
  for (int64_t i = 0; i < result.count(); ++i)
    result[i] = start + Number<T>(static_cast<double>(i)) * step;
  return {result};
}
template <typename T>
Tensors<T> Arange(const Call<T>& c) {
  return Progression(c, c.scalar(0), c.scalar(2));
}
template <typename T>
Tensors<T> ArangeStart(const Call<T>& c) {
  return Progression(c, c.scalar(0), Number<T>(1));
}
template <typename T>
Tensors<T> ArangeEnd(const Call<T>& c) {
  return Progression(c, Number<T>(0), Number<T>(1));
}
template <typename T>
Tensors<T> Linspace(const Call<T>& c) {
  const T start = c.scalar(0);
  const int64_t steps = c.integer(2);
  const T step =
      (c.scalar(1) - start) / Number<T>(static_cast<double>(std::max<int64_t>(1, steps - 1)));
  return Progression(c, start, step);
}
template <typename T>
Tensors<T> Eye(const Call<T>& c) {
  const Shape& shape = c.result().shape;
  Require(shape.size() == 2, "expected a matrix");
  Tensor<T> result(c.result().dtype, shape, Number<T>(0));
  for (int64_t i = 0; i < std::min(shape[0], shape[1]); ++i)
    result[i * shape[1] + i] = Number<T>(1);
  return {result};
}

}  // namespace

template <typename T>
void AddLayout(ImplementationTable<T>* table) {
#define KS_LAYOUT(enumerator, name, implementation, ...) \
  table->Add(AtenOp::k##enumerator, &implementation<T>);
#define KS_CREATION(enumerator, name, implementation, ...) \
  table->Add(AtenOp::k##enumerator, &implementation<T>);
#include "graph/aten_ops.def"
}

#define KS_INSTANTIATE(T) template void AddLayout<T>(ImplementationTable<T>*);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
