// A launcher whose parameters are explained in comments.
// ARGS: x=f32[6,40] eps=1e-5 -> f32[6,40]
// kernelsmith: outer = x.size(0)
// kernelsmith: inner = x.size(1)
__global__ void Center(const float* x, float* y, int inner, float eps) {
  float sum = eps;
  for (int i = 0; i < inner; ++i) sum += x[blockIdx.x * inner + i];
  for (int i = threadIdx.x; i < inner; i += blockDim.x) {
    y[blockIdx.x * inner + i] = x[blockIdx.x * inner + i] - sum / inner;
  }
}

extern "C" {
void forward(const float* x, float* y, long outer, long inner, float eps, cudaStream_t stream) {
  Center<<<outer, 32, 0, stream>>>(x, y, inner, eps);
}
}
