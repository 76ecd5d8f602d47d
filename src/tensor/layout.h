// Operators that move elements: views, concatenation, gathering and scattering.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace kernelsmith {

// Which element of a row-major tensor each element of a view is. Views of all kinds (permuted,
// expanded, sliced, flipped, diagonal, sliding) are of this form; reading one copies it.
struct View {
  Shape shape;
  Shape strides;
  int64_t offset = 0;
};

View WholeView(const Shape& shape);
View PermuteView(const Shape& shape, const std::vector<int64_t>& dims);
View ExpandView(const Shape& shape, const std::vector<int64_t>& sizes);
// Bounds are clamped as in Python; step must be positive.
View SliceView(const Shape& shape, int64_t dim, std::optional<int64_t> start,
               std::optional<int64_t> end, int64_t step);
View SelectView(const Shape& shape, int64_t dim, int64_t index);
View FlipView(const Shape& shape, const std::vector<int64_t>& dims);
View DiagonalView(const Shape& shape, int64_t offset, int64_t dim1, int64_t dim2);
View UnfoldView(const Shape& shape, int64_t dim, int64_t size, int64_t step);
// As given; throws if an element would lie outside of `count` elements.
View StridedView(const Shape& shape, const Shape& strides, int64_t offset, int64_t count);

template <typename T>
Tensor<T> ReadView(const Tensor<T>& x, const View& view);
// A copy of x in which the view's elements are those of `source` (broadcast to the view's shape).
template <typename T>
Tensor<T> WriteView(const Tensor<T>& x, const View& view, const Tensor<T>& source);

template <typename T>
Tensor<T> Transpose(const Tensor<T>& x, int64_t dim1, int64_t dim2);
template <typename T>
Tensor<T> Concatenate(const std::vector<Tensor<T>>& parts, int64_t dim);
template <typename T>
Tensor<T> Repeat(const Tensor<T>& x, const std::vector<int64_t>& repeats);
// pads: (left, right) of the last dimension, then of the one before, ...; negative ones crop.
template <typename T>
Tensor<T> PadConstant(const Tensor<T>& x, const std::vector<int64_t>& pads, const T& value);

template <typename T>
Tensor<T> Gather(const Tensor<T>& x, int64_t dim, const Tensor<T>& index);
enum class ScatterMode { kSet, kAdd, kProd, kMax, kMin, kMean };
template <typename T>
Tensor<T> Scatter(const Tensor<T>& x, int64_t dim, const Tensor<T>& index, const Tensor<T>& source,
                  ScatterMode mode, bool include_self = true);
template <typename T>
Tensor<T> IndexSelect(const Tensor<T>& x, int64_t dim, const Tensor<T>& index);
// x[indices...]: one entry a dimension, undefined ones taken whole; boolean masks are not
// supported.
template <typename T>
Tensor<T> Index(const Tensor<T>& x, const std::vector<Tensor<T>>& indices);
template <typename T>
Tensor<T> IndexPut(const Tensor<T>& x, const std::vector<Tensor<T>>& indices,
                   const Tensor<T>& values, bool accumulate);

// The element as an index into a dimension of `size`, negative counted from the end.
template <typename T>
int64_t IndexOf(const T& element, int64_t size);

}  // namespace kernelsmith
