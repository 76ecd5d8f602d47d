// NVCC: --use_fast_math
// RUN: %kernelsmith run %x
// Code compiled with fast math, and the intrinsics it stands for: results stay within the
// documented errors, and denormals are flushed.
#include "../check.h"

constexpr int kResults = 12;

__global__ void Fast(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  float* r = out + i * kResults;
  r[0] = sinf(x);
  r[1] = cosf(x);
  r[2] = expf(x);
  r[3] = logf(fabsf(x));
  r[4] = powf(fabsf(x), 1.7f);
  r[5] = 1.0f / x;
  r[6] = x / 3.7f;
  r[7] = sqrtf(fabsf(x));
  r[8] = rsqrtf(fabsf(x));
  r[9] = tanhf(x);
  r[10] = exp2f(x) + log2f(fabsf(x));
  r[11] = 1.0f / (1.0f + __expf(-x));
}

__global__ void Flush(const float* in, float* out, int n) {
  const int i = threadIdx.x;
  if (i < n) out[i] = in[i] * 0.5f + 0.0f;
}

__global__ void Saturate(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __saturatef(in[i] * 0.3f + 0.1f);
}

int main() {
  const int n = 1000;
  Random random(381);
  std::vector<float> in = random.Floats(n, -3.1f, 3.1f);
  DeviceArray<float> din(in), dout(n * kResults);
  Fast<<<(n + 127) / 128, 128>>>(din.data(), dout.data(), n);
  LAUNCH_OK();
  const std::vector<float> got = dout.Get();
  const char* names[kResults] = {"sin",      "cos",  "exp",   "log",  "pow",         "reciprocal",
                                 "quotient", "sqrt", "rsqrt", "tanh", "exp2 + log2", "sigmoid"};
  // Absolute plus relative error for each result.
  const double absolute[kResults] = {4e-7, 4e-7, 0, 4e-7, 0, 0, 0, 0, 0, 6e-4, 6e-7, 0};
  const double relative[kResults] = {0, 0, 2e-6, 4e-7, 4e-6, 2e-7, 3e-7, 3e-7, 3e-7, 0, 6e-7, 2e-6};
  for (int k = 0; k < kResults; ++k) {
    std::vector<float> column(n);
    std::vector<double> want(n);
    for (int i = 0; i < n; ++i) {
      const double x = in[i], m = std::fabs(x);
      const double all[kResults] = {std::sin(x),
                                    std::cos(x),
                                    std::exp(x),
                                    std::log(m),
                                    std::pow(m, 1.7f),
                                    1 / x,
                                    x / 3.7f,
                                    std::sqrt(m),
                                    1 / std::sqrt(m),
                                    std::tanh(x),
                                    std::exp2(x) + std::log2(m),
                                    1 / (1 + std::exp(-x))};
      column[i] = got[i * kResults + k];
      want[i] = all[k];
    }
    ExpectNear(names[k], column, want, relative[k], absolute[k]);
  }

  // A denormal input is read as zero, and a denormal result is written as zero.
  const std::vector<float> tiny = {1e-40f, -1e-40f, 1.5e-38f, 2e-38f, 3e-38f, 1.0f};
  DeviceArray<float> dtiny(tiny), flushed(tiny.size());
  Flush<<<1, 32>>>(dtiny.data(), flushed.data(), static_cast<int>(tiny.size()));
  LAUNCH_OK();
  ExpectEqual("flushed", flushed.Get(), std::vector<float>{0, 0, 0, 0, 1.5e-38f, 0.5f});

  std::vector<float> wide = random.Floats(n, -10, 10);
  wide[0] = NAN;
  wide[1] = INFINITY;
  wide[2] = -INFINITY;
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) {
    const float y = std::fma(wide[i], 0.3f, 0.1f);
    want[i] = std::isnan(y) ? 0.0f : std::min(std::max(y, 0.0f), 1.0f);
  }
  DeviceArray<float> dwide(wide), saturated(n);
  Saturate<<<(n + 127) / 128, 128>>>(dwide.data(), saturated.data(), n);
  LAUNCH_OK();
  ExpectEqual("saturated", saturated.Get(), want);
  std::printf("checked %d functions\n", kResults);
  return Finish();
}
