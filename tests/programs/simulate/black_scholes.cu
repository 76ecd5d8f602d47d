// NVCC:
// RUN: %kernelsmith run %x
// Option prices: Black-Scholes in float and double with the polynomial normal distribution and with
// erfc, and a Monte Carlo estimate with a generator of our own that the host repeats.
#include "../check.h"

template <typename T>
struct Option {
  T spot, strike, years;
};

template <typename T>
__host__ __device__ T NormalPolynomial(T d) {
  const T k = T(1) / (T(1) + T(0.2316419) * fabs(d));
  const T tail =
      T(0.39894228040143267794) * exp(T(-0.5) * d * d) *
      (k *
       (T(0.31938153) +
        k * (T(-0.356563782) + k * (T(1.781477937) + k * (T(-1.821255978) + k * T(1.330274429))))));
  return d > 0 ? T(1) - tail : tail;
}

template <typename T>
__host__ __device__ T NormalErfc(T d) {
  return T(0.5) * erfc(-d * T(0.70710678118654752440));
}

template <typename T>
__host__ __device__ void Price(const Option<T>& o, T rate, T volatility, bool polynomial, T* call,
                               T* put) {
  const T root = sqrt(o.years);
  const T d1 = (log(o.spot / o.strike) + (rate + T(0.5) * volatility * volatility) * o.years) /
               (volatility * root);
  const T d2 = d1 - volatility * root;
  const T n1 = polynomial ? NormalPolynomial(d1) : NormalErfc(d1);
  const T n2 = polynomial ? NormalPolynomial(d2) : NormalErfc(d2);
  const T discounted = o.strike * exp(-rate * o.years);
  *call = o.spot * n1 - discounted * n2;
  *put = discounted * (T(1) - n2) - o.spot * (T(1) - n1);
}

template <typename T>
__global__ void PriceAll(const Option<T>* options, T* calls, T* puts, int n, T rate, T volatility,
                         bool polynomial) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) Price(options[i], rate, volatility, polynomial, &calls[i], &puts[i]);
}

struct Xorshift {
  unsigned state;
  __host__ __device__ unsigned Next() {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
  }
  // In (0, 1]: never zero, so that the logarithm is finite.
  __host__ __device__ float Uniform() { return ((Next() >> 8) + 1) * (1.0f / 16777216.0f); }
};

__global__ void MonteCarlo(Option<float> o, float rate, float volatility, int paths, double* sums) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  Xorshift random{2463534242u + 747796405u * t};
  double sum = 0;
  for (int p = 0; p < paths; ++p) {
    const float radius = sqrtf(-2 * logf(random.Uniform())), angle = 6.2831853f * random.Uniform();
    const float normal = radius * cosf(angle);
    const float end = o.spot * expf((rate - 0.5f * volatility * volatility) * o.years +
                                    volatility * sqrtf(o.years) * normal);
    sum += fmaxf(end - o.strike, 0.0f);
  }
  sums[t] = sum;
}

template <typename T>
void Check(const char* name, double tolerance) {
  const int n = 700;
  Random random(221);
  std::vector<Option<T>> options(n);
  for (auto& o : options)
    o = {T(random.Float(5, 30)), T(random.Float(1, 100)), T(random.Float(0.25f, 10))};
  DeviceArray<Option<T>> device(options);
  DeviceArray<T> calls(n), puts(n);
  for (bool polynomial : {true, false}) {
    std::vector<double> want_calls(n), want_puts(n);
    for (int i = 0; i < n; ++i) {
      const Option<double> o{options[i].spot, options[i].strike, options[i].years};
      Price<double>(o, T(0.02), T(0.3), polynomial, &want_calls[i], &want_puts[i]);
    }
    PriceAll<T><<<(n + 127) / 128, 128>>>(device.data(), calls.data(), puts.data(), n, T(0.02),
                                          T(0.3), polynomial);
    LAUNCH_OK();
    ExpectNear(name, calls.Get(), want_calls, tolerance, 100 * tolerance);
    ExpectNear(name, puts.Get(), want_puts, tolerance, 100 * tolerance);
    std::printf("%s: call %.5f, put %.5f\n", name, want_calls[0], want_puts[0]);
  }
}

int main() {
  Check<float>("float", 1e-6);
  Check<double>("double", 1e-14);

  const Option<float> o{20, 22, 1.5f};
  const int threads = 128, paths = 60;
  DeviceArray<double> sums(threads);
  MonteCarlo<<<2, 64>>>(o, 0.02f, 0.3f, paths, sums.data());
  LAUNCH_OK();
  std::vector<double> want(threads);
  double total = 0;
  for (int t = 0; t < threads; ++t) {
    Xorshift random{2463534242u + 747796405u * t};
    for (int p = 0; p < paths; ++p) {
      const double radius = std::sqrt(-2 * std::log(static_cast<double>(random.Uniform())));
      const double normal = radius * std::cos(6.2831853f * random.Uniform());
      want[t] +=
          std::max(0.0, 20 * std::exp((0.02 - 0.045) * 1.5 + 0.3 * std::sqrt(1.5) * normal) - 22);
    }
    total += want[t];
  }
  ExpectNear("monte carlo", sums.Get(), want, 1e-4, 1e-3);
  double call, put;
  Price<double>({20, 22, 1.5}, 0.02, 0.3, false, &call, &put);
  const double estimate = total / (threads * paths) * std::exp(-0.03);
  std::printf("monte carlo %.3f, exact %.3f\n", estimate, call);
  Expect(std::fabs(estimate - call) < 0.3, "the estimate is near the price");
  return Finish();
}
