// Honest: blocks draw their tiles in the order in which they begin, so that each waits only for one
// that is running or has ended.
#include <torch/extension.h>

constexpr int kTile = 128;

__device__ void Tile(const float* x, float* out, float* sums, int* done, int row, int tile,
                     int tiles, int columns) {
  __shared__ float s[kTile], before;
  const int t = threadIdx.x, c = tile * kTile + t;
  const int64_t at = int64_t{row} * columns + c, mine = int64_t{row} * tiles + tile;
  s[t] = c < columns ? x[at] : 0;
  for (int d = 1; d < kTile; d *= 2) {
    __syncthreads();
    const float left = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += left;
  }
  __syncthreads();
  if (t == 0) {
    before = 0;
    if (tile > 0) {
      while (atomicAdd(done + mine - 1, 0) == 0) {
      }
      __threadfence();
      before = sums[mine - 1];
    }
    sums[mine] = before + s[kTile - 1];
    __threadfence();
    atomicExch(done + mine, 1);
  }
  __syncthreads();
  if (c < columns) out[at] = before + s[t];
}

__global__ void Scan(const float* x, float* out, float* sums, int* done, int* next, int rows,
                     int tiles, int columns) {
  __shared__ int ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(next, 1);
  __syncthreads();
  Tile(x, out, sums, done, ticket % rows, ticket / rows, tiles, columns);
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int columns = x.size(-1), tiles = (columns + kTile - 1) / kTile;
  const int64_t rows = x.numel() / columns;
  auto sums = torch::empty({rows, tiles}, x.options());
  auto done = torch::zeros({rows * tiles + 1}, x.options().dtype(torch::kInt32));
  Scan<<<rows * tiles, kTile>>>(x.data_ptr<float>(), out.data_ptr<float>(), sums.data_ptr<float>(),
                                done.data_ptr<int>() + 1, done.data_ptr<int>(), rows, tiles,
                                columns);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
