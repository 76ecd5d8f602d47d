// Forward: a warp a row takes the largest that comes after the last one taken (by value, then by
// index), k times.
#include <torch/extension.h>

#include <tuple>

__device__ bool Before(float a, int ai, float b, int bi) { return a > b || (a == b && ai < bi); }

__global__ void TopK(const float* __restrict__ x, float* __restrict__ values,
                     int64_t* __restrict__ indices, int width, int k) {
  const float* row = x + (size_t)blockIdx.x * width;
  float last = INFINITY;
  int last_index = -1;
  for (int round = 0; round < k; ++round) {
    float best = -INFINITY;
    int best_index = width;
    for (int i = threadIdx.x; i < width; i += 32) {
      const float v = row[i];
      if (Before(last, last_index, v, i) && Before(v, i, best, best_index)) {
        best = v;
        best_index = i;
      }
    }
    for (int o = 16; o > 0; o >>= 1) {
      const float other = __shfl_xor_sync(0xffffffff, best, o);
      const int other_index = __shfl_xor_sync(0xffffffff, best_index, o);
      if (Before(other, other_index, best, best_index)) {
        best = other;
        best_index = other_index;
      }
    }
    if (threadIdx.x == 0) {
      values[(size_t)blockIdx.x * k + round] = best;
      indices[(size_t)blockIdx.x * k + round] = best_index;
    }
    last = best;
    last_index = best_index;
  }
}

std::tuple<torch::Tensor, torch::Tensor> forward(torch::Tensor x, int64_t k) {
  const int rows = x.size(0), width = x.size(1);
  auto values = torch::empty({rows, k}, x.options());
  auto indices = torch::empty({rows, k}, x.options().dtype(torch::kInt64));
  TopK<<<rows, 32>>>(x.data_ptr<float>(), values.data_ptr<float>(), indices.data_ptr<int64_t>(),
                     width, (int)k);
  return {values, indices};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
