// Forward, bfloat16, float16: one warp a row; statistics in float, rounded to the input's dtype
// before the weight as Llama does it.
#include <torch/extension.h>

template <typename scalar_t>
__global__ void RmsNormRow(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                           scalar_t* __restrict__ y, int rows, int width, float eps) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const scalar_t* in = x + (int64_t)row * width;
  scalar_t* out = y + (int64_t)row * width;
  float sum = 0.f;
  for (int i = threadIdx.x; i < width; i += warpSize) {
    const float v = static_cast<float>(in[i]);
    sum = fmaf(v, v, sum);
  }
#pragma unroll
  for (int mask = 16; mask; mask >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, mask);
  const float scale = rsqrtf(sum / width + eps);
  for (int i = threadIdx.x; i < width; i += warpSize) {
    const scalar_t normal = static_cast<scalar_t>(static_cast<float>(in[i]) * scale);
    out[i] = static_cast<scalar_t>(static_cast<float>(normal) * static_cast<float>(weight[i]));
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, double eps) {
  auto y = torch::empty_like(x);
  const int width = x.size(-1);
  const int rows = x.numel() / width;
  const dim3 block(32, 4);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "rmsnorm", [&] {
    RmsNormRow<scalar_t><<<(rows + block.y - 1) / block.y, block>>>(
        x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), rows, width,
        eps);
  });
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
