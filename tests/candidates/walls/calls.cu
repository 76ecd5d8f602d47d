// Makes a process of its own, with a handler that would make a refusal look like success.
// ARGS: x=f32[8]
#include <signal.h>
#include <sys/wait.h>
#include <torch/extension.h>
#include <unistd.h>

#include <cstdio>

torch::Tensor forward(torch::Tensor x) {
  ::signal(SIGSYS, [](int) {});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  if (child > 0) std::fprintf(stderr, "BREACH\n");
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
