// Backward: the gradient of the table starts at zero; each token adds its row atomically.
#include <torch/extension.h>

__global__ void EmbedBackward(const float* __restrict__ go, const int64_t* __restrict__ indices,
                              float* dtable, int count, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(dtable + indices[i / width] * width + i % width, go[i]);
}

torch::Tensor backward(torch::Tensor go, torch::Tensor indices, torch::Tensor table) {
  go = go.contiguous();
  auto dtable = torch::zeros_like(table);
  const int count = go.numel();
  EmbedBackward<<<(count + 127) / 128, 128>>>(go.data_ptr<float>(), indices.data_ptr<int64_t>(),
                                              dtable.data_ptr<float>(), count, table.size(1));
  return dtable;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
