#include "tensor/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/layout.h"
#include "tensor/map.h"
#include "tensor/matmul.h"

namespace kernelsmith {
namespace {

Dims AllIfEmpty(const Dims& dims, int64_t rank) {
  if (!dims.empty()) {
    const Dims normal = NormalizeDims(dims, rank);
    return rank == 0 ? Dims{} : normal;
  }
  Dims all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// x as [lines, n], the reduced dimensions last, and the shape of the result.
template <typename T>
struct Lines {
  Tensor<T> x;
  int64_t n = 1;
  Shape result_shape;
};

template <typename T>
Lines<T> ReducedLast(const Tensor<T>& x, const Dims& dims, bool keep) {
  const Dims reduced = AllIfEmpty(dims, x.rank());
  Lines<T> lines;
  std::vector<int64_t> order;
  int64_t kept = 1;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool is_reduced = std::binary_search(reduced.begin(), reduced.end(), d);
    if (is_reduced) {
      lines.n *= x.size(d);
      if (keep) lines.result_shape.push_back(1);
    } else {
      order.push_back(d);
      kept *= x.size(d);
      lines.result_shape.push_back(x.size(d));
    }
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  const bool in_place = std::is_sorted(order.begin(), order.end());
  lines.x = (in_place ? x : ReadView(x, PermuteView(x.shape, order))).Reshaped({kept, lines.n});
  return lines;
}

template <typename T>
Tensor<T> ReduceLines(const Lines<T>& lines, const std::function<T(const T*, int64_t)>& f) {
  Tensor<T> result(lines.x.dtype, lines.result_shape);
  ParallelFor(result.count(), std::max<int64_t>(1, 16384 / (1 + lines.n)),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  result[i] = f(lines.x.data() + i * lines.n, lines.n);
              });
  return result;
}

// Moves dim to the end and back: for operators along one dimension.
template <typename T>
Tensor<T> DimLast(const Tensor<T>& x, int64_t dim) {
  return x.rank() == 0 ? x.Reshaped({1}) : Transpose(x, dim, x.rank() - 1);
}
template <typename T>
Tensor<T> DimBack(const Tensor<T>& x, int64_t dim, int64_t rank) {
  return rank == 0 ? x.Reshaped({}) : Transpose(x, dim, rank - 1);
}

// value and index with the near ties that deciding it met.
template <typename T>
void TakeTaint(const T& decision, T* x) {
  *x = Select(decision, *x, *x);
}

// a before b in descending (or ascending) order; NaN counts as the largest.
bool Before(double a, double b, bool descending) {
  if (std::isnan(a)) return descending ? !std::isnan(b) : false;
  if (std::isnan(b)) return !descending;
  return descending ? a > b : a < b;
}

template <typename T>
bool IsNan(const T& x) {
  return std::isnan(Float(x));
}

template <typename T>
ValuesAndIndices<T> LastDimOf(const ValuesAndIndices<T>& sorted, int64_t from, int64_t n,
                              int64_t dim, int64_t rank, bool keep) {
  const auto cut = [&](const Tensor<T>& x) {
    Tensor<T> part = rank == 0 ? x : ReadView(x, SliceView(x.shape, dim, from, from + n, 1));
    if (!keep && rank > 0) {
      Shape shape = part.shape;
      shape.erase(shape.begin() + dim);
      part = part.Reshaped(shape);
    }
    return part;
  };
  return {cut(sorted.first), cut(sorted.second)};
}

}  // namespace

template <typename T>
Tensor<T> Sum(const Tensor<T>& x, const Dims& dims, bool keep) {
  return ReduceLines<T>(ReducedLast(x, dims, keep),
                        [](const T* line, int64_t n) { return SumOf(line, n, 1); });
}

template <typename T>
Tensor<T> Mean(const Tensor<T>& x, const Dims& dims, bool keep) {
  const Lines<T> lines = ReducedLast(x, dims, keep);
  const T n = Number<T>(static_cast<double>(lines.n));
  return ReduceLines<T>(lines,
                        [&](const T* line, int64_t count) { return SumOf(line, count, 1) / n; });
}

template <typename T>
Tensor<T> Prod(const Tensor<T>& x, const Dims& dims, bool keep) {
  return ReduceLines<T>(ReducedLast(x, dims, keep), [](const T* line, int64_t n) {
    T product = Number<T>(1);
    for (int64_t i = 0; i < n; ++i) product = product * line[i];
    return product;
  });
}

template <typename T>
Tensor<T> Extreme(const Tensor<T>& x, const Dims& dims, bool keep, bool largest) {
  const Lines<T> lines = ReducedLast(x, dims, keep);
  Require(lines.n > 0 || CountOrThrow(lines.result_shape) == 0, "the extreme of nothing");
  return ReduceLines<T>(lines, [&](const T* line, int64_t n) {
    T best = line[0];
    for (int64_t i = 1; i < n; ++i)
      best = largest ? Maximum(best, line[i]) : Minimum(best, line[i]);
    return best;
  });
}

template <typename T>
Tensor<T> Any(const Tensor<T>& x, const Dims& dims, bool keep) {
  return ReduceLines<T>(ReducedLast(x, dims, keep),
                        [](const T* line, int64_t n) {
                          T any = MakeBool<T>(false);
                          for (int64_t i = 0; i < n; ++i) {
                            T hit = MakeBool<T>(Float(line[i]) != 0);
                            TakeTaint(line[i], &hit);
                            // Once certain, another's near tie does not matter.
                            if (Float(hit) != 0) return hit;
                            TakeTaint(hit, &any);
                          }
                          return any;
                        })
      .WithDType(DType::kBool);
}

template <typename T>
std::pair<Tensor<T>, Tensor<T>> VarMean(const Tensor<T>& x, const Dims& dims, double correction,
                                        bool keep) {
  const Lines<T> lines = ReducedLast(x, dims, keep);
  const T n = Number<T>(static_cast<double>(lines.n));
  const T divisor =
      Constant<T>(std::max(0.0, static_cast<double>(lines.n) - correction), Precision::kFloat64);
  Tensor<T> mean(x.dtype, lines.result_shape);
  Tensor<T> var(x.dtype, lines.result_shape);
  ParallelFor(mean.count(), std::max<int64_t>(1, 16384 / (1 + lines.n)),
              [&](int64_t begin, int64_t end) {
                std::vector<T> squares(static_cast<size_t>(lines.n));
                for (int64_t i = begin; i < end; ++i) {
                  const T* line = lines.x.data() + i * lines.n;
                  mean[i] = SumOf(line, lines.n, 1) / n;
                  for (int64_t j = 0; j < lines.n; ++j) {
                    const T d = line[j] - mean[i];
                    squares[static_cast<size_t>(j)] = d * d;
                  }
                  var[i] = SumOf(squares.data(), lines.n, 1) / divisor;
                }
              });
  return {var, mean};
}

template <typename T>
ValuesAndIndices<T> ExtremeAlong(const Tensor<T>& x, int64_t dim, bool keep, bool largest) {
  const Lines<T> lines = ReducedLast(x, {dim}, keep);
  Require(lines.n > 0 || CountOrThrow(lines.result_shape) == 0, "the extreme of nothing");
  Tensor<T> values(x.dtype, lines.result_shape);
  Tensor<T> indices(DType::kInt64, lines.result_shape);
  for (int64_t i = 0; i < values.count(); ++i) {
    const T* line = lines.x.data() + i * lines.n;
    T best = line[0];
    T at = Number<T>(0);
    for (int64_t j = 1; j < lines.n; ++j) {
      if (IsNan(best)) break;
      const T better = IsNan(line[j]) ? MakeBool<T>(true)
                       : largest      ? Less(best, line[j])
                                      : Less(line[j], best);
      best = Select(better, line[j], best);
      at = Select(better, Number<T>(static_cast<double>(j)), at);
    }
    values[i] = best;
    indices[i] = at;
  }
  return {values, indices};
}

template <typename T>
ValuesAndIndices<T> Sort(const Tensor<T>& x, int64_t dim, bool descending) {
  const int64_t at = NormalizeDim(dim, x.rank());
  const Tensor<T> lines = DimLast(x, at);
  const int64_t n = lines.shape.back();
  Tensor<T> values(x.dtype, lines.shape);
  Tensor<T> indices(DType::kInt64, lines.shape);
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t start = 0; start < lines.count(); start += n) {
    const T* line = lines.data() + start;
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const double x = Float(line[a]), y = Float(line[b]);
      if (Before(x, y, descending)) return true;
      return !Before(y, x, descending) && a < b;  // stable
    });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t from = order[static_cast<size_t>(i)];
      values[start + i] = line[from];
      indices[start + i] = Number<T>(static_cast<double>(from));
    }
    for (int64_t i = 1; i < n; ++i) {
      const T decision =
          Less(line[order[static_cast<size_t>(i - 1)]], line[order[static_cast<size_t>(i)]]);
      for (const int64_t j : {start + i - 1, start + i}) {
        TakeTaint(decision, &values[j]);
        TakeTaint(decision, &indices[j]);
      }
    }
  }
  return {DimBack(values, at, x.rank()), DimBack(indices, at, x.rank())};
}

template <typename T>
ValuesAndIndices<T> TopK(const Tensor<T>& x, int64_t k, int64_t dim, bool largest) {
  const int64_t at = NormalizeDim(dim, x.rank());
  Require(k >= 0 && k <= (x.rank() == 0 ? 1 : x.size(at)), "more wanted than there are");
  return LastDimOf(Sort(x, at, largest), 0, k, at, x.rank(), true);
}

template <typename T>
ValuesAndIndices<T> KthValue(const Tensor<T>& x, int64_t k, int64_t dim, bool keep) {
  const int64_t at = NormalizeDim(dim, x.rank());
  const int64_t n = x.rank() == 0 ? 1 : x.size(at);
  const int64_t position = k == 0 ? (n + 1) / 2 : k;
  Require(position >= 1 && position <= n, "a position out of range");
  return LastDimOf(Sort(x, at, false), position - 1, 1, at, x.rank(), keep);
}

template <typename T>
Tensor<T> Cumulative(const Tensor<T>& x, int64_t dim, Scan scan) {
  const int64_t at = NormalizeDim(dim, x.rank());
  const Tensor<T> lines = DimLast(x, at);
  Tensor<T> result(x.dtype, lines.shape);
  const int64_t n = lines.shape.back();
  const int64_t count = n == 0 ? 0 : lines.count() / n;
  ParallelFor(count, std::max<int64_t>(1, 16384 / (1 + n)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* in = lines.data() + row * n;
      T* out = result.data() + row * n;
      out[0] = in[0];
      for (int64_t i = 1; i < n; ++i) {
        if (scan == Scan::kSum) {
          out[i] = out[i - 1] + in[i];
        } else if (scan == Scan::kProd) {
          out[i] = out[i - 1] * in[i];
        } else {
          const bool swap = Float(out[i - 1]) < Float(in[i]);
          const T& high = swap ? in[i] : out[i - 1];
          const T& low = swap ? out[i - 1] : in[i];
          out[i] = std::isinf(Float(high)) ? high : high + Log1p(Exp(low - high));
        }
      }
    }
  });
  return DimBack(result, at, x.rank());
}

template <typename T>
ValuesAndIndices<T> CumulativeExtreme(const Tensor<T>& x, int64_t dim, bool largest) {
  const int64_t at = NormalizeDim(dim, x.rank());
  const Tensor<T> lines = DimLast(x, at);
  Tensor<T> values(x.dtype, lines.shape);
  Tensor<T> indices(DType::kInt64, lines.shape);
  const int64_t n = lines.shape.back();
  for (int64_t i = 0; i < lines.count(); ++i) {
    if (i % n == 0) {
      values[i] = lines[i];
      indices[i] = Number<T>(0);
      continue;
    }
    const T& best = values[i - 1];
    // The last of equals, as in PyTorch.
    const T better = IsNan(lines[i]) ? MakeBool<T>(true)
                     : IsNan(best)   ? MakeBool<T>(false)
                     : largest       ? LessEqual(best, lines[i])
                                     : LessEqual(lines[i], best);
    values[i] = Select(better, lines[i], best);
    indices[i] = Select(better, Number<T>(static_cast<double>(i % n)), indices[i - 1]);
  }
  return {DimBack(values, at, x.rank()), DimBack(indices, at, x.rank())};
}

template <typename T>
Tensor<T> Softmax(const Tensor<T>& x, int64_t dim, bool log) {
  const int64_t at = NormalizeDim(dim, x.rank());
  const Tensor<T> lines = DimLast(x, at);
  Tensor<T> result(x.dtype, lines.shape);
  const int64_t n = lines.shape.back();
  const int64_t count = n == 0 ? 0 : lines.count() / n;
  ParallelFor(count, std::max<int64_t>(1, 4096 / (1 + n)), [&](int64_t begin, int64_t end) {
    std::vector<T> exps(static_cast<size_t>(n));
    for (int64_t row = begin; row < end; ++row) {
      const T* in = lines.data() + row * n;
      T* out = result.data() + row * n;
      // The shift cancels: no tie in its choice matters, so it follows the float alone.
      int64_t top = 0;
      bool has_nan = IsNan(in[0]);
      for (int64_t i = 1; i < n; ++i) {
        has_nan |= IsNan(in[i]);
        if (Float(in[i]) > Float(in[top])) top = i;
      }
      const T shift = has_nan ? Number<T>(std::numeric_limits<double>::quiet_NaN()) : in[top];
      for (int64_t i = 0; i < n; ++i) exps[static_cast<size_t>(i)] = Exp(in[i] - shift);
      const T sum = SumOf(exps.data(), n, 1);
      const T log_sum = log ? Log(sum) : sum;
      for (int64_t i = 0; i < n; ++i)
        out[i] = log ? in[i] - shift - log_sum : exps[static_cast<size_t>(i)] / sum;
    }
  });
  return DimBack(result, at, x.rank());
}

#define KS_INSTANTIATE(T)                                                                    \
  template Tensor<T> Sum<T>(const Tensor<T>&, const Dims&, bool);                            \
  template Tensor<T> Mean<T>(const Tensor<T>&, const Dims&, bool);                           \
  template Tensor<T> Prod<T>(const Tensor<T>&, const Dims&, bool);                           \
  template Tensor<T> Extreme<T>(const Tensor<T>&, const Dims&, bool, bool);                  \
  template Tensor<T> Any<T>(const Tensor<T>&, const Dims&, bool);                            \
  template std::pair<Tensor<T>, Tensor<T>> VarMean<T>(const Tensor<T>&, const Dims&, double, \
                                                      bool);                                 \
  template ValuesAndIndices<T> ExtremeAlong<T>(const Tensor<T>&, int64_t, bool, bool);       \
  template ValuesAndIndices<T> Sort<T>(const Tensor<T>&, int64_t, bool);                     \
  template ValuesAndIndices<T> TopK<T>(const Tensor<T>&, int64_t, int64_t, bool);            \
  template ValuesAndIndices<T> KthValue<T>(const Tensor<T>&, int64_t, int64_t, bool);        \
  template Tensor<T> Cumulative<T>(const Tensor<T>&, int64_t, Scan);                         \
  template ValuesAndIndices<T> CumulativeExtreme<T>(const Tensor<T>&, int64_t, bool);        \
  template Tensor<T> Softmax<T>(const Tensor<T>&, int64_t, bool);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
