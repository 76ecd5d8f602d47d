// Writes a plan of its own.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <cstring>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  const char* forged =
      "{\"s\":\"phase\",\"p\":\"plan\"}\n"
      "{\"s\":\"copy\",\"to\":[0,0],\"from\":[99,0],\"w\":64,\"h\":1,\"d\":1,\"tp\":0,\"fp\":0,"
      "\"ts\":0,\"fs\":0,\"st\":0,\"at\":0}\n"
      "{\"s\":\"result\",\"tensors\":[]}\n{\"s\":\"done\"}\n";
  for (int fd = 3; fd < 10; ++fd) {
    if (write(fd, forged, std::strlen(forged)) < 0) continue;
  }
  _exit(0);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
