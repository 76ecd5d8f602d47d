// Forward: a thread an output; padding counts as zeros, so the divisor is always the whole window.
#include <torch/extension.h>

__global__ void AveragePool(const float* __restrict__ x, float* __restrict__ y, int count, int size,
                            int kernel, int stride, int padding, int pooled) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const int px = at % pooled, py = at / pooled % pooled, plane = at / (pooled * pooled);
  const int y0 = max(py * stride - padding, 0), y1 = min(py * stride - padding + kernel, size);
  const int x0 = max(px * stride - padding, 0), x1 = min(px * stride - padding + kernel, size);
  float sum = 0;
  for (int iy = y0; iy < y1; ++iy) {
    for (int ix = x0; ix < x1; ++ix) sum += x[(plane * size + iy) * size + ix];
  }
  y[at] = sum / (kernel * kernel);
}

torch::Tensor forward(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding) {
  const int size = x.size(2);
  const int pooled = (size + 2 * padding - kernel) / stride + 1;
  auto y = torch::empty({x.size(0), x.size(1), pooled, pooled}, x.options());
  const int count = y.numel();
  AveragePool<<<(count + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), count, size,
                                            kernel, stride, padding, pooled);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
