// Writes code of its own.
// ARGS: x=f32[8]
#include <sys/mman.h>
#include <torch/extension.h>

#include <cstdio>
#include <cstring>

torch::Tensor forward(torch::Tensor x) {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret
  std::memcpy(memory, code, sizeof code);
  if (::mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0 &&
      reinterpret_cast<int (*)()>(memory)() == 42) {
    std::fprintf(stderr, "BREACH\n");
  }
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
