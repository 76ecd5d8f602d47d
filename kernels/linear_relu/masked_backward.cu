// Backward: recomputes which outputs were positive, keeps the masked gradient, then three
// reductions on it.
#include <torch/extension.h>

__global__ void MaskedGradient(const float* __restrict__ go, const float* __restrict__ x,
                               const float* __restrict__ weight, const float* __restrict__ bias,
                               float* __restrict__ g, float* __restrict__ dbias, int batch,
                               int inputs, int outputs) {
  const int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= outputs) return;
  float bias_gradient = 0;
  for (int b = 0; b < batch; ++b) {
    float z = bias[o];
    for (int i = 0; i < inputs; ++i) z += x[b * inputs + i] * weight[o * inputs + i];
    const float masked = z > 0 ? go[b * outputs + o] : 0.0f;
    g[b * outputs + o] = masked;
    bias_gradient += masked;
  }
  dbias[o] = bias_gradient;
}

// c[r][s] = sum over t of a[r * ar + t * at] * b[t * bt + s], for rows of length `columns`.
__global__ void StridedProduct(const float* __restrict__ a, int ar, int at,
                               const float* __restrict__ b, int bt, float* __restrict__ c, int rows,
                               int columns, int depth) {
  const int s = blockIdx.y * blockDim.x + threadIdx.x;
  const int r = blockIdx.x;
  if (s >= columns || r >= rows) return;
  float sum = 0;
  for (int t = 0; t < depth; ++t) sum += a[r * ar + t * at] * b[t * bt + s];
  c[r * columns + s] = sum;
}

std::vector<torch::Tensor> backward(torch::Tensor go, torch::Tensor x, torch::Tensor weight,
                                    torch::Tensor bias) {
  go = go.contiguous();
  const int batch = x.size(0), inputs = x.size(1), outputs = weight.size(0);
  auto g = torch::empty_like(go);
  auto dx = torch::empty_like(x);
  auto dweight = torch::empty_like(weight);
  auto dbias = torch::empty_like(bias);
  MaskedGradient<<<(outputs + 31) / 32, 32>>>(
      go.data_ptr<float>(), x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
      g.data_ptr<float>(), dbias.data_ptr<float>(), batch, inputs, outputs);
  const unsigned blocks = (inputs + 63) / 64;
  StridedProduct<<<dim3(batch, blocks), 64>>>(g.data_ptr<float>(), outputs, 1,
                                              weight.data_ptr<float>(), inputs,
                                              dx.data_ptr<float>(), batch, inputs, outputs);
  StridedProduct<<<dim3(outputs, blocks), 64>>>(g.data_ptr<float>(), 1, outputs,
                                                x.data_ptr<float>(), inputs,
                                                dweight.data_ptr<float>(), outputs, inputs, batch);
  return {dx, dweight, dbias};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
