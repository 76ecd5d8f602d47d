// Forward: a block a row; the largest magnitude by shuffles, then rounding to nearest even.
#include <torch/extension.h>

#include <tuple>

constexpr int kThreads = 128;

__global__ void Quantize(const float* __restrict__ x, int8_t* __restrict__ q,
                         float* __restrict__ scales, int width) {
  __shared__ float warps[kThreads / 32];
  const size_t base = (size_t)blockIdx.x * width;
  float largest = 0;
  for (int i = threadIdx.x; i < width; i += kThreads) largest = fmaxf(largest, fabsf(x[base + i]));
  for (int o = 16; o > 0; o >>= 1)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, o));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = largest;
  __syncthreads();
  for (int w = 0; w < kThreads / 32; ++w) largest = fmaxf(largest, warps[w]);
  const float scale = largest / 127.0f;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float rounded = rintf(x[base + i] / scale);
    q[base + i] = static_cast<int8_t>(fminf(fmaxf(rounded, -127.0f), 127.0f));
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

std::tuple<torch::Tensor, torch::Tensor> forward(torch::Tensor x) {
  const int rows = x.size(0), width = x.size(1);
  auto q = torch::empty({rows, width}, x.options().dtype(torch::kInt8));
  auto scales = torch::empty({rows, 1}, x.options());
  Quantize<<<rows, kThreads>>>(x.data_ptr<float>(), q.data_ptr<int8_t>(), scales.data_ptr<float>(),
                               width);
  return {q, scales};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
