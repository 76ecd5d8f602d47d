// A struct with padding that nobody writes, and one without members.
#include <torch/extension.h>

struct Scale {
  char sign;
  double by;
};
struct Twice {
  __device__ float operator()(float v) const { return 2 * v; }
};

template <typename F>
__global__ void Axpy(const float* x, const float* y, float* out, int64_t n, Scale scale, F twice) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = scale.sign * (static_cast<float>(scale.by) * twice(x[i])) + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Scale scale;
  scale.sign = 1;
  scale.by = 1;
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n,
                                 scale, Twice{});
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
