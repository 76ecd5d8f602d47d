// Shared memory is swizzled by bits of the address itself.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  extern __shared__ float staged[];
  auto base = static_cast<unsigned>(__cvta_generic_to_shared(staged));
  base = (base + 127) & ~127u;
  const auto swizzled = [&](unsigned k) {
    const unsigned at = base + 4 * k;
    return at ^ ((at >> 3) & 0x70);
  };
  const float v = i < n ? x[i] : 0;
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(swizzled(threadIdx.x)), "f"(v) : "memory");
  __syncthreads();
  float mine;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(mine) : "r"(swizzled(threadIdx.x)) : "memory");
  if (i < n) out[i] = 2 * mine + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 255) / 256, 256, 2048>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                       out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
