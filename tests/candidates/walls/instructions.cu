// A system call without the C library, that the C library itself may make.
// ARGS: x=f32[8]
#include <sys/syscall.h>
#include <torch/extension.h>

#include <cstdio>

torch::Tensor forward(torch::Tensor x) {
#ifndef __CUDA_ARCH__
  long result = 0;
  asm volatile("syscall" : "=a"(result) : "a"(SYS_gettid) : "rcx", "r11", "memory");
  if (result > 0) std::fprintf(stderr, "BREACH\n");
#endif
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
