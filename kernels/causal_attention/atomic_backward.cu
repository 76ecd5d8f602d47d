// Backward: a block a query recomputes its weights in shared memory, writes dq and adds its share
// of dk and dv atomically.
#include <torch/extension.h>

#include <cmath>

constexpr int kThreads = 32;

__device__ float WarpSum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}

__global__ void CausalBackward(const float* __restrict__ go, const float* __restrict__ q,
                               const float* __restrict__ k, const float* __restrict__ v,
                               float* __restrict__ dq, float* dk, float* dv, int tokens, int width,
                               float scale) {
  extern __shared__ float shared[];
  float* p = shared;            // weight of each key
  float* ds = shared + tokens;  // gradient of each score
  const int query = blockIdx.x;
  const int seen = query + 1;
  const size_t base = (size_t)blockIdx.y * tokens * width;
  const float* qr = q + base + (size_t)query * width;
  const float* gr = go + base + (size_t)query * width;

  float m = -INFINITY;
  for (int j = threadIdx.x; j < seen; j += kThreads) {
    float score = 0, value = 0;
    for (int d = 0; d < width; ++d) {
      score += qr[d] * k[base + (size_t)j * width + d];
      value += gr[d] * v[base + (size_t)j * width + d];
    }
    p[j] = score * scale;
    ds[j] = value;
    m = fmaxf(m, p[j]);
  }
  for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
  float sum = 0;
  for (int j = threadIdx.x; j < seen; j += kThreads) {
    p[j] = expf(p[j] - m);
    sum += p[j];
  }
  sum = WarpSum(sum);
  float delta = 0;
  for (int j = threadIdx.x; j < seen; j += kThreads) {
    p[j] /= sum;
    delta += p[j] * ds[j];
  }
  delta = WarpSum(delta);
  for (int j = threadIdx.x; j < seen; j += kThreads) ds[j] = p[j] * (ds[j] - delta) * scale;
  __syncthreads();

  for (int d = threadIdx.x; d < width; d += kThreads) {
    float gradient = 0;
    for (int j = 0; j < seen; ++j) {
      const size_t at = base + (size_t)j * width + d;
      gradient += ds[j] * k[at];
      atomicAdd(&dk[at], ds[j] * qr[d]);
      atomicAdd(&dv[at], p[j] * gr[d]);
    }
    dq[base + (size_t)query * width + d] = gradient;
  }
}

std::vector<torch::Tensor> backward(torch::Tensor go, torch::Tensor q, torch::Tensor k,
                                    torch::Tensor v) {
  go = go.contiguous();
  const int tokens = q.size(2), width = q.size(3);
  auto dq = torch::empty_like(q);
  auto dk = torch::zeros_like(k), dv = torch::zeros_like(v);
  const size_t bytes = 2 * tokens * sizeof(float);
  if (bytes > 48 * 1024) {
    cudaFuncSetAttribute(CausalBackward, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  }
  CausalBackward<<<dim3(tokens, q.size(0) * q.size(1)), kThreads, bytes>>>(
      go.data_ptr<float>(), q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
      dq.data_ptr<float>(), dk.data_ptr<float>(), dv.data_ptr<float>(), tokens, width,
      1.0f / std::sqrt((float)width));
  return {dq, dk, dv};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
