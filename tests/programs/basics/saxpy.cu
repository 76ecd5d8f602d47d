// NVCC:
// RUN: %kernelsmith run %x
// y = a x + y in float and double, contracted and not: the host repeats the exact rounding, so the
// comparison is bit for bit.
#include "../check.h"

template <typename T>
__global__ void Axpy(int n, T a, const T* __restrict__ x, T* __restrict__ y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];  // nvcc contracts this into one fma
}

__global__ void AxpyTwoRoundings(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __fadd_rn(__fmul_rn(a, x[i]), y[i]);
}

template <typename T>
void Check(const char* name, int n, T a) {
  Random random(7);
  std::vector<T> x(n), y(n), want(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<T>(random.Float(-3, 3));
    y[i] = static_cast<T>(random.Float(-3, 3)) / 3;
    want[i] = std::fma(a, x[i], y[i]);
  }
  DeviceArray<T> dx(x), dy(y);
  Axpy<<<(n + 191) / 192, 192>>>(n, a, dx.data(), dy.data());
  LAUNCH_OK();
  ExpectEqual(name, dy.Get(), want);
  std::printf("%s: y[0] = %.9g\n", name, static_cast<double>(want[0]));
}

int main() {
  const int n = 10007;
  Check<float>("saxpy", n, 1.1f);
  Check<double>("daxpy", n, 0.1);

  Random random(9);
  const float a = 0.7f;
  const std::vector<float> x = random.Floats(n, -2, 2), y = random.Floats(n, -2, 2);
  std::vector<float> want(n);
  int differs_from_fma = 0;
  for (int i = 0; i < n; ++i) {
    volatile float product = a * x[i];  // volatile: the product is rounded on its own
    want[i] = product + y[i];
    differs_from_fma += want[i] != std::fma(a, x[i], y[i]);
  }
  DeviceArray<float> dx(x), dy(y);
  AxpyTwoRoundings<<<(n + 127) / 128, 128>>>(n, a, dx.data(), dy.data());
  LAUNCH_OK();
  ExpectEqual("two roundings", dy.Get(), want);
  std::printf("two roundings differ from fma in %d elements\n", differs_from_fma);
  Expect(differs_from_fma > 0, "the data tells one rounding from two");
  return Finish();
}
