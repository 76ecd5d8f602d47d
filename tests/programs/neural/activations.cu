// NVCC:
// RUN: %kernelsmith run %x
// Activations forward and backward as functors in one kernel template: ReLU, GELU (erf and tanh),
// SiLU, softplus, ELU, mish, hardswish, against double; with a dropout mask from a counter-based
// generator that the host repeats.
#include "../check.h"

struct Relu {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return x > T(0) ? x : T(0);
  }
};
struct Gelu {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return x * T(0.5) * (T(1) + erf(x * T(0.70710678118654752)));
  }
};
struct GeluTanh {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return T(0.5) * x * (T(1) + tanh(T(0.79788456080286536) * (x + T(0.044715) * x * x * x)));
  }
};
struct Silu {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return x / (T(1) + exp(-x));
  }
};
struct Softplus {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return x > T(20) ? x : log1p(exp(x));
  }
};
struct Elu {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return x > T(0) ? x : expm1(x);
  }
};
struct Mish {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return x * tanh(log1p(exp(x)));
  }
};
struct HardSwish {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    const T y = x + T(3);
    return x * (y < T(0) ? T(0) : y > T(6) ? T(6) : y) / T(6);
  }
};

template <typename Function>
__global__ void Forward(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = Function()(x[i]);
}

template <typename Function>
__global__ void Derivative(const double* x, double* dy, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double h = 1e-5;
  if (i < n) dy[i] = (Function()(x[i] + h) - Function()(x[i] - h)) / (2 * h);
}

// Philox-like: rounds of multiply and xor keyed by the seed.
__host__ __device__ unsigned CounterRandom(unsigned counter, unsigned seed) {
  unsigned left = counter, right = seed;
  for (int round = 0; round < 7; ++round) {
    const unsigned long long product = 0xd2511f53ull * left;
    left = static_cast<unsigned>(product >> 32) ^ right ^ (seed + round * 0x9e3779b9u);
    right = static_cast<unsigned>(product);
  }
  return left;
}

__global__ void Dropout(const float* x, float* y, unsigned char* mask, int n, float p,
                        unsigned seed) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const bool keep = CounterRandom(i, seed) * 2.3283064365386963e-10f >= p;
    mask[i] = keep;
    y[i] = keep ? x[i] / (1 - p) : 0.0f;
  }
}

template <typename Function>
void Check(const char* name, const std::vector<float>& x) {
  const int n = static_cast<int>(x.size());
  std::vector<double> want(n), dx(x.begin(), x.end()), slope(n);
  for (int i = 0; i < n; ++i) {
    want[i] = Function()(dx[i]);
    slope[i] = (Function()(dx[i] + 1e-5) - Function()(dx[i] - 1e-5)) / 2e-5;
  }
  DeviceArray<float> in(x), out(n);
  Forward<Function><<<(n + 127) / 128, 128>>>(in.data(), out.data(), n);
  LAUNCH_OK();
  ExpectNear(name, out.Get(), want, 2e-6, 1e-6);
  DeviceArray<double> in64(dx), out64(n);
  Derivative<Function><<<(n + 127) / 128, 128>>>(in64.data(), out64.data(), n);
  LAUNCH_OK();
  ExpectNear(name, out64.Get(), slope, 1e-9, 1e-9);
  std::printf("%-10s f(%.4f) = %.6f, slope %.6f\n", name, x[0], want[0], slope[0]);
}

int main() {
  Random random(121);
  const int n = 2000;
  std::vector<float> x = random.Floats(n, -8, 8);
  x[1] = 0;
  x[2] = 40;
  x[3] = -40;
  Check<Relu>("relu", x);
  Check<Gelu>("gelu", x);
  Check<GeluTanh>("gelu tanh", x);
  Check<Silu>("silu", x);
  Check<Softplus>("softplus", x);
  Check<Elu>("elu", x);
  Check<Mish>("mish", x);
  Check<HardSwish>("hardswish", x);

  const float p = 0.3f;
  std::vector<unsigned char> mask(n);
  std::vector<float> want(n);
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    mask[i] = CounterRandom(i, 42) * 2.3283064365386963e-10f >= p;
    want[i] = mask[i] ? x[i] / (1 - p) : 0.0f;
    kept += mask[i];
  }
  DeviceArray<float> in(x), out(n);
  DeviceArray<unsigned char> device_mask(n);
  Dropout<<<4, 128>>>(in.data(), out.data(), device_mask.data(), n, p, 42);
  LAUNCH_OK();
  ExpectEqual("dropout mask", device_mask.Get(), mask);
  ExpectEqual("dropout", out.Get(), want);
  std::printf("kept %d of %d\n", kept, n);
  Expect(kept > 1300 && kept < 1500, "about 70 % are kept");
  return Finish();
}
