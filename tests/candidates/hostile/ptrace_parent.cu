// Traces its parent.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <sys/ptrace.h>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
