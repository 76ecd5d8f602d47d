// Backward: the gradient is the cumulative sum from the right; one warp a row, scanning from the
// end.
#include <torch/extension.h>

__global__ void ReverseSum(const float* __restrict__ go, float* __restrict__ dx, int width) {
  const int lane = threadIdx.x;
  const size_t base = (size_t)blockIdx.x * width;
  float carry = 0;
  for (int done = 0; done < width; done += 32) {
    const int i = width - 1 - done - lane;  // lane 0 has the rightmost
    float v = i >= 0 ? go[base + i] : 0.0f;
    for (int offset = 1; offset < 32; offset <<= 1) {
      const float right = __shfl_up_sync(0xffffffffu, v, offset);
      v += lane >= offset ? right : 0.0f;
    }
    v += carry;
    if (i >= 0) dx[base + i] = v;
    carry = __shfl_sync(0xffffffffu, v, 31);
  }
}

torch::Tensor backward(torch::Tensor go) {
  go = go.contiguous();
  auto dx = torch::empty_like(go);
  const int width = go.size(-1);
  ReverseSum<<<go.numel() / width, 32>>>(go.data_ptr<float>(), dx.data_ptr<float>(), width);
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
