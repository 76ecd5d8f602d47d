// Forward: a block an output row; the row of x is staged in shared memory and each thread makes
// outputs of its own.
#include <torch/extension.h>

__global__ void LinearRelu(const float* __restrict__ x, const float* __restrict__ weight,
                           const float* __restrict__ bias, float* __restrict__ y, int inputs,
                           int outputs) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < inputs; i += blockDim.x)
    row[i] = x[(size_t)blockIdx.x * inputs + i];
  __syncthreads();
  for (int o = threadIdx.x; o < outputs; o += blockDim.x) {
    float sum = bias[o];
    for (int i = 0; i < inputs; ++i) sum += row[i] * weight[(size_t)o * inputs + i];
    y[(size_t)blockIdx.x * outputs + o] = fmaxf(sum, 0.0f);
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  const int batch = x.size(0), inputs = x.size(1), outputs = weight.size(0);
  auto y = torch::empty({batch, outputs}, x.options());
  LinearRelu<<<batch, 64, inputs * sizeof(float)>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                    bias.data_ptr<float>(), y.data_ptr<float>(),
                                                    inputs, outputs);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
