// Honest: two streams in a row, with an event wherever one reads what another writes.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

__global__ void Twice(const float* x, float* twice, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) twice[i] = 2 * x[i];
}

__global__ void Add(const float* twice, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = twice[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const auto caller = c10::cuda::getCurrentCUDAStream();
  const auto first = c10::cuda::getStreamFromPool();
  const auto second = c10::cuda::getStreamFromPool();
  auto twice = torch::empty_like(x);
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  at::cuda::CUDAEvent begin, between, end;
  begin.record(caller);
  begin.block(first);
  Twice<<<(n + 255) / 256, 256, 0, first>>>(x.data_ptr<float>(), twice.data_ptr<float>(), n);
  between.record(first);
  between.block(second);
  Add<<<(n + 255) / 256, 256, 0, second>>>(twice.data_ptr<float>(), y.data_ptr<float>(),
                                           out.data_ptr<float>(), n);
  end.record(second);
  end.block(caller);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
