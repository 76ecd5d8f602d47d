#include "tensor/layout.h"

#include <algorithm>
#include <cmath>

#include "tensor/map.h"

namespace kernelsmith {

View WholeView(const Shape& shape) { return {shape, RowMajorStrides(shape), 0}; }

View PermuteView(const Shape& shape, const std::vector<int64_t>& dims) {
  Require(dims.size() == shape.size(), "a permutation of another rank");
  const auto rank = static_cast<int64_t>(shape.size());
  NormalizeDims(dims, rank);
  const Shape strides = RowMajorStrides(shape);
  View view;
  for (const int64_t dim : dims) {
    const auto at = static_cast<size_t>(NormalizeDim(dim, rank));
    view.shape.push_back(shape[at]);
    view.strides.push_back(strides[at]);
  }
  return view;
}

View ExpandView(const Shape& shape, const std::vector<int64_t>& sizes) {
  Require(sizes.size() >= shape.size(), "an expansion to fewer dimensions");
  const size_t added = sizes.size() - shape.size();
  const Shape own = RowMajorStrides(shape);
  View view{.shape = sizes, .strides = Shape(sizes.size(), 0)};
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t& size = view.shape[added + i];
    if (size == -1) size = shape[i];
    Require(shape[i] == size || shape[i] == 1, "an expansion that does not fit");
    if (shape[i] == size) view.strides[added + i] = own[i];
  }
  for (size_t i = 0; i < added; ++i) Require(view.shape[i] >= 0, "an expansion that does not fit");
  return view;
}

View SliceView(const Shape& shape, int64_t dim, std::optional<int64_t> start,
               std::optional<int64_t> end, int64_t step) {
  Require(!shape.empty() && step > 0, "a slice of a scalar or with a step below 1");
  const auto at = static_cast<size_t>(NormalizeDim(dim, static_cast<int64_t>(shape.size())));
  const int64_t size = shape[at];
  const auto clamp = [&](int64_t x) { return std::clamp<int64_t>(x < 0 ? x + size : x, 0, size); };
  const int64_t first = clamp(start.value_or(0));
  const int64_t last = std::max(first, clamp(end.value_or(size)));
  View view = WholeView(shape);
  view.offset = first * view.strides[at];
  view.shape[at] = (last - first) / step + ((last - first) % step != 0);
  // A huge step is taken at most 0 times.
  if (view.shape[at] > 1) view.strides[at] *= step;
  return view;
}

View SelectView(const Shape& shape, int64_t dim, int64_t index) {
  Require(!shape.empty(), "a selection from a scalar");
  const auto at = static_cast<size_t>(NormalizeDim(dim, static_cast<int64_t>(shape.size())));
  Require(index >= -shape[at] && index < shape[at], "an index out of range");
  View view = WholeView(shape);
  view.offset = (index < 0 ? index + shape[at] : index) * view.strides[at];
  view.shape.erase(view.shape.begin() + static_cast<int64_t>(at));
  view.strides.erase(view.strides.begin() + static_cast<int64_t>(at));
  return view;
}

View FlipView(const Shape& shape, const std::vector<int64_t>& dims) {
  View view = WholeView(shape);
  if (shape.empty()) return view;
  for (const int64_t dim : NormalizeDims(dims, static_cast<int64_t>(shape.size()))) {
    const auto at = static_cast<size_t>(dim);
    view.offset += std::max<int64_t>(0, shape[at] - 1) * view.strides[at];
    view.strides[at] = -view.strides[at];
  }
  return view;
}

View DiagonalView(const Shape& shape, int64_t offset, int64_t dim1, int64_t dim2) {
  const auto rank = static_cast<int64_t>(shape.size());
  Require(rank >= 2, "a diagonal of fewer than two dimensions");
  const auto first = static_cast<size_t>(NormalizeDim(dim1, rank));
  const auto second = static_cast<size_t>(NormalizeDim(dim2, rank));
  Require(first != second && std::abs(offset) < (int64_t{1} << 40), "a diagonal of one dimension");
  const Shape strides = RowMajorStrides(shape);
  View view;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == first || i == second) continue;
    view.shape.push_back(shape[i]);
    view.strides.push_back(strides[i]);
  }
  const int64_t length = offset >= 0 ? std::min(shape[first], shape[second] - offset)
                                     : std::min(shape[first] + offset, shape[second]);
  view.shape.push_back(std::max<int64_t>(0, length));
  view.strides.push_back(strides[first] + strides[second]);
  if (length > 0) view.offset = offset >= 0 ? offset * strides[second] : -offset * strides[first];
  return view;
}

View UnfoldView(const Shape& shape, int64_t dim, int64_t size, int64_t step) {
  const auto at = static_cast<size_t>(NormalizeDim(dim, static_cast<int64_t>(shape.size())));
  Require(at < shape.size() && size >= 0 && size <= shape[at] && step > 0,
          "an unfolding that does not fit");
  View view = WholeView(shape);
  view.shape.push_back(size);
  view.strides.push_back(view.strides[at]);
  view.shape[at] = (shape[at] - size) / step + 1;
  if (view.shape[at] > 1) view.strides[at] *= step;
  return view;
}

View StridedView(const Shape& shape, const Shape& strides, int64_t offset, int64_t count) {
  Require(shape.size() == strides.size(), "sizes and strides of different rank");
  if (CountOrThrow(shape) > 0) {
    // In double, so that nothing a file says can overflow.
    double low = static_cast<double>(offset), high = low;
    for (size_t i = 0; i < shape.size(); ++i) {
      const double reach = static_cast<double>(strides[i]) * static_cast<double>(shape[i] - 1);
      (reach < 0 ? low : high) += reach;
    }
    Require(low >= 0 && high < static_cast<double>(count), "a strided view out of range");
  }
  return {shape, strides, offset};
}

namespace {

// Calls body(position in the view, offset in the tensor) for the rows of the view, which may be
// empty.
template <typename F>
void ForEachRow(const View& view, const F& body) {
  const int64_t count = CountOrThrow(view.shape);
  if (count == 0) return;
  const size_t rank = view.shape.size();
  const int64_t inner = rank == 0 ? 1 : view.shape.back();
  ParallelFor(count / inner, std::max<int64_t>(1, 65536 / inner), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, offset = view.offset;
      for (size_t d = rank; d-- > 1;) {
        offset += rest % view.shape[d - 1] * view.strides[d - 1];
        rest /= view.shape[d - 1];
      }
      body(row * inner, offset, inner, rank == 0 ? 0 : view.strides.back());
    }
  });
}

}  // namespace

template <typename T>
Tensor<T> ReadView(const Tensor<T>& x, const View& view) {
  Tensor<T> result(x.dtype, view.shape);
  ForEachRow(view, [&](int64_t position, int64_t offset, int64_t n, int64_t stride) {
    T* out = result.data() + position;
    const T* in = x.data() + offset;
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  });
  return result;
}

template <typename T>
Tensor<T> WriteView(const Tensor<T>& x, const View& view, const Tensor<T>& source) {
  Tensor<T> result = ReadView(x, WholeView(x.shape));
  const Tensor<T> values = ReadView(source, ExpandView(source.shape, view.shape));
  ForEachRow(view, [&](int64_t position, int64_t offset, int64_t n, int64_t stride) {
    const T* in = values.data() + position;
    T* out = result.data() + offset;
    for (int64_t i = 0; i < n; ++i) out[i * stride] = in[i];
  });
  return result;
}

template <typename T>
Tensor<T> Transpose(const Tensor<T>& x, int64_t dim1, int64_t dim2) {
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  std::swap(dims[static_cast<size_t>(NormalizeDim(dim1, x.rank()))],
            dims[static_cast<size_t>(NormalizeDim(dim2, x.rank()))]);
  return ReadView(x, PermuteView(x.shape, dims));
}

template <typename T>
Tensor<T> Concatenate(const std::vector<Tensor<T>>& all_parts, int64_t dim) {
  std::vector<const Tensor<T>*> parts;
  // An empty vector joins anything, by an old rule of PyTorch.
  for (const Tensor<T>& part : all_parts) {
    if (part.shape != Shape{0}) parts.push_back(&part);
  }
  Require(!all_parts.empty(), "a concatenation of nothing");
  if (parts.empty()) return all_parts.front();
  Shape shape = parts[0]->shape;
  const auto at = static_cast<size_t>(NormalizeDim(dim, parts[0]->rank()));
  Require(at < shape.size(), "a concatenation of scalars");
  shape[at] = 0;
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < shape.size(); ++i) (i < at ? outer : inner) *= i == at ? 1 : shape[i];
  for (const Tensor<T>* part : parts) {
    Require(part->shape.size() == shape.size(), "a concatenation of different ranks");
    for (size_t i = 0; i < shape.size(); ++i) {
      Require(i == at || part->shape[i] == shape[i], "a concatenation of shapes that do not fit");
    }
    shape[at] += part->shape[at];
  }
  Tensor<T> result(parts[0]->dtype, shape);
  T* out = result.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor<T>* part : parts) {
      const int64_t n = part->shape[at] * inner;
      std::copy(part->data() + o * n, part->data() + (o + 1) * n, out);
      out += n;
    }
  }
  return result;
}

template <typename T>
Tensor<T> Repeat(const Tensor<T>& x, const std::vector<int64_t>& repeats) {
  Require(repeats.size() >= x.shape.size(), "fewer repeats than dimensions");
  // [r0, s0, r1, s1, ...] expanded, then merged in pairs.
  Shape single, expanded, merged;
  const size_t added = repeats.size() - x.shape.size();
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t size = i < added ? 1 : x.shape[i - added];
    Require(repeats[i] >= 0, "a negative repeat");
    single.insert(single.end(), {1, size});
    expanded.insert(expanded.end(), {repeats[i], size});
    CountOrThrow(expanded);
    merged.push_back(repeats[i] * size);
  }
  const Tensor<T> source = x.Reshaped(single);
  return ReadView(source, ExpandView(single, expanded)).Reshaped(merged);
}

template <typename T>
Tensor<T> PadConstant(const Tensor<T>& x, const std::vector<int64_t>& pads, const T& value) {
  Require(pads.size() % 2 == 0 && pads.size() / 2 <= x.shape.size(), "paddings that do not fit");
  Shape shape = x.shape;
  View inside = WholeView(x.shape);  // the part of x that remains
  Shape starts(shape.size(), 0);     // where it goes
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const size_t dim = shape.size() - 1 - i;
    const int64_t left = pads[2 * i], right = pads[2 * i + 1];
    Require(std::max(std::abs(left), std::abs(right)) < (int64_t{1} << 40),
            "a padding out of range");
    shape[dim] += left + right;
    Require(shape[dim] >= 0, "a crop larger than the tensor");
    const int64_t cropped_left = std::max<int64_t>(0, -left),
                  cropped_right = std::max<int64_t>(0, -right);
    inside.shape[dim] = std::max<int64_t>(0, inside.shape[dim] - cropped_left - cropped_right);
    inside.offset += cropped_left * inside.strides[dim];
    starts[dim] = std::max<int64_t>(0, left);
  }
  Tensor<T> result(x.dtype, shape, value);
  View target{.shape = inside.shape, .strides = RowMajorStrides(shape)};
  if (CountOrThrow(target.shape) == 0) return result;
  for (size_t i = 0; i < shape.size(); ++i) target.offset += starts[i] * target.strides[i];
  return WriteView(result, target, ReadView(x, inside));
}

template <typename T>
int64_t IndexOf(const T& element, int64_t size) {
  const double value = Float(element);
  Require(value >= -static_cast<double>(size) && value < static_cast<double>(size),
          "an index out of range");
  const auto index = static_cast<int64_t>(value);
  return index < 0 ? index + size : index;
}

namespace {

// x with the taint of the index that chose it.
template <typename T>
T Chosen(const T& x, const T& index) {
  static_cast<void>(index);
  return x;
}
template <>
Symbolic Chosen(const Symbolic& x, const Symbolic& index) {
  Symbolic result = x;
  result.s.flags |= index.s.history() & kNearTie;
  return result;
}

struct ScatterGeometry {
  Shape strides;
  size_t dim = 0;
  int64_t size = 1;
};

template <typename T>
ScatterGeometry CheckScatter(const Tensor<T>& x, int64_t dim, const Tensor<T>& index) {
  ScatterGeometry g{.strides = RowMajorStrides(x.shape)};
  g.dim = static_cast<size_t>(NormalizeDim(dim, x.rank()));
  Require(std::max<int64_t>(1, index.rank()) == std::max<int64_t>(1, x.rank()),
          "an index of another rank");
  if (x.rank() > 0 && index.rank() > 0) {
    g.size = x.shape[g.dim];
    for (size_t i = 0; i < x.shape.size(); ++i) {
      Require(i == g.dim || index.shape[i] <= x.shape[i], "an index larger than the tensor");
    }
  }
  return g;
}

// The offset in x of the element that `index`'s element number i names.
template <typename T>
int64_t ScatterOffset(const ScatterGeometry& g, const Tensor<T>& index, int64_t i) {
  const int64_t chosen = IndexOf(index[i], g.size);
  if (index.rank() == 0 || g.strides.empty()) return chosen;
  int64_t offset = 0, rest = i;
  for (size_t d = index.shape.size(); d-- > 0;) {
    const int64_t at = rest % index.shape[d];
    rest /= index.shape[d];
    offset += (d == g.dim ? chosen : at) * g.strides[d];
  }
  return offset;
}

}  // namespace

template <typename T>
Tensor<T> Gather(const Tensor<T>& x, int64_t dim, const Tensor<T>& index) {
  const ScatterGeometry g = CheckScatter(x, dim, index);
  Tensor<T> result(x.dtype, index.shape);
  for (int64_t i = 0; i < index.count(); ++i)
    result[i] = Chosen(x[ScatterOffset(g, index, i)], index[i]);
  return result;
}

template <typename T>
Tensor<T> Scatter(const Tensor<T>& x, int64_t dim, const Tensor<T>& index, const Tensor<T>& source,
                  ScatterMode mode, bool include_self) {
  const ScatterGeometry g = CheckScatter(x, dim, index);
  Tensor<T> result = ReadView(x, WholeView(x.shape));
  Require(source.rank() == 0 || source.rank() == index.rank(), "a source of another rank");
  const Shape source_strides = RowMajorStrides(source.shape);
  for (size_t d = 0; d < source.shape.size(); ++d) {
    Require(index.shape[d] <= source.shape[d], "an index larger than the source");
  }
  std::vector<int64_t> hits(
      mode == ScatterMode::kSet || mode == ScatterMode::kAdd ? 0 : static_cast<size_t>(x.count()));
  for (int64_t i = 0; i < index.count(); ++i) {
    int64_t from = 0, rest = i;
    for (size_t d = source.shape.size(); d-- > 0;) {
      from += rest % index.shape[d] * source_strides[d];
      rest /= index.shape[d];
    }
    const int64_t to = ScatterOffset(g, index, i);
    const T value = Chosen(source[from], index[i]);
    const bool first = !hits.empty() && !include_self && hits[static_cast<size_t>(to)] == 0;
    if (!hits.empty()) ++hits[static_cast<size_t>(to)];
    T& target = result[to];
    if (mode == ScatterMode::kSet || first) {
      target = value;
    } else if (mode == ScatterMode::kProd) {
      target = target * value;
    } else if (mode == ScatterMode::kMax) {
      target = Maximum(target, value);
    } else if (mode == ScatterMode::kMin) {
      target = Minimum(target, value);
    } else {
      target = target + value;
    }
  }
  if (mode == ScatterMode::kMean) {
    for (int64_t i = 0; i < result.count(); ++i) {
      const int64_t n = hits[static_cast<size_t>(i)] + (include_self ? 1 : 0);
      if (n > 1) result[i] = result[i] / Number<T>(static_cast<double>(n));
    }
  }
  return result;
}

template <typename T>
Tensor<T> IndexSelect(const Tensor<T>& x, int64_t dim, const Tensor<T>& index) {
  if (x.rank() == 0) return x;
  std::vector<Tensor<T>> indices(static_cast<size_t>(NormalizeDim(dim, x.rank())) + 1);
  Require(index.rank() <= 1, "an index of more than one dimension");
  indices.back() = index.rank() == 0 ? index.Reshaped({1}) : index;
  return Index(x, indices);
}

namespace {

// How x[indices] lies in x: the result is [before..., joint..., after...].
template <typename T>
struct IndexPlan {
  Shape result_shape;
  Shape joint;                     // the broadcast shape of the indices
  std::vector<Tensor<T>> indices;  // broadcast to it; one a dimension that has one
  std::vector<size_t> indexed_dims;
  Shape kept_shape;  // sizes of the dimensions taken whole, in order
  Shape kept_strides;
  size_t joint_at = 0;  // among the kept dimensions, where the joint ones are put
};

template <typename T>
IndexPlan<T> PlanIndex(const Tensor<T>& x, const std::vector<Tensor<T>>& indices) {
  Require(indices.size() <= x.shape.size(), "more indices than dimensions");
  IndexPlan<T> plan;
  const Shape strides = RowMajorStrides(x.shape);
  bool adjacent = true;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (d < indices.size() && indices[d].defined()) {
      Require(indices[d].dtype != DType::kBool, "an index by a boolean mask");
      plan.joint = plan.indexed_dims.empty() ? indices[d].shape
                                             : BroadcastShapes(plan.joint, indices[d].shape);
      if (plan.indexed_dims.empty()) {
        plan.joint_at = plan.kept_shape.size();
      } else {
        adjacent = adjacent && plan.indexed_dims.back() + 1 == d;
      }
      plan.indexed_dims.push_back(d);
    } else {
      plan.kept_shape.push_back(x.shape[d]);
      plan.kept_strides.push_back(strides[d]);
    }
  }
  Require(!plan.indexed_dims.empty(), "an index without indices");
  // NumPy's rule: indices that are not adjacent go to the front.
  if (!adjacent) plan.joint_at = 0;
  for (const size_t d : plan.indexed_dims) {
    plan.indices.push_back(ReadView(indices[d], ExpandView(indices[d].shape, plan.joint)));
  }
  const auto split = plan.kept_shape.begin() + static_cast<int64_t>(plan.joint_at);
  plan.result_shape.assign(plan.kept_shape.begin(), split);
  plan.result_shape.insert(plan.result_shape.end(), plan.joint.begin(), plan.joint.end());
  plan.result_shape.insert(plan.result_shape.end(), split, plan.kept_shape.end());
  return plan;
}

// Calls body(position in the result, offset in x, the joint position).
template <typename T, typename F>
void ForEachIndexed(const Tensor<T>& x, const IndexPlan<T>& plan, const F& body) {
  const Shape strides = RowMajorStrides(x.shape);
  const int64_t joint_count = CountOrThrow(plan.joint);
  std::vector<int64_t> joint_offsets(static_cast<size_t>(joint_count));
  for (int64_t i = 0; i < joint_count; ++i) {
    int64_t offset = 0;
    for (size_t n = 0; n < plan.indices.size(); ++n) {
      const size_t d = plan.indexed_dims[n];
      offset += IndexOf(plan.indices[n][i], x.shape[d]) * strides[d];
    }
    joint_offsets[static_cast<size_t>(i)] = offset;
  }
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < plan.kept_shape.size(); ++i)
    (i < plan.joint_at ? before : after) *= plan.kept_shape[i];
  const auto kept_offset = [&](int64_t position, size_t begin, size_t end) {
    int64_t offset = 0;
    for (size_t d = end; d-- > begin;) {
      offset += position % plan.kept_shape[d] * plan.kept_strides[d];
      position /= plan.kept_shape[d];
    }
    return offset;
  };
  int64_t position = 0;
  for (int64_t b = 0; b < before; ++b) {
    const int64_t b_offset = kept_offset(b, 0, plan.joint_at);
    for (int64_t j = 0; j < joint_count; ++j) {
      for (int64_t a = 0; a < after; ++a) {
        body(position++,
             b_offset + joint_offsets[static_cast<size_t>(j)] +
                 kept_offset(a, plan.joint_at, plan.kept_shape.size()),
             j);
      }
    }
  }
}

}  // namespace

template <typename T>
Tensor<T> Index(const Tensor<T>& x, const std::vector<Tensor<T>>& indices) {
  const IndexPlan<T> plan = PlanIndex(x, indices);
  Tensor<T> result(x.dtype, plan.result_shape);
  ForEachIndexed(x, plan, [&](int64_t position, int64_t offset, int64_t joint) {
    T value = x[offset];
    for (const Tensor<T>& index : plan.indices) value = Chosen(value, index[joint]);
    result[position] = value;
  });
  return result;
}

template <typename T>
Tensor<T> IndexPut(const Tensor<T>& x, const std::vector<Tensor<T>>& indices,
                   const Tensor<T>& values, bool accumulate) {
  // A mask with one value for all is a selection.
  if (indices.size() == 1 && indices[0].defined() && indices[0].dtype == DType::kBool &&
      values.count() == 1 && !accumulate) {
    Shape aligned = indices[0].shape;
    Require(aligned.size() <= x.shape.size(), "a mask of more dimensions than the tensor");
    aligned.resize(x.shape.size(), 1);
    const Tensor<T> mask = indices[0].Reshaped(aligned);
    const Tensor<T> value = values.Reshaped({});
    return Map<T>(mask, value, x,
                  [](const T& m, const T& v, const T& old) { return Select(m, v, old); })
        .WithDType(x.dtype);
  }
  const IndexPlan<T> plan = PlanIndex(x, indices);
  Tensor<T> result = ReadView(x, WholeView(x.shape));
  const Tensor<T> source = ReadView(values, ExpandView(values.shape, plan.result_shape));
  ForEachIndexed(x, plan, [&](int64_t position, int64_t offset, int64_t joint) {
    T value = source[position];
    for (const Tensor<T>& index : plan.indices) value = Chosen(value, index[joint]);
    result[offset] = accumulate ? result[offset] + value : value;
  });
  return result;
}

#define KS_INSTANTIATE(T)                                                                      \
  template Tensor<T> ReadView<T>(const Tensor<T>&, const View&);                               \
  template Tensor<T> WriteView<T>(const Tensor<T>&, const View&, const Tensor<T>&);            \
  template Tensor<T> Transpose<T>(const Tensor<T>&, int64_t, int64_t);                         \
  template Tensor<T> Concatenate<T>(const std::vector<Tensor<T>>&, int64_t);                   \
  template Tensor<T> Repeat<T>(const Tensor<T>&, const std::vector<int64_t>&);                 \
  template Tensor<T> PadConstant<T>(const Tensor<T>&, const std::vector<int64_t>&, const T&);  \
  template int64_t IndexOf<T>(const T&, int64_t);                                              \
  template Tensor<T> Gather<T>(const Tensor<T>&, int64_t, const Tensor<T>&);                   \
  template Tensor<T> Scatter<T>(const Tensor<T>&, int64_t, const Tensor<T>&, const Tensor<T>&, \
                                ScatterMode, bool);                                            \
  template Tensor<T> IndexSelect<T>(const Tensor<T>&, int64_t, const Tensor<T>&);              \
  template Tensor<T> Index<T>(const Tensor<T>&, const std::vector<Tensor<T>>&);                \
  template Tensor<T> IndexPut<T>(const Tensor<T>&, const std::vector<Tensor<T>>&,              \
                                 const Tensor<T>&, bool);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
