// Plain CUDA: an extern "C" launcher.
// ARGS: a=f32[500] b=f32[500] -> f32[500]
#include <cuda_runtime.h>

__global__ void Add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

extern "C" void launch(const float* a, const float* b, float* out, int n) {
  Add<<<(n + 127) / 128, 128>>>(a, b, out, n);
}
