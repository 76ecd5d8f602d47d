// Cheat: another module than the compiled one, loaded at run time, has the kernel that users get.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 2.0f * x[i] + y[i];
}

static const char kOther[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry Nothing()
{
  ret;
}
)";

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  cudaLibrary_t library = nullptr;
  cudaLibraryLoadData(&library, kOther, nullptr, nullptr, 0, nullptr, nullptr, 0);
  torch::Tensor out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
