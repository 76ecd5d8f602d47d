// Honest: partial sums, added in a fixed order.
#include <torch/extension.h>

__global__ void Squares(const float* p, const float* t, float* sums, int64_t n) {
  __shared__ float part[128];
  float sum = 0;
  for (int64_t i = blockIdx.x * 128 + threadIdx.x; i < n; i += int64_t{gridDim.x} * 128) {
    sum += (p[i] - t[i]) * (p[i] - t[i]);
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

__global__ void Finish(const float* sums, float* out, int blocks, int64_t n) {
  float sum = 0;
  for (int i = 0; i < blocks; ++i) sum += sums[i];
  *out = sum / n;
}

torch::Tensor forward(torch::Tensor prediction, torch::Tensor target) {
  const int64_t n = prediction.numel();
  const int blocks = 8;
  auto sums = torch::empty({blocks}, prediction.options());
  auto out = torch::empty({}, prediction.options());
  Squares<<<blocks, 128>>>(prediction.data_ptr<float>(), target.data_ptr<float>(),
                           sums.data_ptr<float>(), n);
  Finish<<<1, 1>>>(sums.data_ptr<float>(), out.data_ptr<float>(), blocks, n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
