// Writes to the broker, and makes another descriptor for it.
// ARGS: x=f32[8]
#include <fcntl.h>
#include <torch/extension.h>
#include <unistd.h>

#include <cstdio>

torch::Tensor forward(torch::Tensor x) {
  // Nothing at all: what is no message would end the trace.
  const char nothing = 0;
  const int other = ::fcntl(3, F_DUPFD, 20);
  if (other >= 0) std::fprintf(stderr, "BREACH by a copy\n");
  if (::write(3, &nothing, 0) == 0) std::fprintf(stderr, "BREACH\n");
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
