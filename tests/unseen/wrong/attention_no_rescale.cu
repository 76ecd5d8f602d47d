// Online softmax that rescales the sum but forgets the accumulator when the maximum grows.
#include <torch/extension.h>
__global__ void attn(const float* q, const float* k, const float* v, float* o, int Q, int K, int D, float scale) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, bh = blockIdx.y;
  if (t >= Q) return;
  q += ((size_t)bh * Q + t) * D; o += ((size_t)bh * Q + t) * D; k += (size_t)bh * K * D; v += (size_t)bh * K * D;
  float m = -INFINITY, l = 0, acc[128];
  for (int c = 0; c < D; ++c) acc[c] = 0;
  for (int j = 0; j < K; ++j) {
    float s = 0;
    for (int c = 0; c < D; ++c) s += q[c] * k[(size_t)j * D + c];
    s *= scale;
    float mn = fmaxf(m, s), p = __expf(s - mn);
    l = l * __expf(m - mn) + p;
    m = mn;
    for (int c = 0; c < D; ++c) acc[c] += p * v[(size_t)j * D + c];
  }
  for (int c = 0; c < D; ++c) o[c] = acc[c] / l;
}
torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  auto o = torch::empty_like(q);
  int Q = q.size(2), K = k.size(2), D = q.size(3);
  attn<<<dim3((Q + 31) / 32, q.size(0) * q.size(1)), 32>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), Q, K, D, 1.f / sqrtf(D));
  return o;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
