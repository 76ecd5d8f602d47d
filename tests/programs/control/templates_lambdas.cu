// NVCC: --extended-lambda
// RUN: %kernelsmith run %x
// Generic code: variadic expression trees, compile-time tables, constexpr functions, fold
// expressions, device lambdas passed to kernels, tuples of accumulators, and policies.
#include "../check.h"

template <typename F>
__global__ void ForEach(int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

template <typename F>
void Parallel(int n, F f) {
  ForEach<<<(n + 95) / 96, 96>>>(n, f);
  LAUNCH_OK();
}

// Expressions: a tree of types, evaluated for one index.
template <typename Derived>
struct Expression {
  __host__ __device__ const Derived& Self() const { return static_cast<const Derived&>(*this); }
};

struct Array : Expression<Array> {
  const float* data;
  explicit Array(const float* d) : data(d) {}
  __host__ __device__ float At(int i) const { return data[i]; }
};

struct Constant : Expression<Constant> {
  float value;
  explicit Constant(float v) : value(v) {}
  __host__ __device__ float At(int) const { return value; }
};

template <typename L, typename R, typename Op>
struct Binary : Expression<Binary<L, R, Op>> {
  L left;
  R right;
  Binary(const L& l, const R& r) : left(l), right(r) {}
  __host__ __device__ float At(int i) const { return Op::Apply(left.At(i), right.At(i)); }
};

struct Plus {
  __host__ __device__ static float Apply(float a, float b) { return a + b; }
};
struct Times {
  __host__ __device__ static float Apply(float a, float b) { return a * b; }
};

template <typename L, typename R>
Binary<L, R, Plus> operator+(const Expression<L>& l, const Expression<R>& r) {
  return {l.Self(), r.Self()};
}
template <typename L, typename R>
Binary<L, R, Times> operator*(const Expression<L>& l, const Expression<R>& r) {
  return {l.Self(), r.Self()};
}

// A table made by the compiler, in constant memory of the kernel.
template <int kSize>
struct Squares {
  int values[kSize];
  constexpr Squares() : values() {
    for (int i = 0; i < kSize; ++i) values[i] = i * i;
  }
};
__device__ constexpr Squares<16> g_squares;

template <typename... Ts>
__host__ __device__ int SumSizes(Ts... values) {
  return (0 + ... + static_cast<int>(sizeof(values) * values));
}

template <int kN>
struct Factorial {
  static constexpr long long value = kN * Factorial<kN - 1>::value;
};
template <>
struct Factorial<0> {
  static constexpr long long value = 1;
};

template <typename... Accumulators>
struct Fan;
template <>
struct Fan<> {
  __host__ __device__ void Feed(int) {}
  template <typename Out>
  __host__ __device__ void Drain(Out) const {}
};
template <typename First, typename... Rest>
struct Fan<First, Rest...> {
  First first;
  Fan<Rest...> rest;
  __host__ __device__ void Feed(int value) {
    first.Feed(value);
    rest.Feed(value);
  }
  template <typename Out>
  __host__ __device__ void Drain(Out out) const {
    *out = first.total;
    rest.Drain(out + 1);
  }
};

template <int kModulus>
struct CountMultiples {
  long long total = 0;
  __host__ __device__ void Feed(int value) { total += value % kModulus == 0; }
};
struct SumOfSquares {
  long long total = 0;
  __host__ __device__ void Feed(int value) { total += static_cast<long long>(value) * value; }
};

int main() {
  const int n = 1000;
  Random random(411);
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(random.Below(64));
    y[i] = static_cast<float>(random.Below(64));
  }
  DeviceArray<float> dx(x), dy(y), out(n);
  auto expression =
      Array(dx.data()) * Array(dy.data()) + Constant(2) * (Array(dx.data()) + Constant(3));
  float* pout = out.data();
  Parallel(n, [=] __device__(int i) { pout[i] = expression.At(i); });
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) want[i] = x[i] * y[i] + 2 * (x[i] + 3);
  ExpectEqual("expression", out.Get(), want);

  DeviceArray<int> ints(n);
  int* pints = ints.data();
  const int offset = 7;
  auto shifted = [offset] __host__ __device__(int i) { return i * 3 + offset; };
  Parallel(n, [=] __device__(int i) {
    pints[i] = g_squares.values[i % 16] + shifted(i) + SumSizes(static_cast<char>(i % 5), 2, 3.0) +
               static_cast<int>(Factorial<10>::value % 1000 * (i & 1));
  });
  std::vector<int> want_ints(n);
  for (int i = 0; i < n; ++i) {
    want_ints[i] = (i % 16) * (i % 16) + i * 3 + 7 + (i % 5) + 8 + 24 + (i & 1) * (3628800 % 1000);
  }
  ExpectEqual("lambda", ints.Get(), want_ints);

  const int pieces = 10;
  DeviceArray<long long> totals(pieces * 3);
  long long* ptotals = totals.data();
  Parallel(pieces, [=] __device__(int piece) {
    Fan<CountMultiples<3>, SumOfSquares, CountMultiples<7>> fan;
    for (int i = piece * 100; i < piece * 100 + 100; ++i) fan.Feed(pints[i]);
    fan.Drain(ptotals + piece * 3);
  });
  std::vector<long long> want_totals(pieces * 3);
  for (int i = 0; i < n; ++i) {
    want_totals[i / 100 * 3] += want_ints[i] % 3 == 0;
    want_totals[i / 100 * 3 + 1] += static_cast<long long>(want_ints[i]) * want_ints[i];
    want_totals[i / 100 * 3 + 2] += want_ints[i] % 7 == 0;
  }
  ExpectEqual("fan", totals.Get(), want_totals);
  std::printf("expression[0] = %g, sum of squares %lld\n", want[0], want_totals[1]);
  return Finish();
}
