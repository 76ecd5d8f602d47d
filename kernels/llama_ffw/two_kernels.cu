// Forward: gate and up share the tile of x in one kernel that writes silu(gate) * up; the second
// multiplies by down.
#include <torch/extension.h>

constexpr int kTile = 16;

__global__ void GateUp(const float* __restrict__ x, const float* __restrict__ gate,
                       const float* __restrict__ up, float* __restrict__ h, int tokens, int width,
                       int hidden) {
  __shared__ float xs[kTile][kTile + 1], gs[kTile][kTile + 1], us[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int token = blockIdx.y * kTile + ty;
  const int unit = blockIdx.x * kTile + tx;
  const int loaded = blockIdx.x * kTile + ty;
  float g = 0, u = 0;
  for (int k0 = 0; k0 < width; k0 += kTile) {
    const int k = k0 + tx;
    xs[ty][tx] = token < tokens && k < width ? x[token * width + k] : 0;
    gs[ty][tx] = loaded < hidden && k < width ? gate[loaded * width + k] : 0;
    us[ty][tx] = loaded < hidden && k < width ? up[loaded * width + k] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) {
      g += xs[ty][i] * gs[tx][i];
      u += xs[ty][i] * us[tx][i];
    }
    __syncthreads();
  }
  if (token < tokens && unit < hidden) h[token * hidden + unit] = g / (1.0f + expf(-g)) * u;
}

__global__ void Down(const float* __restrict__ h, const float* __restrict__ down,
                     float* __restrict__ y, int tokens, int width, int hidden) {
  __shared__ float hs[kTile][kTile + 1], ds[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int token = blockIdx.y * kTile + ty;
  const int column = blockIdx.x * kTile + tx;
  const int loaded = blockIdx.x * kTile + ty;
  float sum = 0;
  for (int k0 = 0; k0 < hidden; k0 += kTile) {
    const int k = k0 + tx;
    hs[ty][tx] = token < tokens && k < hidden ? h[token * hidden + k] : 0;
    ds[ty][tx] = loaded < width && k < hidden ? down[loaded * hidden + k] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += hs[ty][i] * ds[tx][i];
    __syncthreads();
  }
  if (token < tokens && column < width) y[token * width + column] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor gate, torch::Tensor up, torch::Tensor down) {
  const int width = x.size(-1), hidden = gate.size(0);
  const int tokens = x.numel() / width;
  auto h = torch::empty({tokens, hidden}, x.options());
  auto y = torch::empty_like(x);
  const dim3 block(kTile, kTile);
  const int rows = (tokens + kTile - 1) / kTile;
  GateUp<<<dim3((hidden + kTile - 1) / kTile, rows), block>>>(
      x.data_ptr<float>(), gate.data_ptr<float>(), up.data_ptr<float>(), h.data_ptr<float>(),
      tokens, width, hidden);
  Down<<<dim3((width + kTile - 1) / kTile, rows), block>>>(
      h.data_ptr<float>(), down.data_ptr<float>(), y.data_ptr<float>(), tokens, width, hidden);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
