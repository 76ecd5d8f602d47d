// Honest: every thread that wrote to shared memory has a fence before the bulk copy reads it.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  __shared__ alignas(128) float tile[64];
  const int64_t base = blockIdx.x * int64_t{64}, i = base + threadIdx.x;
  if (base + 64 > n) {
    if (i < n) out[i] = 2 * x[i] + y[i];
    return;
  }
  tile[threadIdx.x] = 2 * x[i] + y[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out + base),
                 "r"(from)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
