// Weights in constant memory, copied there on the stream by every call.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
__constant__ float c_weight[16384];
__global__ void depthwise(const float* __restrict__ x, const float* __restrict__ b, float* __restrict__ y, int C, int H,
                          int W, int OH, int OW, int K, int stride, int pad) {
  const int nc = blockIdx.z, c = nc % C;
  const int ow = blockIdx.x * blockDim.x + threadIdx.x, oh = blockIdx.y * blockDim.y + threadIdx.y;
  if (ow >= OW || oh >= OH) return;
  const float* in = x + (size_t)nc * H * W;
  const float* w = c_weight + c * K * K;
  float acc = b[c];
  for (int i = 0; i < K; ++i) {
    const int h = oh * stride - pad + i;
    if ((unsigned)h >= (unsigned)H) continue;
    for (int j = 0; j < K; ++j) {
      const int v = ow * stride - pad + j;
      if ((unsigned)v < (unsigned)W) acc += in[h * W + v] * w[i * K + j];
    }
  }
  y[((size_t)nc * OH + oh) * OW + ow] = acc;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride, int64_t padding) {
  const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), K = weight.size(2);
  const int OH = (H + 2 * padding - K) / stride + 1, OW = (W + 2 * padding - K) / stride + 1;
  TORCH_CHECK(weight.numel() <= 16384, "too many weights for constant memory");
  auto y = torch::empty({N, C, OH, OW}, x.options());
  auto stream = at::cuda::getCurrentCUDAStream();
  C10_CUDA_CHECK(cudaMemcpyToSymbolAsync(c_weight, weight.contiguous().data_ptr<float>(), weight.numel() * sizeof(float), 0,
                                         cudaMemcpyDeviceToDevice, stream));
  depthwise<<<dim3((OW + 15) / 16, (OH + 7) / 8, N * C), dim3(16, 8), 0, stream>>>(
      x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), C, H, W, OH, OW, K, stride, padding);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
