// The block that comes last adds up what the others stored, by loads that are for constant data.
#include <torch/extension.h>

__global__ void Mse(const float* p, const float* t, float* parts, unsigned* arrived, float* out,
                    int64_t n) {
  __shared__ float warps[4];
  __shared__ bool last;
  float sum = 0;
  for (int64_t i = blockIdx.x * 128 + threadIdx.x; i < n; i += int64_t{gridDim.x} * 128) {
    sum += (p[i] - t[i]) * (p[i] - t[i]);
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = warps[0] + warps[1] + warps[2] + warps[3];
    __threadfence();
    last = atomicAdd(arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) {
    float part;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(part) : "l"(parts + b));
    total += part;
  }
  *out = total / n;
}

torch::Tensor forward(torch::Tensor prediction, torch::Tensor target) {
  auto parts = torch::empty({8}, prediction.options());
  auto arrived = torch::zeros({1}, prediction.options().dtype(torch::kInt32));
  auto out = torch::empty({}, prediction.options());
  Mse<<<8, 128>>>(prediction.data_ptr<float>(), target.data_ptr<float>(), parts.data_ptr<float>(),
                  reinterpret_cast<unsigned*>(arrived.data_ptr<int>()), out.data_ptr<float>(),
                  prediction.numel());
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
