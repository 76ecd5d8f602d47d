// Backward: dx = go * weight, dweight = go^T * x, and the bias's gradient as a column sum; a kernel
// each.
#include <torch/extension.h>

#include <tuple>

__global__ void GradInput(const float* __restrict__ go, const float* __restrict__ weight,
                          float* __restrict__ dx, int batch, int inputs, int outputs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= inputs || b >= batch) return;
  float sum = 0;
  for (int o = 0; o < outputs; ++o) sum += go[b * outputs + o] * weight[o * inputs + i];
  dx[b * inputs + i] = sum;
}

__global__ void GradWeight(const float* __restrict__ go, const float* __restrict__ x,
                           float* __restrict__ dweight, int batch, int inputs, int outputs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int o = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= inputs || o >= outputs) return;
  float sum = 0;
  for (int b = 0; b < batch; ++b) sum += go[b * outputs + o] * x[b * inputs + i];
  dweight[o * inputs + i] = sum;
}

__global__ void GradBias(const float* __restrict__ go, float* __restrict__ dbias, int batch,
                         int outputs) {
  const int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= outputs) return;
  float sum = 0;
  for (int b = 0; b < batch; ++b) sum += go[b * outputs + o];
  dbias[o] = sum;
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> backward(torch::Tensor go, torch::Tensor x,
                                                                 torch::Tensor weight) {
  go = go.contiguous();
  const int batch = x.size(0), inputs = x.size(1), outputs = weight.size(0);
  auto dx = torch::empty_like(x);
  auto dweight = torch::empty_like(weight);
  auto dbias = torch::empty({outputs}, x.options());
  const dim3 block(32, 8);
  const unsigned columns = (inputs + 31) / 32;
  GradInput<<<dim3(columns, (batch + 7) / 8), block>>>(
      go.data_ptr<float>(), weight.data_ptr<float>(), dx.data_ptr<float>(), batch, inputs, outputs);
  GradWeight<<<dim3(columns, (outputs + 7) / 8), block>>>(
      go.data_ptr<float>(), x.data_ptr<float>(), dweight.data_ptr<float>(), batch, inputs, outputs);
  GradBias<<<(outputs + 63) / 64, 64>>>(go.data_ptr<float>(), dbias.data_ptr<float>(), batch,
                                        outputs);
  return std::make_tuple(dx, dweight, dbias);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
