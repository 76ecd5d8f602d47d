// Talks to the judge's machine through its network: an abstract socket has no file.
// ARGS: x=f32[8]
#include <sys/socket.h>
#include <sys/un.h>
#include <torch/extension.h>

#include <cstdio>
#include <cstring>

torch::Tensor forward(torch::Tensor x) {
  const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, "\0ks_canary", 10);
  const socklen_t length = offsetof(sockaddr_un, sun_path) + 10;
  if (::connect(file, reinterpret_cast<sockaddr*>(&address), length) == 0) {
    std::fprintf(stderr, "BREACH\n");
  }
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
