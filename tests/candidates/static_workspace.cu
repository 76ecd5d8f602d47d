// A workspace that is kept from call to call.
// ARGS: x=f32[300]
#include <torch/extension.h>


__global__ void Partial(const float* x, float* partial, int n) {
  __shared__ float scratch[64];
  float sum = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) sum += x[i];
  scratch[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 32; s > 0; s /= 2) {
    if (threadIdx.x < s) scratch[threadIdx.x] += scratch[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = scratch[0];
}
__global__ void Finish(const float* partial, float* out) {
  *out = partial[0] + partial[1] + partial[2];
}

torch::Tensor forward(torch::Tensor x) {
  static torch::Tensor workspace = torch::empty({3}, x.options());
  auto out = torch::empty({}, x.options());
  Partial<<<3, 64>>>(x.data_ptr<float>(), workspace.data_ptr<float>(), x.numel());
  Finish<<<1, 1>>>(workspace.data_ptr<float>(), out.data_ptr<float>());
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
