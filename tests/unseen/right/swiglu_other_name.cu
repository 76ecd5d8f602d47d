// As load_inline gets it: no module, one function with a name of its own.
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void swiglu_kernel(const float* x, float* out, int rows, int width) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx < rows * width) {
    int r = idx / width, c = idx % width;
    float g = x[r * 2 * width + c], v = x[r * 2 * width + width + c];
    out[idx] = g / (1.0f + expf(-g)) * v;
  }
}

torch::Tensor swiglu_cuda(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1) / 2;
  auto out = torch::empty({rows, width}, x.options());
  const int block_size = 256;
  swiglu_kernel<<<(rows * width + block_size - 1) / block_size, block_size>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, width);
  return out;
}
