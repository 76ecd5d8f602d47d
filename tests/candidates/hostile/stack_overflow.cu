// Recursion without an end.
// FINDING: crash
// ARGS: x=f32[8]
#include <torch/extension.h>

__attribute__((noinline)) int Deep(int i) {
  volatile char frame[4096];
  frame[i % 4096] = 1;
  return Deep(i + 1) + frame[(i + 1) % 4096];
}

torch::Tensor forward(torch::Tensor x) {
  if (Deep(1) == 0) return x;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
