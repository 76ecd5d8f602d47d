// Much of ATen around one small kernel.
// ARGS: x=f32[4,6,8] w=f32[8,5]
#include <torch/extension.h>
#include <torch/types.h>

__global__ void clamp_kernel(float* p, float lo, float hi, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) p[i] = fminf(fmaxf(p[i], lo), hi);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w) {
  torch::NoGradGuard no_grad;
  auto flat = x.reshape({-1, x.size(-1)});
  auto z = torch::mm(flat, w).view({x.size(0), x.size(1), -1});
  auto mean = z.mean({1}, /*keepdim=*/true);
  auto centered = (z - mean) / torch::sqrt(z.var({1}, /*unbiased=*/false, /*keepdim=*/true) + 1e-5);
  auto joined = torch::cat({centered, torch::relu(z)}, 2).permute({0, 2, 1}).contiguous();
  auto picked = joined.slice(1, 0, 4).unsqueeze(0).squeeze(0).clone();
  const long n = picked.numel();
  clamp_kernel<<<(n + 255) / 256, 256>>>(picked.data_ptr<float>(), -1.f, 1.f, n);
  auto total = picked.sum({0}).transpose(0, 1);
  return torch::softmax(total, -1) + torch::sigmoid(total) * torch::ones_like(total) - torch::full_like(total, 0.5);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
