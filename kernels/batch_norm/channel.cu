// Forward: a block a channel over batch and plane; updates the running statistics with the unbiased
// variance.
#include <torch/extension.h>

constexpr int kThreads = 128;

__global__ void BatchNorm(const float* __restrict__ x, const float* __restrict__ weight,
                          const float* __restrict__ bias, float* running_mean, float* running_var,
                          float* __restrict__ y, int batch, int channels, int area, float momentum,
                          float eps) {
  __shared__ float tree[kThreads];
  const int c = blockIdx.x;
  const int count = batch * area;
  auto at = [&](int i) { return ((size_t)(i / area) * channels + c) * area + i % area; };
  auto reduce = [&](float v) {
    tree[threadIdx.x] = v;
    __syncthreads();
    for (int s = kThreads / 2; s > 0; s >>= 1) {
      if (threadIdx.x < s) tree[threadIdx.x] += tree[threadIdx.x + s];
      __syncthreads();
    }
    const float total = tree[0];
    __syncthreads();
    return total;
  };

  float sum = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += x[at(i)];
  const float mean = reduce(sum) / count;
  float squares = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const float d = x[at(i)] - mean;
    squares += d * d;
  }
  squares = reduce(squares);
  const float scale = rsqrtf(squares / count + eps) * weight[c];
  const float shift = bias[c] - mean * scale;
  for (int i = threadIdx.x; i < count; i += kThreads) y[at(i)] = x[at(i)] * scale + shift;
  if (threadIdx.x == 0) {
    running_mean[c] = (1 - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1 - momentum) * running_var[c] + momentum * squares / (count - 1);
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                      torch::Tensor running_mean, torch::Tensor running_var, double momentum,
                      double eps) {
  auto y = torch::empty_like(x);
  BatchNorm<<<x.size(1), kThreads>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                     bias.data_ptr<float>(), running_mean.data_ptr<float>(),
                                     running_var.data_ptr<float>(), y.data_ptr<float>(), x.size(0),
                                     x.size(1), x.size(2) * x.size(3), momentum, eps);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
