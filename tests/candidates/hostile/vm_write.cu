// Writes into its parent.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <sys/uio.h>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  char byte = 0;
  iovec local{&byte, 1}, remote{reinterpret_cast<void*>(0x400000), 1};
  process_vm_writev(getppid(), &local, 1, &remote, 1, 0);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
