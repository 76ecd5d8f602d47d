// Backward: a block a row for the statistics and dx, then a thread a column for the gradients of
// weight and bias.
#include <torch/extension.h>

#include <tuple>

constexpr int kThreads = 128;

__device__ float BlockSum(float v, float* scratch) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffff, v, offset);
  __syncthreads();  // whoever still reads the last sum
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
  __syncthreads();
  float total = 0;
  for (int w = 0; w < kThreads / 32; ++w) total += scratch[w];
  return total;
}

__global__ void InputGradient(const float* __restrict__ go, const float* __restrict__ x,
                              const float* __restrict__ weight, float* __restrict__ dx,
                              float* __restrict__ means, float* __restrict__ scales, int size,
                              float eps) {
  __shared__ float scratch[kThreads / 32];
  const size_t base = (size_t)blockIdx.x * size;

  float sum = 0;
  for (int i = threadIdx.x; i < size; i += kThreads) sum += x[base + i];
  const float mean = BlockSum(sum, scratch) / size;
  float squares = 0;
  for (int i = threadIdx.x; i < size; i += kThreads) {
    const float d = x[base + i] - mean;
    squares += d * d;
  }
  const float scale = rsqrtf(BlockSum(squares, scratch) / size + eps);

  float g_sum = 0, gx_sum = 0;
  for (int i = threadIdx.x; i < size; i += kThreads) {
    const float g = go[base + i] * weight[i];
    g_sum += g;
    gx_sum += g * (x[base + i] - mean) * scale;
  }
  g_sum = BlockSum(g_sum, scratch) / size;
  gx_sum = BlockSum(gx_sum, scratch) / size;
  for (int i = threadIdx.x; i < size; i += kThreads) {
    const float normal = (x[base + i] - mean) * scale;
    dx[base + i] = (go[base + i] * weight[i] - g_sum - normal * gx_sum) * scale;
  }
  if (threadIdx.x == 0) {
    means[blockIdx.x] = mean;
    scales[blockIdx.x] = scale;
  }
}

__global__ void ParameterGradients(const float* __restrict__ go, const float* __restrict__ x,
                                   const float* __restrict__ means,
                                   const float* __restrict__ scales, float* __restrict__ dweight,
                                   float* __restrict__ dbias, int rows, int size) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= size) return;
  float dw = 0, db = 0;
  for (int row = 0; row < rows; ++row) {
    const float g = go[(size_t)row * size + column];
    dw += g * (x[(size_t)row * size + column] - means[row]) * scales[row];
    db += g;
  }
  dweight[column] = dw;
  dbias[column] = db;
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> backward(torch::Tensor go, torch::Tensor x,
                                                                 torch::Tensor weight,
                                                                 torch::Tensor bias, double eps) {
  const int size = weight.numel();
  const int rows = x.numel() / size;
  auto dx = torch::empty_like(x);
  auto dweight = torch::empty_like(weight);
  auto dbias = torch::empty_like(bias);
  auto means = torch::empty({rows}, x.options());
  auto scales = torch::empty({rows}, x.options());
  InputGradient<<<rows, kThreads>>>(go.data_ptr<float>(), x.data_ptr<float>(),
                                    weight.data_ptr<float>(), dx.data_ptr<float>(),
                                    means.data_ptr<float>(), scales.data_ptr<float>(), size, eps);
  ParameterGradients<<<(size + kThreads - 1) / kThreads, kThreads>>>(
      go.data_ptr<float>(), x.data_ptr<float>(), means.data_ptr<float>(), scales.data_ptr<float>(),
      dweight.data_ptr<float>(), dbias.data_ptr<float>(), rows, size);
  return {dx, dweight, dbias};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
