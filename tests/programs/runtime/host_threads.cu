// NVCC: -Xcompiler -pthread
// RUN: %kernelsmith run %x
// Host threads that use the device at once, each with its own stream and memory, and one more that
// shares memory through atomics; the last error belongs to each thread alone.
#include <atomic>
#include <thread>

#include "../check.h"

__global__ void Step(unsigned* data, int n, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 1664525u + seed + i;
}

__global__ void Count(int* total, int n) {
  if (blockIdx.x * blockDim.x + threadIdx.x < n) atomicAdd(total, 1);
}

int main() {
  const int threads = 4, n = 500, rounds = 6;
  int* total = nullptr;
  CUDA_OK(cudaMalloc(&total, sizeof(int)));
  CUDA_OK(cudaMemset(total, 0, sizeof(int)));
  std::vector<std::vector<unsigned>> results(threads);
  std::atomic<int> wrong_errors{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      CUDA_OK(cudaSetDevice(0));
      cudaStream_t stream;
      CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      unsigned* data = nullptr;
      CUDA_OK(cudaMalloc(&data, n * sizeof(unsigned)));
      CUDA_OK(cudaMemsetAsync(data, t, n * sizeof(unsigned), stream));
      for (int r = 0; r < rounds; ++r) {
        Step<<<(n + 63) / 64, 64, 0, stream>>>(data, n, t * 100 + r);
        Count<<<2, 32, 0, stream>>>(total, 50);
        if (t == 0) {  // an error here must not be seen by the others
          Step<<<1, 5000, 0, stream>>>(data, n, 0);
          if (cudaGetLastError() != cudaErrorInvalidConfiguration) ++wrong_errors;
        } else if (cudaPeekAtLastError() != cudaSuccess) {
          ++wrong_errors;
        }
      }
      results[t].resize(n);
      CUDA_OK(cudaMemcpyAsync(results[t].data(), data, n * sizeof(unsigned), cudaMemcpyDeviceToHost,
                              stream));
      CUDA_OK(cudaStreamSynchronize(stream));
      CUDA_OK(cudaFree(data));
      CUDA_OK(cudaStreamDestroy(stream));
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (int t = 0; t < threads; ++t) {
    std::vector<unsigned> want(n, t * 0x01010101u);
    for (int r = 0; r < rounds; ++r) {
      for (int i = 0; i < n; ++i) want[i] = want[i] * 1664525u + t * 100 + r + i;
    }
    ExpectEqual("results of a thread", results[t], want);
  }
  ExpectEqual("errors in the wrong thread", wrong_errors.load(), 0);
  int counted = 0;
  CUDA_OK(cudaMemcpy(&counted, total, sizeof counted, cudaMemcpyDeviceToHost));
  ExpectEqual("counted", counted, threads * rounds * 50);
  CUDA_OK(cudaFree(total));
  std::printf("%d threads, %d launches counted\n", threads, threads * rounds);
  return Finish();
}
