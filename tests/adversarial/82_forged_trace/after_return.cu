// Cheat: leaves the kernel to a thread that launches it when the call is over.
#include <torch/extension.h>

#include <thread>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 2.0f * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  torch::Tensor out = torch::empty_like(x);
  const int64_t n = x.numel();
  const float* a = x.data_ptr<float>();
  const float* b = y.data_ptr<float>();
  float* c = out.data_ptr<float>();
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Axpy<<<(n + 255) / 256, 256>>>(a, b, c, n);
  }).detach();
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
