// Stands for NVIDIA's driver (libcuda.so.1) in programs whose CUDA runtime is linked into them:
// that runtime loads it at the program's first call, which we could not serve.
#include <unistd.h>

#include <cstring>

namespace {

__attribute__((constructor)) void Refuse() {
  constexpr char kText[] =
      "kernelsmith: error: the program calls the CUDA runtime that is linked into it (-cudart "
      "static, nvcc's default); rebuild it with -cudart shared\n";
  [[maybe_unused]] const ssize_t written = ::write(2, kText, std::strlen(kText));
  ::_exit(3);  // "unsupported", as for programs that are refused before they start
}

}  // namespace
