// Asks whether a generic pointer is one to shared memory, and casts it.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  __shared__ float staged[256];
  staged[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  const float* from = threadIdx.x % 2 == 0 ? staged + threadIdx.x : x + (i < n ? i : 0);
  float v;
  if (__isShared(from)) {
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(from));
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory");
  } else {
    v = *from;
  }
  if (i < n) out[i] = 2 * v + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
