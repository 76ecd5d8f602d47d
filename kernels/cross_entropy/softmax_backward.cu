// Backward: (softmax - one at the target) * go / batch; a block a row with a tree in shared memory.
#include <torch/extension.h>

constexpr int kThreads = 64;

__global__ void CrossEntropyBackward(const float* __restrict__ go, const float* __restrict__ logits,
                                     const int64_t* __restrict__ targets, float* __restrict__ dx,
                                     int batch, int classes) {
  __shared__ float tree[kThreads];
  const float* z = logits + (size_t)blockIdx.x * classes;
  const int t = threadIdx.x;

  float m = -INFINITY;
  for (int c = t; c < classes; c += kThreads) m = fmaxf(m, z[c]);
  tree[t] = m;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (t < s) tree[t] = fmaxf(tree[t], tree[t + s]);
    __syncthreads();
  }
  m = tree[0];
  __syncthreads();

  float sum = 0;
  for (int c = t; c < classes; c += kThreads) sum += expf(z[c] - m);
  tree[t] = sum;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (t < s) tree[t] += tree[t + s];
    __syncthreads();
  }
  sum = tree[0];

  const float scale = go[0] / batch;
  const int target = static_cast<int>(targets[blockIdx.x]);
  for (int c = t; c < classes; c += kThreads) {
    const float p = expf(z[c] - m) / sum;
    dx[(size_t)blockIdx.x * classes + c] = (p - (c == target ? 1.0f : 0.0f)) * scale;
  }
}

torch::Tensor backward(torch::Tensor go, torch::Tensor logits, torch::Tensor targets) {
  auto dx = torch::empty_like(logits);
  const int batch = logits.size(0), classes = logits.size(1);
  CrossEntropyBackward<<<batch, kThreads>>>(go.data_ptr<float>(), logits.data_ptr<float>(),
                                            targets.data_ptr<int64_t>(), dx.data_ptr<float>(),
                                            batch, classes);
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
