// Forward wrapped into an autograd::Function, as extensions that also train are written.
// ARGS: x=f32[7,33] alpha=0.25
#include <cuda_runtime.h>
#include <torch/extension.h>

__global__ void leaky_kernel(const float* __restrict__ x, float* __restrict__ y, float alpha, int64_t n) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.f ? x[i] : alpha * x[i];
}

__global__ void leaky_backward_kernel(const float* g, const float* x, float* out, float alpha, int64_t n) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] > 0.f ? g[i] : alpha * g[i];
}

class LeakyFunction : public torch::autograd::Function<LeakyFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, double alpha) {
    auto input = x.contiguous();
    ctx->save_for_backward({input});
    ctx->saved_data["alpha"] = alpha;
    auto y = torch::empty_like(input);
    const int64_t n = input.numel();
    leaky_kernel<<<(n + 255) / 256, 256>>>(input.data_ptr<float>(), y.data_ptr<float>(), (float)alpha, n);
    return y;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list grads) {
    auto saved = ctx->get_saved_variables();
    auto x = saved[0];
    auto g = grads[0].contiguous();
    auto out = torch::empty_like(x);
    const int64_t n = x.numel();
    leaky_backward_kernel<<<(n + 255) / 256, 256>>>(g.data_ptr<float>(), x.data_ptr<float>(),
                                                    out.data_ptr<float>(),
                                                    (float)ctx->saved_data["alpha"].toDouble(), n);
    return {out, torch::Tensor()};
  }
};

torch::Tensor forward(torch::Tensor x, double alpha) { return LeakyFunction::apply(x, alpha); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "leaky relu"); }
