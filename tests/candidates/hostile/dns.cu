// A name looked up.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <netdb.h>
#include <sys/socket.h>

torch::Tensor forward(torch::Tensor x) {
  addrinfo* found = nullptr;
  getaddrinfo("example.com", "80", nullptr, &found);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
