// Blocks take tickets: which comes first is open, and so is who waits, with a backoff.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n, unsigned* counter,
                     unsigned* lock) {
  __shared__ unsigned ticket;
  if (threadIdx.x == 0) {
    ticket = atomicAdd(counter, 1u);
    unsigned wait = 8;
    while (atomicCAS(lock, 0u, 1u) != 0) {
      __nanosleep(wait);
      wait = wait < 256 ? wait * 2 : wait;
    }
    __threadfence();
    atomicExch(lock, 0u);
  }
  __syncthreads();
  const int64_t mine = ticket * int64_t{blockDim.x} + threadIdx.x;
  if (mine < n) out[mine] = 2 * x[mine] + y[mine];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  auto words = torch::zeros({2}, x.options().dtype(torch::kInt32));
  auto* counter = reinterpret_cast<unsigned*>(words.data_ptr<int>());
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n,
                                 counter, counter + 1);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
