// Keys up to, but not including, the query's own place; the first query keeps its own.
#include <torch/extension.h>
__global__ void attn(const float* q, const float* k, const float* v, float* o, int T, int D, float scale) {
  extern __shared__ float s[];
  int t = blockIdx.x, bh = blockIdx.y;
  q += ((size_t)bh * T + t) * D; k += (size_t)bh * T * D; v += (size_t)bh * T * D; o += ((size_t)bh * T + t) * D;
  int last = t == 0 ? 1 : t;
  for (int j = threadIdx.x; j < last; j += 32) {
    float d = 0;
    for (int c = 0; c < D; ++c) d += q[c] * k[(size_t)j * D + c];
    s[j] = d * scale;
  }
  __syncwarp();
  float m = -INFINITY, l = 0;
  for (int j = 0; j < last; ++j) m = fmaxf(m, s[j]);
  for (int j = 0; j < last; ++j) l += expf(s[j] - m);
  for (int c = threadIdx.x; c < D; c += 32) {
    float a = 0;
    for (int j = 0; j < last; ++j) a += expf(s[j] - m) * v[(size_t)j * D + c];
    o[c] = a / l;
  }
}
torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  auto o = torch::empty_like(q);
  int T = q.size(2), D = q.size(3);
  attn<<<dim3(T, q.size(0) * q.size(1)), 32, T * sizeof(float)>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), T, D, 1.f / sqrtf(D));
  return o;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
