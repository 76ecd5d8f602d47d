// The term of the mean of g * xhat is forgotten in dx.
// dx a row a block; dweight and dbias as partial sums over groups of rows in a workspace, then added.
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <vector>

constexpr int kThreads = 128;

__device__ float2 block_sum2(float2 v) {
  __shared__ float2 s[kThreads / 32];
  for (int o = 16; o > 0; o >>= 1) {
    v.x += __shfl_xor_sync(~0u, v.x, o);
    v.y += __shfl_xor_sync(~0u, v.y, o);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = s[0];
  for (int i = 1; i < kThreads / 32; ++i) {
    v.x += s[i].x;
    v.y += s[i].y;
  }
  return v;
}

__global__ void stats_and_dx(const float* go, const float* x, const float* w, float* dx, float* mean_out,
                             float* rstd_out, int n, float eps) {
  const size_t row = blockIdx.x;
  go += row * n; x += row * n; dx += row * n;
  float2 sums = {0.f, 0.f};
  for (int i = threadIdx.x; i < n; i += kThreads) sums.x += x[i];
  const float mean = block_sum2(sums).x / n;
  sums = {0.f, 0.f};
  for (int i = threadIdx.x; i < n; i += kThreads) sums.x += (x[i] - mean) * (x[i] - mean);
  const float rstd = rsqrtf(block_sum2(sums).x / n + eps);
  sums = {0.f, 0.f};
  for (int i = threadIdx.x; i < n; i += kThreads) {
    const float g = go[i] * w[i];
    sums.x += g;
    sums.y += g * (x[i] - mean) * rstd;
  }
  sums = block_sum2(sums);
  for (int i = threadIdx.x; i < n; i += kThreads) {
    const float xhat = (x[i] - mean) * rstd;
    dx[i] = rstd * (go[i] * w[i] - sums.x / n);
  }
  if (threadIdx.x == 0) {
    mean_out[row] = mean;
    rstd_out[row] = rstd;
  }
}

__global__ void partial_dw_db(const float* go, const float* x, const float* mean, const float* rstd, float* pw,
                              float* pb, int rows, int n, int rows_each) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= n) return;
  const int first = blockIdx.y * rows_each, last = min(first + rows_each, rows);
  float dw = 0.f, db = 0.f;
  for (int r = first; r < last; ++r) {
    const float g = go[(size_t)r * n + col];
    dw += g * (x[(size_t)r * n + col] - mean[r]) * rstd[r];
    db += g;
  }
  pw[(size_t)blockIdx.y * n + col] = dw;
  pb[(size_t)blockIdx.y * n + col] = db;
}

std::vector<torch::Tensor> backward(torch::Tensor go, torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
  go = go.contiguous();
  x = x.contiguous();
  const int n = w.numel(), rows = x.numel() / n;
  auto dx = torch::empty_like(x);
  auto mean = torch::empty({rows}, x.options()), rstd = torch::empty({rows}, x.options());
  const int groups = std::min(rows, 16), rows_each = (rows + groups - 1) / groups;
  auto pw = torch::empty({groups, n}, x.options()), pb = torch::empty({groups, n}, x.options());
  auto stream = c10::cuda::getCurrentCUDAStream();
  stats_and_dx<<<rows, kThreads, 0, stream>>>(go.data_ptr<float>(), x.data_ptr<float>(), w.data_ptr<float>(),
      dx.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(), n, (float)eps);
  partial_dw_db<<<dim3((n + 127) / 128, groups), 128, 0, stream>>>(go.data_ptr<float>(), x.data_ptr<float>(),
      mean.data_ptr<float>(), rstd.data_ptr<float>(), pw.data_ptr<float>(), pb.data_ptr<float>(), rows, n, rows_each);
  return {dx, pw.sum(0).view(w.sizes()), pb.sum(0).view(b.sizes())};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
