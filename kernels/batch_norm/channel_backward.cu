// Backward: a block a channel: statistics, then the sums of go and go * normalised x, then dx; they
// are dbias and dweight.
#include <torch/extension.h>

#include <tuple>

constexpr int kThreads = 64;

__device__ float2 BlockSum(float2 v, float2* scratch) {
  scratch[threadIdx.x] = v;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) {
      scratch[threadIdx.x].x += scratch[threadIdx.x + s].x;
      scratch[threadIdx.x].y += scratch[threadIdx.x + s].y;
    }
    __syncthreads();
  }
  const float2 total = scratch[0];
  __syncthreads();
  return total;
}

__global__ void BatchNormBackward(const float* __restrict__ go, const float* __restrict__ x,
                                  const float* __restrict__ weight, float* __restrict__ dx,
                                  float* __restrict__ dweight, float* __restrict__ dbias, int batch,
                                  int channels, int area, float eps) {
  __shared__ float2 scratch[kThreads];
  const int c = blockIdx.x;
  const int count = batch * area;
  float sum = 0;
  for (int n = 0; n < batch; ++n) {
    for (int i = threadIdx.x; i < area; i += kThreads)
      sum += x[((size_t)n * channels + c) * area + i];
  }
  const float mean = BlockSum(make_float2(sum, 0.0f), scratch).x / count;

  float2 sums = make_float2(0.0f, 0.0f);  // squared distance
  for (int n = 0; n < batch; ++n) {
    for (int i = threadIdx.x; i < area; i += kThreads) {
      const float d = x[((size_t)n * channels + c) * area + i] - mean;
      sums.x += d * d;
    }
  }
  const float scale = rsqrtf(BlockSum(sums, scratch).x / count + eps);

  sums = make_float2(0.0f, 0.0f);  // go, go * normalised x
  for (int n = 0; n < batch; ++n) {
    for (int i = threadIdx.x; i < area; i += kThreads) {
      const size_t at = ((size_t)n * channels + c) * area + i;
      sums.x += go[at];
      sums.y += go[at] * (x[at] - mean) * scale;
    }
  }
  sums = BlockSum(sums, scratch);
  for (int n = 0; n < batch; ++n) {
    for (int i = threadIdx.x; i < area; i += kThreads) {
      const size_t at = ((size_t)n * channels + c) * area + i;
      dx[at] =
          weight[c] * scale * (go[at] - sums.x / count - (x[at] - mean) * scale * sums.y / count);
    }
  }
  if (threadIdx.x == 0) {
    dweight[c] = sums.y;
    dbias[c] = sums.x;
  }
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> backward(torch::Tensor go, torch::Tensor x,
                                                                 torch::Tensor weight,
                                                                 torch::Tensor bias, double eps) {
  go = go.contiguous();
  auto dx = torch::empty_like(x), dweight = torch::empty_like(weight),
       dbias = torch::empty_like(bias);
  BatchNormBackward<<<x.size(1), kThreads>>>(go.data_ptr<float>(), x.data_ptr<float>(),
                                             weight.data_ptr<float>(), dx.data_ptr<float>(),
                                             dweight.data_ptr<float>(), dbias.data_ptr<float>(),
                                             x.size(0), x.size(1), x.size(2) * x.size(3), eps);
  return {dx, dweight, dbias};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
