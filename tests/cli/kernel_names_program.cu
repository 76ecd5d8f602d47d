// Kernels have the names that their launches use, in everything that people read: the message of a
// fault, the reports of sanitize and profile. Names as the linker has them stand in JSON beside those.
// NVCC: -lineinfo
// RUN: for command in run sanitize "profile --kernel Scale<4," "sanitize --json"; do %kernelsmith $command %x; done > %t 2>&1; grep -o "kernel Scale<[^>]*>\|^Scale<[^>]*>\|\"kernel_name\": \"[^\"]*\"\|\"kernel\": \"[^\"]*\"\|anonymous" %t | sort -u
// OUT:
// | "kernel": "_ZN{{.*}}5ScaleILi4E{{.*}}"
// | "kernel_name": "Scale<4, (Mode)1>"
// | Scale<4, (Mode)1>
// | kernel Scale<4, (Mode)1>
#include <cuda_runtime.h>

enum class Mode { kSum, kProduct };

namespace {

struct Box {
  float* values;
};

template <int N, Mode kMode>
__global__ void Scale(Box box) {
  box.values[threadIdx.x + (kMode == Mode::kProduct ? 1 << 20 : 0)] *= N;
}

}  // namespace

int main() {
  float* values = nullptr;
  if (cudaMalloc(&values, 128) != cudaSuccess) return 1;
  Scale<4, Mode::kProduct><<<1, 32>>>(Box{values});
  cudaDeviceSynchronize();
  return 0;
}
