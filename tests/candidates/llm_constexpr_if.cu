// One template for all activations and dtypes, with if constexpr and the dispatch macro's AND2.
// ARGS: x=f16[9,31] kind=2
#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <torch/extension.h>

enum class Activation : int { kRelu = 0, kSilu = 1, kGelu = 2 };

template <typename scalar_t, Activation A>
__global__ void activate(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int64_t n) {
  using acc_t = at::acc_type<scalar_t, /*is_cuda=*/true>;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<int64_t>(blockDim.x) * gridDim.x) {
    const acc_t v = static_cast<acc_t>(x[i]);
    acc_t r;
    if constexpr (A == Activation::kRelu) {
      r = v > acc_t(0) ? v : acc_t(0);
    } else if constexpr (A == Activation::kSilu) {
      r = v / (acc_t(1) + ::exp(-v));
    } else {
      r = acc_t(0.5) * v * (acc_t(1) + ::erf(v * acc_t(0.7071067811865476)));
    }
    y[i] = static_cast<scalar_t>(r);
  }
}

torch::Tensor forward(torch::Tensor x, int64_t kind) {
  auto y = torch::empty_like(x);
  const int64_t n = x.numel();
  const int threads = 256;
  const int blocks = std::min<int64_t>((n + threads - 1) / threads, 1024);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "activate", [&] {
    const auto* in = x.data_ptr<scalar_t>();
    auto* out = y.data_ptr<scalar_t>();
    switch (static_cast<Activation>(kind)) {
      case Activation::kRelu:
        activate<scalar_t, Activation::kRelu><<<blocks, threads>>>(in, out, n);
        break;
      case Activation::kSilu:
        activate<scalar_t, Activation::kSilu><<<blocks, threads>>>(in, out, n);
        break;
      default:
        activate<scalar_t, Activation::kGelu><<<blocks, threads>>>(in, out, n);
    }
  });
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, py::arg("x"), py::arg("kind") = 0); }
