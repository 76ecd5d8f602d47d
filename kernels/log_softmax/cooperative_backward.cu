// Backward: dx = go - softmax(x) * sum(go), with cooperative groups: a tile of 32 threads a row.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <torch/extension.h>

namespace cg = cooperative_groups;

__global__ void LogSoftmaxBackward(const float* go, const float* x, float* dx, int rows,
                                   int columns) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = blockIdx.x * (blockDim.x / 32) + tile.meta_group_rank();
  if (row >= rows) return;
  const size_t base = (size_t)row * columns;

  float m = -INFINITY, g = 0;
  for (int c = tile.thread_rank(); c < columns; c += tile.size()) {
    m = fmaxf(m, x[base + c]);
    g += go[base + c];
  }
  m = cg::reduce(tile, m, cg::greater<float>());
  g = cg::reduce(tile, g, cg::plus<float>());

  float s = 0;
  for (int c = tile.thread_rank(); c < columns; c += tile.size()) s += expf(x[base + c] - m);
  s = cg::reduce(tile, s, cg::plus<float>());

  const float scale = g / s;
  for (int c = tile.thread_rank(); c < columns; c += tile.size()) {
    dx[base + c] = go[base + c] - expf(x[base + c] - m) * scale;
  }
}

torch::Tensor backward(torch::Tensor go, torch::Tensor x) {
  go = go.contiguous();
  auto dx = torch::empty_like(x);
  const int columns = x.size(-1), rows = x.numel() / columns;
  LogSoftmaxBackward<<<(rows + 1) / 2, 64>>>(go.data_ptr<float>(), x.data_ptr<float>(),
                                             dx.data_ptr<float>(), rows, columns);
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
