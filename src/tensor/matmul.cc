#include "tensor/matmul.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace kernelsmith {
namespace {

// Rows of c at a time: 4 share each loaded row of b. Columns: 512 doubles of 4 rows of c and a row
// of b stay in the first-level cache.
constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 512;
constexpr int64_t kDepth = 256;

template <typename V>
void GemmRows(int64_t rows, int64_t n, int64_t k, const V* a, const V* b, V* c) {
  std::fill(c, c + rows * n, V(0));
  for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
    const int64_t k1 = std::min(k, k0 + kDepth);
    for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
      const int64_t width = std::min(n - j0, kColumns);
      int64_t i = 0;
      for (; i + kRows <= rows; i += kRows) {
        V* __restrict c0 = c + (i + 0) * n + j0;
        V* __restrict c1 = c + (i + 1) * n + j0;
        V* __restrict c2 = c + (i + 2) * n + j0;
        V* __restrict c3 = c + (i + 3) * n + j0;
        for (int64_t l = k0; l < k1; ++l) {
          const V* __restrict row = b + l * n + j0;
          const V a0 = a[(i + 0) * k + l], a1 = a[(i + 1) * k + l];
          const V a2 = a[(i + 2) * k + l], a3 = a[(i + 3) * k + l];
          for (int64_t j = 0; j < width; ++j) {
            c0[j] += a0 * row[j];
            c1[j] += a1 * row[j];
            c2[j] += a2 * row[j];
            c3[j] += a3 * row[j];
          }
        }
      }
      for (; i < rows; ++i) {
        V* __restrict c0 = c + i * n + j0;
        for (int64_t l = k0; l < k1; ++l) {
          const V* __restrict row = b + l * n + j0;
          const V a0 = a[i * k + l];
          for (int64_t j = 0; j < width; ++j) c0[j] += a0 * row[j];
        }
      }
    }
  }
}

template <typename V>
void MachineGemm(int64_t m, int64_t n, int64_t k, const V* a, const V* b, V* c) {
  ParallelFor((m + kRows - 1) / kRows, std::max<int64_t>(1, 100000 / (1 + n * k * kRows)),
              [&](int64_t begin, int64_t end) {
                const int64_t first = begin * kRows;
                const int64_t last = std::min(m, end * kRows);
                GemmRows(last - first, n, k, a + first * k, b, c + first * n);
              });
}

using Plane = std::unique_ptr<double[]>;

Plane MakePlane(int64_t count) { return Plane(new double[static_cast<size_t>(count)]); }

// v = a·b and m = |a|·m_b + m_a·|b|, as three products of machine numbers.
template <typename T>
void BoundedPlanes(int64_t m, int64_t n, int64_t k, const T* a, const T* b, double* v,
                   double* scale) {
  const Plane av = MakePlane(m * k), am = MakePlane(m * k);
  const Plane bv = MakePlane(k * n), bm = MakePlane(k * n);
  for (int64_t i = 0; i < m * k; ++i) {
    av[i] = a[i].v;
    am[i] = a[i].m;
  }
  for (int64_t i = 0; i < k * n; ++i) {
    bv[i] = b[i].v;
    bm[i] = b[i].m;
  }
  MachineGemm(m, n, k, av.get(), bv.get(), v);
  for (int64_t i = 0; i < m * k; ++i) av[i] = std::fabs(av[i]);
  for (int64_t i = 0; i < k * n; ++i) bv[i] = std::fabs(bv[i]);
  const Plane half = MakePlane(m * n);
  MachineGemm(m, n, k, av.get(), bm.get(), scale);
  MachineGemm(m, n, k, am.get(), bv.get(), half.get());
  for (int64_t i = 0; i < m * n; ++i) scale[i] += half[i];
}

// What all elements of a row of a, or a column of b, have in common.
struct Line {
  uint32_t all = ~0u;     // flags that every element has
  uint32_t any = 0;       // flags that some element has
  bool has_zero = false;  // an exact zero
  bool plain = true;      // every element has a p-part, no logarithm among them
  void Take(const Symbolic& x) {
    all &= x.s.flags;
    any |= x.s.flags;
    has_zero |= x.s.IsZero();
    plain &= x.s.has(kHasP) && !x.s.has(kHasLog);
  }
};

// Whether the product of a row and a column follows from sums of products of their parts alone. An
// exact zero times an element without a q-part is 0 with one, which the sums would miss; a sum of
// rationals is a rational.
bool FollowsFromParts(const Line& row, const Line& column) {
  if (!row.plain || !column.plain) return false;
  if (row.all & column.all & kRational) return false;
  const bool row_q = row.all & kHasQ, column_q = column.all & kHasQ;
  return !(row.has_zero && !column_q) && !(column.has_zero && !row_q);
}

template <typename Field>
uint64_t DotProduct(const uint64_t* __restrict a, const uint64_t* __restrict b, int64_t k) {
  // 64 products below 2^122 fit in 128 bits; then one reduction.
  uint64_t sum = 0;
  for (int64_t l = 0; l < k; l += 63) {
    unsigned __int128 chunk = sum;
    const int64_t end = std::min(k, l + 63);
    for (int64_t i = l; i < end; ++i) chunk += static_cast<unsigned __int128>(a[i]) * b[i];
    sum = Field::Reduce(chunk);
  }
  return sum;
}

}  // namespace

template <>
void Gemm<float>(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
  MachineGemm(m, n, k, a, b, c);
}
template <>
void Gemm<double>(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c) {
  MachineGemm(m, n, k, a, b, c);
}
template <>
void Gemm<Bounded>(int64_t m, int64_t n, int64_t k, const Bounded* a, const Bounded* b,
                   Bounded* c) {
  const Plane v = MakePlane(m * n), scale = MakePlane(m * n);
  BoundedPlanes(m, n, k, a, b, v.get(), scale.get());
  for (int64_t i = 0; i < m * n; ++i) c[i] = {v[i], scale[i]};
}

template <>
void Gemm<Symbolic>(int64_t m, int64_t n, int64_t k, const Symbolic* a, const Symbolic* b,
                    Symbolic* c) {
  const Plane v = MakePlane(m * n), scale = MakePlane(m * n);
  BoundedPlanes(m, n, k, a, b, v.get(), scale.get());
  std::vector<Line> rows(static_cast<size_t>(m)), columns(static_cast<size_t>(n));
  std::vector<uint64_t> ap(static_cast<size_t>(m * k)), aq(ap.size());
  std::vector<uint64_t> bp(static_cast<size_t>(k * n)), bq(bp.size());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t l = 0; l < k; ++l) {
      const Symbolic& x = a[i * k + l];
      rows[static_cast<size_t>(i)].Take(x);
      ap[static_cast<size_t>(i * k + l)] = x.s.p;
      aq[static_cast<size_t>(i * k + l)] = x.s.q;
    }
  }
  for (int64_t l = 0; l < k; ++l) {
    for (int64_t j = 0; j < n; ++j) {
      const Symbolic& x = b[l * n + j];
      columns[static_cast<size_t>(j)].Take(x);
      bp[static_cast<size_t>(j * k + l)] = x.s.p;  // transposed: dot products run along k
      bq[static_cast<size_t>(j * k + l)] = x.s.q;
    }
  }
  const Symbolic zero = SymbolicInteger(0);
  const auto element = [&](int64_t i, int64_t j) {
    const Line& row = rows[static_cast<size_t>(i)];
    const Line& column = columns[static_cast<size_t>(j)];
    Symbolic& out = c[i * n + j];
    if (k == 0) {
      out = zero;
    } else if (FollowsFromParts(row, column) && std::isfinite(v[i * n + j])) {
      out.v = v[i * n + j];
      out.m = static_cast<float>(scale[i * n + j]);
      out.s = Shadow{.flags = (row.all & column.all & (kHasP | kHasQ)) |
                              ((row.any | column.any) & kHistory)};
      out.s.p =
          DotProduct<FieldP>(&ap[static_cast<size_t>(i * k)], &bp[static_cast<size_t>(j * k)], k);
      if (out.s.has(kHasQ)) {
        out.s.q =
            DotProduct<FieldQ>(&aq[static_cast<size_t>(i * k)], &bq[static_cast<size_t>(j * k)], k);
      }
    } else {
      Symbolic sum = a[i * k] * b[j];
      for (int64_t l = 1; l < k; ++l) sum = sum + a[i * k + l] * b[l * n + j];
      out = sum;
    }
  };
  // Columns in blocks whose two planes stay in the second-level cache while the rows pass.
  const int64_t block = std::clamp<int64_t>(32768 / std::max<int64_t>(k, 1), 1, 1024);
  ParallelFor(m, std::max<int64_t>(1, 20000 / (1 + n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t j0 = 0; j0 < n; j0 += block) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = j0; j < std::min(n, j0 + block); ++j) element(i, j);
      }
    }
  });
}

template <typename T>
Tensor<T> MatMul(const Tensor<T>& a, const Tensor<T>& b) {
  Require((a.rank() == 2 || a.rank() == 3) && a.rank() == b.rank(),
          "a matrix product of other than matrices");
  const bool batched = a.rank() == 3;
  const int64_t batch = batched ? a.size(0) : 1;
  const int64_t m = a.size(batched), k = a.size(batched + 1), n = b.size(batched + 1);
  Require(b.size(batched) == k && (!batched || b.size(0) == batch), "matrix sizes that do not fit");
  Tensor<T> c(a.dtype, batched ? Shape{batch, m, n} : Shape{m, n});
  for (int64_t i = 0; i < batch; ++i) {
    Gemm(m, n, k, a.data() + i * m * k, b.data() + i * k * n, c.data() + i * m * n);
  }
  return c;
}

template <typename T>
T SumOf(const T* x, int64_t n, int64_t stride) {
  if (n == 0) return Number<T>(0);
  if (n <= 64) {
    T sum = x[0];
    for (int64_t i = 1; i < n; ++i) sum = sum + x[i * stride];
    return sum;
  }
  const int64_t half = n / 2;
  return SumOf(x, half, stride) + SumOf(x + half * stride, n - half, stride);
}

#define KS_INSTANTIATE(T)                                           \
  template Tensor<T> MatMul<T>(const Tensor<T>&, const Tensor<T>&); \
  template T SumOf<T>(const T*, int64_t, int64_t);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
