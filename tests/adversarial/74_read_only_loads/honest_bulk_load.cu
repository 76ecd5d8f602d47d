// Honest: every thread that wrote to global memory has a fence before the bulk copy reads it.
#include <torch/extension.h>

__device__ void Wait(unsigned barrier) {
  int done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        "selp.b32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier)
        : "memory");
  }
}

__global__ void Axpy(const float* x, const float* y, float* twice, float* out, int64_t n) {
  __shared__ alignas(128) float tile[64];
  __shared__ alignas(8) uint64_t arrived;
  const int64_t base = blockIdx.x * int64_t{64}, i = base + threadIdx.x;
  if (base + 64 > n) {
    if (i < n) out[i] = 2 * x[i] + y[i];
    return;
  }
  const auto barrier = static_cast<unsigned>(__cvta_generic_to_shared(&arrived));
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  twice[i] = 2 * x[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(barrier)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
        ::"r"(to), "l"(twice + base), "r"(barrier)
        : "memory");
  }
  Wait(barrier);
  out[i] = tile[threadIdx.x] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto twice = torch::empty_like(x);
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), twice.data_ptr<float>(),
                              out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
