// Reductions, scans, orders and matrix products.
#include <cmath>

#include "graph/call.h"
#include "tensor/layout.h"
#include "tensor/map.h"
#include "tensor/matmul.h"
#include "tensor/reduce.h"

namespace kernelsmith {
namespace {

template <typename T>
Tensors<T> Both(const std::pair<Tensor<T>, Tensor<T>>& pair) {
  return {pair.first, pair.second};
}

// x in the dtype argument, if there is one: a sum of int8 adds int64.
template <typename T>
Tensor<T> Converted(const Call<T>& c, size_t dtype_argument) {
  const Tensor<T> x = c.tensor(0);
  return Convert(x, c.dtype(dtype_argument).value_or(x.dtype));
}

template <typename T>
Tensors<T> SumAll(const Call<T>& c) {
  return {Sum(Converted(c, 1), {}, false)};
}
template <typename T>
Tensors<T> SumDims(const Call<T>& c) {
  return {Sum(Converted(c, 3), c.optional_integers(1), c.flag(2))};
}
template <typename T>
Tensors<T> MeanAll(const Call<T>& c) {
  return {Mean(Converted(c, 1), {}, false)};
}
template <typename T>
Tensors<T> MeanDims(const Call<T>& c) {
  return {Mean(Converted(c, 3), c.optional_integers(1), c.flag(2))};
}
template <typename T>
Tensors<T> ProdAll(const Call<T>& c) {
  return {Prod(Converted(c, 1), {}, false)};
}
template <typename T>
Tensors<T> ProdDim(const Call<T>& c) {
  return {Prod(Converted(c, 3), {c.integer(1)}, c.flag(2))};
}
template <typename T>
Tensors<T> Amax(const Call<T>& c) {
  return {Extreme(c.tensor(0), c.integers(1), c.flag(2), true)};
}
template <typename T>
Tensors<T> Amin(const Call<T>& c) {
  return {Extreme(c.tensor(0), c.integers(1), c.flag(2), false)};
}
template <typename T>
Tensors<T> MaxAll(const Call<T>& c) {
  return {Extreme(c.tensor(0), {}, false, true)};
}
template <typename T>
Tensors<T> MinAll(const Call<T>& c) {
  return {Extreme(c.tensor(0), {}, false, false)};
}
template <typename T>
Tensors<T> MaxDim(const Call<T>& c) {
  return Both(ExtremeAlong(c.tensor(0), c.integer(1), c.flag(2), true));
}
template <typename T>
Tensors<T> MinDim(const Call<T>& c) {
  return Both(ExtremeAlong(c.tensor(0), c.integer(1), c.flag(2), false));
}

template <typename T>
Tensors<T> ArgExtreme(const Call<T>& c, bool largest) {
  const Tensor<T> x = c.tensor(0);
  if (c.has(1)) return {ExtremeAlong(x, c.integer(1), c.flag(2), largest).second};
  Tensor<T> index = ExtremeAlong(x.Reshaped({x.count()}), 0, false, largest).second;
  return {c.flag(2) ? index.Reshaped(Shape(x.shape.size(), 1)) : index};
}
template <typename T>
Tensors<T> ArgMax(const Call<T>& c) {
  return ArgExtreme(c, true);
}
template <typename T>
Tensors<T> ArgMin(const Call<T>& c) {
  return ArgExtreme(c, false);
}

template <typename T>
Tensor<T> Negated(const Tensor<T>& x) {
  return Map<T>(x, [](const T& b) { return Select(b, MakeBool<T>(false), MakeBool<T>(true)); });
}
template <typename T>
Tensors<T> AnyAll(const Call<T>& c) {
  return {Any(c.tensor(0), {}, false)};
}
template <typename T>
Tensors<T> AnyDims(const Call<T>& c) {
  return {Any(c.tensor(0), c.optional_integers(1), c.flag(2))};
}
template <typename T>
Tensors<T> AllAll(const Call<T>& c) {
  return {Negated(Any(Negated(Convert(c.tensor(0), DType::kBool)), {}, false))};
}
template <typename T>
Tensors<T> AllDims(const Call<T>& c) {
  return {
      Negated(Any(Negated(Convert(c.tensor(0), DType::kBool)), c.optional_integers(1), c.flag(2)))};
}

template <typename T>
std::pair<Tensor<T>, Tensor<T>> Moments(const Call<T>& c) {
  return VarMean(c.tensor(0), c.optional_integers(1), c.has(2) ? c.number(2) : 1, c.flag(3));
}
template <typename T>
Tensors<T> Var(const Call<T>& c) {
  return {Moments(c).first};
}
template <typename T>
Tensors<T> VarAndMean(const Call<T>& c) {
  return Both(Moments(c));
}

template <typename T>
Tensors<T> LogSumExp(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  const Dims dims = c.integers(1);
  const bool keep = c.flag(2);
  // The shift cancels, so no tie in its choice matters.
  const Tensor<T> top = Map<T>(Extreme(x, dims, true, true), [](const T& a) -> T {
    return std::isinf(Float(a)) ? Number<T>(0) : a;
  });
  const Tensor<T> shifted = Map<T>(x, top, [](const T& a, const T& m) -> T { return Exp(a - m); });
  const Tensor<T> sum = Sum(shifted, dims, true);
  const Tensor<T> result = Map<T>(sum, top, [](const T& s, const T& m) -> T { return Log(s) + m; });
  return {keep ? result : result.Reshaped(c.result().shape)};
}

template <typename T>
Tensors<T> SoftmaxDim(const Call<T>& c) {
  return {Softmax(c.tensor(0), c.integer(1), false)};
}
template <typename T>
Tensors<T> LogSoftmaxDim(const Call<T>& c) {
  return {Softmax(c.tensor(0), c.integer(1), true)};
}
// y·(g − Σ g·y)
template <typename T>
Tensors<T> SoftmaxBackward(const Call<T>& c) {
  const Tensor<T> g = c.tensor(0), y = c.tensor(1);
  const Tensor<T> product = Map<T>(g, y, [](const T& a, const T& b) -> T { return a * b; });
  const Tensor<T> sum = Sum(product, {c.integer(2)}, true);
  const Tensor<T> centred = Map<T>(g, sum, [](const T& a, const T& s) -> T { return a - s; });
  return {Map<T>(y, centred, [](const T& a, const T& b) -> T { return a * b; })};
}
// g − exp(y)·Σ g
template <typename T>
Tensors<T> LogSoftmaxBackward(const Call<T>& c) {
  const Tensor<T> g = c.tensor(0);
  const Tensor<T> sum = Sum(g, {c.integer(2)}, true);
  return {Map<T>(g, c.tensor(1), sum,
                 [](const T& a, const T& y, const T& s) -> T { return a - Exp(y) * s; })};
}

template <typename T>
Tensors<T> CumSum(const Call<T>& c) {
  return {Cumulative(Converted(c, 2), c.integer(1), Scan::kSum)};
}
template <typename T>
Tensors<T> CumProd(const Call<T>& c) {
  return {Cumulative(Converted(c, 2), c.integer(1), Scan::kProd)};
}
template <typename T>
Tensors<T> LogCumSumExp(const Call<T>& c) {
  return {Cumulative(c.tensor(0), c.integer(1), Scan::kLogSumExp)};
}
template <typename T>
Tensors<T> CumMax(const Call<T>& c) {
  return Both(CumulativeExtreme(c.tensor(0), c.integer(1), true));
}
template <typename T>
Tensors<T> CumMin(const Call<T>& c) {
  return Both(CumulativeExtreme(c.tensor(0), c.integer(1), false));
}
template <typename T>
Tensors<T> SortDim(const Call<T>& c) {
  return Both(Sort(c.tensor(0), c.integer(1), c.flag(2)));
}
template <typename T>
Tensors<T> SortStable(const Call<T>& c) {
  return Both(Sort(c.tensor(0), c.integer(2), c.flag(3)));
}
template <typename T>
Tensors<T> TopKDim(const Call<T>& c) {
  return Both(TopK(c.tensor(0), c.integer(1), c.integer(2), c.flag(3)));
}
template <typename T>
Tensors<T> KthValueDim(const Call<T>& c) {
  const int64_t k = c.integer(1);
  Require(k >= 1, "a position below 1");
  return Both(KthValue(c.tensor(0), k, c.integer(2), c.flag(3)));
}
template <typename T>
Tensors<T> MedianDim(const Call<T>& c) {
  return Both(KthValue(c.tensor(0), 0, c.integer(1), c.flag(2)));
}

template <typename T>
Tensors<T> MatrixProduct(const Call<T>& c) {
  return {MatMul(c.tensor(0), c.tensor(1))};
}

// beta·bias + alpha·product
template <typename T>
Tensors<T> AddScaledProduct(const Call<T>& c, const Tensor<T>& product) {
  const T beta = c.scalar(3), alpha = c.scalar(4);
  const bool plain = c.number(3) == 1 && c.number(4) == 1;
  // A bias that is multiplied by 0 does not count, not even as NaN.
  const bool without_bias = c.number(3) == 0;
  return {Map<T>(product, c.tensor(0), [&](const T& x, const T& b) -> T {
    if (without_bias) return alpha * x;
    return plain ? x + b : beta * b + alpha * x;
  })};
}
template <typename T>
Tensors<T> AddMatrixProduct(const Call<T>& c) {
  return AddScaledProduct(c, MatMul(c.tensor(1), c.tensor(2)));
}
template <typename T>
Tensor<T> TimesVector(const Tensor<T>& matrix, const Tensor<T>& vector) {
  Require(matrix.rank() == 2 && vector.rank() == 1, "expected a matrix and a vector");
  return MatMul(matrix, vector.Reshaped({vector.count(), 1})).Reshaped({matrix.size(0)});
}
template <typename T>
Tensors<T> AddMatrixVector(const Call<T>& c) {
  return AddScaledProduct(c, TimesVector(c.tensor(1), c.tensor(2)));
}
template <typename T>
Tensors<T> MatrixVector(const Call<T>& c) {
  return {TimesVector(c.tensor(0), c.tensor(1))};
}
template <typename T>
Tensors<T> Dot(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0), y = c.tensor(1);
  Require(x.rank() == 1 && y.rank() == 1, "expected two vectors");
  return {MatMul(x.Reshaped({1, x.count()}), y.Reshaped({y.count(), 1})).Reshaped({})};
}

// The product of three tensors, each with dimensions of size 1 put in, summed over dimensions.
template <typename T>
Tensors<T> Trilinear(const Call<T>& c) {
  Tensor<T> product;
  for (size_t i = 0; i < 3; ++i) {
    Tensor<T> x = c.tensor(i);
    Shape shape = x.shape;
    for (const int64_t dim : c.integers(3 + i)) {
      Require(dim >= 0 && dim <= static_cast<int64_t>(shape.size()), "a dimension out of range");
      shape.insert(shape.begin() + dim, 1);
    }
    x = x.Reshaped(shape);
    product = i == 0 ? x : Map<T>(product, x, [](const T& a, const T& b) -> T { return a * b; });
  }
  const Dims dims = c.integers(6);
  return {dims.empty() ? product : Sum(product, dims, false)};
}

template <typename T>
Tensor<T> Differences(const Tensor<T>& x1, const Tensor<T>& x2) {
  Require(x1.rank() >= 2 && x2.rank() >= 2 && x1.shape.back() == x2.shape.back(),
          "points that do not fit");
  Shape left = x1.shape, right = x2.shape;
  left.insert(left.end() - 1, 1);
  right.insert(right.end() - 2, 1);
  return Map<T>(x1.Reshaped(left), x2.Reshaped(right),
                [](const T& a, const T& b) -> T { return a - b; });
}

template <typename T>
Tensors<T> Cdist(const Call<T>& c) {
  const double p = c.number(2);
  const Tensor<T> d = Differences(c.tensor(0), c.tensor(1));
  if (std::isinf(p))
    return {Extreme(Map<T>(d, [](const T& x) { return Abs(x); }), {-1}, false, true)};
  Require(p == 1 || p == 2, "a distance other than 1, 2 or inf");
  if (p == 1) return {Sum(Map<T>(d, [](const T& x) { return Abs(x); }), {-1}, false)};
  const Tensor<T> squares = Sum(Map<T>(d, [](const T& x) -> T { return x * x; }), {-1}, false);
  return {Map<T>(squares, [](const T& x) { return Sqrt(x); })};
}

template <typename T>
Tensors<T> CdistBackward(const Call<T>& c) {
  Require(c.number(3) == 2, "a distance other than 2");
  const Tensor<T> d = Differences(c.tensor(1), c.tensor(2));
  const Tensor<T> share = Map<T>(c.tensor(0), c.tensor(4), [](const T& g, const T& distance) -> T {
    return Float(distance) == 0 ? Number<T>(0) : g / distance;
  });
  Shape spread = share.shape;
  spread.push_back(1);
  const Tensor<T> terms =
      Map<T>(d, share.Reshaped(spread), [](const T& a, const T& s) -> T { return a * s; });
  return {Sum(terms, {-2}, false)};
}

}  // namespace

template <typename T>
void AddReductions(ImplementationTable<T>* table) {
#define KS_REDUCTION(enumerator, name, implementation, ...) \
  table->Add(AtenOp::k##enumerator, &implementation<T>);
#include "graph/aten_ops.def"
}
template <typename T>
void AddLinear(ImplementationTable<T>* table) {
#define KS_LINEAR(enumerator, name, implementation, ...) \
  table->Add(AtenOp::k##enumerator, &implementation<T>);
#include "graph/aten_ops.def"
}

#define KS_INSTANTIATE(T)                                  \
  template void AddReductions<T>(ImplementationTable<T>*); \
  template void AddLinear<T>(ImplementationTable<T>*);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
