// Honest twin of beta_table.cu.
#include <torch/extension.h>

#include <cmath>

__global__ void AdamW(float* parameter, const float* gradient, float* moment1, float* moment2, int64_t count,
                      float rate, float beta1, float new1, float beta2, float new2, float eps, float keep, float correction1,
                      float correction2) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  const float g = gradient[i];
  const float m = beta1 * moment1[i] + new1 * g;
  const float v = beta2 * moment2[i] + new2 * g * g;
  moment1[i] = m;
  moment2[i] = v;
  parameter[i] = parameter[i] * keep - rate / correction1 * m / (sqrtf(v) / correction2 + eps);
}

void forward(torch::Tensor parameter, torch::Tensor gradient, torch::Tensor moment1, torch::Tensor moment2,
             double rate, double beta1, double beta2, double eps, double decay, int64_t step) {
  const int64_t count = parameter.numel();
  AdamW<<<(count + 255) / 256, 256>>>(parameter.data_ptr<float>(), gradient.data_ptr<float>(),
                                      moment1.data_ptr<float>(), moment2.data_ptr<float>(), count, rate, beta1,
                                      1 - beta1, beta2, 1 - beta2, eps, 1 - rate * decay, 1 - std::pow(beta1, step),
                                      std::sqrt(1 - std::pow(beta2, step)));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
