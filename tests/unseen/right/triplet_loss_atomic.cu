#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void triplet_kernel(const float* anchor, const float* positive, const float* negative,
                               float* loss, int batch, int feat, float margin) {
  extern __shared__ float sdata[];
  float* sp = sdata;
  float* sn = sdata + blockDim.x;
  int b = blockIdx.x;
  int tid = threadIdx.x;
  float dp = 0.f, dn = 0.f;
  for (int i = tid; i < feat; i += blockDim.x) {
    float a = anchor[b * (long long)feat + i];
    float p = a - positive[b * (long long)feat + i] + 1e-6f;
    float n = a - negative[b * (long long)feat + i] + 1e-6f;
    dp += p * p;
    dn += n * n;
  }
  sp[tid] = dp;
  sn[tid] = dn;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) {
      sp[tid] += sp[tid + s];
      sn[tid] += sn[tid + s];
    }
    __syncthreads();
  }
  if (tid == 0) {
    float l = sqrtf(sp[0]) - sqrtf(sn[0]) + margin;
    atomicAdd(loss, fmaxf(l, 0.f) / batch);
  }
}

torch::Tensor triplet_forward(torch::Tensor anchor, torch::Tensor positive, torch::Tensor negative) {
  int batch = anchor.size(0);
  int feat = anchor.numel() / batch;
  auto loss = torch::zeros({}, anchor.options());
  const int threads = 256;
  triplet_kernel<<<batch, threads, 2 * threads * sizeof(float)>>>(
      anchor.contiguous().data_ptr<float>(), positive.contiguous().data_ptr<float>(),
      negative.contiguous().data_ptr<float>(), loss.data_ptr<float>(), batch, feat, 1.0f);
  return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &triplet_forward); }
