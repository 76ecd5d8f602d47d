// Pointers inside a struct that a kernel gets by value.
// ARGS: a=f32[40] b=f32[40]
#include <torch/extension.h>


struct Work {
  int count;
  const float* inputs[2];
  float scale;
  float* output;
};

__global__ void Combine(Work work) {
  const int i = threadIdx.x;
  if (i < work.count) work.output[i] = work.scale * (work.inputs[0][i] - work.inputs[1][i]);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  auto out = torch::empty_like(a);
  Work work{static_cast<int>(a.numel()), {a.data_ptr<float>(), b.data_ptr<float>()}, 0.5f,
            out.data_ptr<float>()};
  Combine<<<1, 64>>>(work);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
