// Forward: scores, softmax in place, and the weighted sum as three plain kernels with the score
// matrix in memory.
#include <torch/extension.h>

#include <cmath>

__global__ void Scores(const float* __restrict__ q, const float* __restrict__ k,
                       float* __restrict__ s, int queries, int keys, int width, float scale) {
  const int key = blockIdx.x * blockDim.x + threadIdx.x;
  const int query = blockIdx.y * blockDim.y + threadIdx.y;
  const int head = blockIdx.z;
  if (key >= keys || query >= queries) return;
  const float* qr = q + ((int64_t)head * queries + query) * width;
  const float* kr = k + ((int64_t)head * keys + key) * width;
  float dot = 0.0f;
  for (int d = 0; d < width; ++d) dot += qr[d] * kr[d];
  s[((int64_t)head * queries + query) * keys + key] = dot * scale;
}

__global__ void SoftmaxInPlace(float* s, int keys) {
  float* row = s + (int64_t)blockIdx.x * keys;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < keys; i += 32) m = fmaxf(m, row[i]);
  for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
  float sum = 0;
  for (int i = threadIdx.x; i < keys; i += 32) {
    row[i] = expf(row[i] - m);
    sum += row[i];
  }
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  for (int i = threadIdx.x; i < keys; i += 32) row[i] /= sum;
}

__global__ void Weigh(const float* __restrict__ p, const float* __restrict__ v,
                      float* __restrict__ out, int queries, int keys, int width) {
  const int d = blockIdx.x * blockDim.x + threadIdx.x;
  const int query = blockIdx.y;
  const int head = blockIdx.z;
  if (d >= width) return;
  float sum = 0;
  for (int key = 0; key < keys; ++key) {
    sum += p[((int64_t)head * queries + query) * keys + key] *
           v[((int64_t)head * keys + key) * width + d];
  }
  out[((int64_t)head * queries + query) * width + d] = sum;
}

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  const int heads = q.size(0) * q.size(1), queries = q.size(2), keys = k.size(2), width = q.size(3);
  auto scores = torch::empty({heads, queries, keys}, q.options());
  auto out = torch::empty_like(q);
  Scores<<<dim3((keys + 15) / 16, (queries + 7) / 8, heads), dim3(16, 8)>>>(
      q.data_ptr<float>(), k.data_ptr<float>(), scores.data_ptr<float>(), queries, keys, width,
      1.0 / std::sqrt(width));
  SoftmaxInPlace<<<heads * queries, 32>>>(scores.data_ptr<float>(), keys);
  Weigh<<<dim3((width + 31) / 32, queries, heads), 32>>>(
      scores.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), queries, keys, width);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
