// Operators along dimensions: reductions, scans, orders.
#pragma once

#include <optional>
#include <utility>

#include "tensor/tensor.h"

namespace kernelsmith {

using Dims = std::vector<int64_t>;

// Dims that are empty mean all of them.
template <typename T>
Tensor<T> Sum(const Tensor<T>& x, const Dims& dims, bool keep);
template <typename T>
Tensor<T> Mean(const Tensor<T>& x, const Dims& dims, bool keep);
template <typename T>
Tensor<T> Prod(const Tensor<T>& x, const Dims& dims, bool keep);
template <typename T>
Tensor<T> Extreme(const Tensor<T>& x, const Dims& dims, bool keep, bool largest);
template <typename T>
Tensor<T> Any(const Tensor<T>& x, const Dims& dims, bool keep);
// Σ(x − mean)² / max(0, n − correction), and the mean.
template <typename T>
std::pair<Tensor<T>, Tensor<T>> VarMean(const Tensor<T>& x, const Dims& dims, double correction,
                                        bool keep);

template <typename T>
using ValuesAndIndices = std::pair<Tensor<T>, Tensor<T>>;
// The largest or smallest and (the first of) its positions.
template <typename T>
ValuesAndIndices<T> ExtremeAlong(const Tensor<T>& x, int64_t dim, bool keep, bool largest);
template <typename T>
ValuesAndIndices<T> Sort(const Tensor<T>& x, int64_t dim, bool descending);
template <typename T>
ValuesAndIndices<T> TopK(const Tensor<T>& x, int64_t k, int64_t dim, bool largest);
// The k-th smallest, from 1; k = 0 means the lower median.
template <typename T>
ValuesAndIndices<T> KthValue(const Tensor<T>& x, int64_t k, int64_t dim, bool keep);

enum class Scan { kSum, kProd, kLogSumExp };
template <typename T>
Tensor<T> Cumulative(const Tensor<T>& x, int64_t dim, Scan scan);
template <typename T>
ValuesAndIndices<T> CumulativeExtreme(const Tensor<T>& x, int64_t dim, bool largest);

template <typename T>
Tensor<T> Softmax(const Tensor<T>& x, int64_t dim, bool log);

}  // namespace kernelsmith
