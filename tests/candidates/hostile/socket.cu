// A connection to the outside.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <sys/socket.h>

torch::Tensor forward(torch::Tensor x) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd > 100) return x;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
