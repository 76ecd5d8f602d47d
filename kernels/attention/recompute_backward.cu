// Backward: statistics of each query first (logsumexp and go . out), then dq by query and dk, dv by
// key from recomputed weights.
#include <torch/extension.h>

#include <cmath>

__device__ float Dot(const float* __restrict__ a, const float* __restrict__ b, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// A thread a query: lse = log(sum(exp(score))), delta = sum over keys of p * (go . v) = go . out.
__global__ void Statistics(const float* __restrict__ go, const float* __restrict__ q,
                           const float* __restrict__ k, const float* __restrict__ v,
                           float* __restrict__ lse, float* __restrict__ delta, int queries,
                           int keys, int width, float scale) {
  const int query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= queries) return;
  const size_t row = (size_t)blockIdx.y * queries + query;
  float m = -INFINITY, sum = 0, weighted = 0;
  for (int j = 0; j < keys; ++j) {
    const size_t key = (size_t)blockIdx.y * keys + j;
    const float score = Dot(q + row * width, k + key * width, width) * scale;
    const float larger = fmaxf(m, score);
    const float old = expf(m - larger), now = expf(score - larger);
    sum = sum * old + now;
    weighted = weighted * old + now * Dot(go + row * width, v + key * width, width);
    m = larger;
  }
  lse[row] = m + logf(sum);
  delta[row] = weighted / sum;
}

__global__ void GradQuery(const float* __restrict__ go, const float* __restrict__ q,
                          const float* __restrict__ k, const float* __restrict__ v,
                          const float* __restrict__ lse, const float* __restrict__ delta,
                          float* __restrict__ dq, int queries, int keys, int width, float scale) {
  const size_t row = (size_t)blockIdx.y * queries + blockIdx.x;
  extern __shared__ float ds[];  // of every key
  for (int j = threadIdx.x; j < keys; j += blockDim.x) {
    const size_t key = (size_t)blockIdx.y * keys + j;
    const float p = expf(Dot(q + row * width, k + key * width, width) * scale - lse[row]);
    ds[j] = p * (Dot(go + row * width, v + key * width, width) - delta[row]) * scale;
  }
  __syncthreads();
  for (int d = threadIdx.x; d < width; d += blockDim.x) {
    float sum = 0;
    for (int j = 0; j < keys; ++j) sum += ds[j] * k[((size_t)blockIdx.y * keys + j) * width + d];
    dq[row * width + d] = sum;
  }
}

__global__ void GradKeyValue(const float* __restrict__ go, const float* __restrict__ q,
                             const float* __restrict__ k, const float* __restrict__ v,
                             const float* __restrict__ lse, const float* __restrict__ delta,
                             float* __restrict__ dk, float* __restrict__ dv, int queries, int keys,
                             int width, float scale) {
  const size_t key = (size_t)blockIdx.y * keys + blockIdx.x;
  extern __shared__ float shared[];
  float* p = shared;
  float* ds = shared + queries;
  for (int i = threadIdx.x; i < queries; i += blockDim.x) {
    const size_t row = (size_t)blockIdx.y * queries + i;
    p[i] = expf(Dot(q + row * width, k + key * width, width) * scale - lse[row]);
    ds[i] = p[i] * (Dot(go + row * width, v + key * width, width) - delta[row]) * scale;
  }
  __syncthreads();
  for (int d = threadIdx.x; d < width; d += blockDim.x) {
    float key_sum = 0, value_sum = 0;
    for (int i = 0; i < queries; ++i) {
      const size_t at = ((size_t)blockIdx.y * queries + i) * width + d;
      key_sum += ds[i] * q[at];
      value_sum += p[i] * go[at];
    }
    dk[key * width + d] = key_sum;
    dv[key * width + d] = value_sum;
  }
}

std::vector<torch::Tensor> backward(torch::Tensor go, torch::Tensor q, torch::Tensor k,
                                    torch::Tensor v) {
  go = go.contiguous();
  const int heads = q.size(0) * q.size(1), queries = q.size(2), keys = k.size(2), width = q.size(3);
  const float scale = 1.0 / std::sqrt(static_cast<double>(width));
  auto lse = torch::empty({heads, queries}, q.options());
  auto delta = torch::empty({heads, queries}, q.options());
  auto dq = torch::empty_like(q), dk = torch::empty_like(k), dv = torch::empty_like(v);
  Statistics<<<dim3((queries + 31) / 32, heads), 32>>>(
      go.data_ptr<float>(), q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
      lse.data_ptr<float>(), delta.data_ptr<float>(), queries, keys, width, scale);
  GradQuery<<<dim3(queries, heads), 32, keys * sizeof(float)>>>(
      go.data_ptr<float>(), q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
      lse.data_ptr<float>(), delta.data_ptr<float>(), dq.data_ptr<float>(), queries, keys, width,
      scale);
  GradKeyValue<<<dim3(keys, heads), 32, 2 * queries * sizeof(float)>>>(
      go.data_ptr<float>(), q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
      lse.data_ptr<float>(), delta.data_ptr<float>(), dk.data_ptr<float>(), dv.data_ptr<float>(),
      queries, keys, width, scale);
  return {dq, dk, dv};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
