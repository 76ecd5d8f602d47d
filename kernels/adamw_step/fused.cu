// Forward: the whole step in one pass over the four arrays; powers of the betas on the host.
#include <torch/extension.h>

#include <cmath>

__global__ void AdamW(float* parameter, const float* __restrict__ gradient, float* moment1,
                      float* moment2, int64_t count, float rate, float beta1, float one_minus_beta1,
                      float beta2, float one_minus_beta2, float eps, float keep, float correction1,
                      float root_correction2) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
       i += (int64_t)blockDim.x * gridDim.x) {
    const float g = gradient[i];
    const float m = beta1 * moment1[i] + one_minus_beta1 * g;
    const float v = beta2 * moment2[i] + one_minus_beta2 * g * g;
    moment1[i] = m;
    moment2[i] = v;
    const float denominator = sqrtf(v) / root_correction2 + eps;
    parameter[i] = parameter[i] * keep - rate / correction1 * m / denominator;
  }
}

void forward(torch::Tensor parameter, torch::Tensor gradient, torch::Tensor moment1,
             torch::Tensor moment2, double rate, double beta1, double beta2, double eps,
             double decay, int64_t step) {
  const int64_t count = parameter.numel();
  const double correction1 = 1 - std::pow(beta1, step);
  const double correction2 = 1 - std::pow(beta2, step);
  AdamW<<<std::min<int64_t>((count + 255) / 256, 1024), 256>>>(
      parameter.data_ptr<float>(), gradient.data_ptr<float>(), moment1.data_ptr<float>(),
      moment2.data_ptr<float>(), count, rate, beta1, 1 - beta1, beta2, 1 - beta2, eps,
      1 - rate * decay, correction1, std::sqrt(correction2));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
