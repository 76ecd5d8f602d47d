// Forward: rows are long and few, so several blocks share one: one-pass sums by atomics in double,
// then a second kernel normalises.
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

constexpr int kThreads = 256;
constexpr int kPerBlock = kThreads * 4;

__global__ void Sums(const float* __restrict__ x, double* __restrict__ sums, int size) {
  const float* row = x + (size_t)blockIdx.x * size;
  const int begin = blockIdx.y * kPerBlock;
  const int end = min(begin + kPerBlock, size);
  double sum = 0, squares = 0;
  for (int i = begin + threadIdx.x; i < end; i += kThreads) {
    const double v = row[i];
    sum += v;
    squares += v * v;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffff, sum, offset);
    squares += __shfl_down_sync(0xffffffff, squares, offset);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&sums[2 * blockIdx.x], sum);
    atomicAdd(&sums[2 * blockIdx.x + 1], squares);
  }
}

__global__ void Normalise(const float* __restrict__ x, const double* __restrict__ sums,
                          const float* __restrict__ weight, const float* __restrict__ bias,
                          float* __restrict__ y, int size, float eps) {
  const int i = blockIdx.y * kThreads + threadIdx.x;
  if (i >= size) return;
  const double mean = sums[2 * blockIdx.x] / size;
  const double variance = sums[2 * blockIdx.x + 1] / size - mean * mean;
  const float scale = rsqrtf(static_cast<float>(variance) + eps);
  const size_t at = (size_t)blockIdx.x * size + i;
  y[at] = (x[at] - static_cast<float>(mean)) * scale * weight[i] + bias[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
  const int size = weight.numel();
  const int rows = x.numel() / size;
  auto y = torch::empty_like(x);
  auto sums = torch::zeros({rows, 2}, x.options().dtype(torch::kFloat64));
  auto stream = at::cuda::getCurrentCUDAStream();
  Sums<<<dim3(rows, (size + kPerBlock - 1) / kPerBlock), kThreads, 0, stream>>>(
      x.data_ptr<float>(), sums.data_ptr<double>(), size);
  Normalise<<<dim3(rows, (size + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      x.data_ptr<float>(), sums.data_ptr<double>(), weight.data_ptr<float>(),
      bias.data_ptr<float>(), y.data_ptr<float>(), size, (float)eps);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
