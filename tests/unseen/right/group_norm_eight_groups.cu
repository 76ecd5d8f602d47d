// The task's eight groups are a constant here: no argument has them.
#include <torch/extension.h>
#define NUM_GROUPS 8
__global__ void group_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                                  float* __restrict__ y, int channels, int spatial, float eps) {
  const int group = blockIdx.x % NUM_GROUPS, each = channels / NUM_GROUPS;
  const size_t start = (size_t)blockIdx.x * each * spatial;
  const int count = each * spatial;
  __shared__ float sdata[2][256];
  float sum = 0.f, sum_sq = 0.f;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const float v = x[start + i];
    sum += v;
    sum_sq += v * v;
  }
  sdata[0][threadIdx.x] = sum;
  sdata[1][threadIdx.x] = sum_sq;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) {
      sdata[0][threadIdx.x] += sdata[0][threadIdx.x + s];
      sdata[1][threadIdx.x] += sdata[1][threadIdx.x + s];
    }
    __syncthreads();
  }
  const float mean = sdata[0][0] / count, var = sdata[1][0] / count - mean * mean, inv = rsqrtf(var + eps);
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int c = group * each + i / spatial;
    y[start + i] = (x[start + i] - mean) * inv * weight[c] + bias[c];
  }
}
torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  auto y = torch::empty_like(x);
  const int N = x.size(0), C = x.size(1), spatial = x.size(2) * x.size(3);
  group_norm_kernel<<<N * NUM_GROUPS, 256>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), C, spatial, 1e-5f);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
