// NVCC:
// RUN: %kernelsmith run %x
// A child that was forked after CUDA was used can't use it; one that was forked before can.
// OUT:
// | early child: cudaSuccess
// | late child: cudaErrorInitializationError
// | parent: cudaSuccess
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

__global__ void Nothing() {}

const char* Use() {
  Nothing<<<1, 1>>>();
  const cudaError_t launch = cudaGetLastError();
  return cudaGetErrorName(launch == cudaSuccess ? cudaDeviceSynchronize() : launch);
}

void InChild(const char* name) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::printf("%s: %s\n", name, Use());
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

int main() {
  InChild("early child");
  const char* parent = Use();
  InChild("late child");
  std::printf("parent: %s\n", parent);
}
