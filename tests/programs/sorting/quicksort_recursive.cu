// NVCC:
// RUN: %kernelsmith run %x
// Device recursion: quicksort by one thread each on its own piece, Ackermann's function, and a
// mutual recursion, all with real call stacks in local memory.
#include <algorithm>

#include "../check.h"

__device__ void Quicksort(int* data, int low, int high) {
  while (low < high) {
    const int pivot = data[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
      while (data[i] < pivot) ++i;
      while (data[j] > pivot) --j;
      if (i <= j) {
        const int swap = data[i];
        data[i++] = data[j];
        data[j--] = swap;
      }
    }
    if (j - low < high - i) {
      Quicksort(data, low, j);
      low = i;
    } else {
      Quicksort(data, i, high);
      high = j;
    }
  }
}

__global__ void SortPieces(int* data, int piece) {
  Quicksort(data + threadIdx.x * piece, 0, piece - 1);
}

__device__ int Ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}

__device__ bool IsOdd(unsigned n);
__device__ __noinline__ bool IsEven(unsigned n) { return n == 0 ? true : IsOdd(n - 1); }
__device__ __noinline__ bool IsOdd(unsigned n) { return n == 0 ? false : IsEven(n - 1); }

// Each level keeps an array on the stack, which a broken stack pointer would overwrite.
__device__ __noinline__ unsigned long long Fibonacci(int n) {
  volatile int guard[4] = {n, n + 1, n + 2, n + 3};
  const unsigned long long value = n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);
  for (int i = 0; i < 4; ++i) {
    if (guard[i] != n + i) return ~0ull;
  }
  return value;
}

__global__ void Recursions(int* ackermann, int* parity, unsigned long long* fibonacci) {
  const int t = threadIdx.x;
  ackermann[t] = Ackermann(t % 3, t % 5);
  parity[t] = IsEven(t) + 2 * IsOdd(t);
  fibonacci[t] = Fibonacci(t % 12);
}

int HostAckermann(int m, int n) { return m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3; }

int main() {
  CUDA_OK(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
  const int threads = 64, piece = 60;
  Random random(161);
  std::vector<int> data = random.Ints(threads * piece, -500, 500);
  for (int i = 0; i < piece; ++i) data[i] = 7;  // a piece of equal keys
  DeviceArray<int> device(data);
  SortPieces<<<1, threads>>>(device.data(), piece);
  LAUNCH_OK();
  for (int t = 0; t < threads; ++t)
    std::sort(data.begin() + t * piece, data.begin() + (t + 1) * piece);
  ExpectEqual("quicksort", device.Get(), data);

  DeviceArray<int> ackermann(40), parity(40);
  DeviceArray<unsigned long long> fibonacci(40);
  Recursions<<<1, 40>>>(ackermann.data(), parity.data(), fibonacci.data());
  LAUNCH_OK();
  std::vector<int> want_ackermann, want_parity;
  std::vector<unsigned long long> want_fibonacci, table{0, 1};
  while (table.size() < 12) table.push_back(table[table.size() - 1] + table[table.size() - 2]);
  for (int t = 0; t < 40; ++t) {
    want_ackermann.push_back(HostAckermann(t % 3, t % 5));
    want_parity.push_back(t % 2 == 0 ? 1 : 2);
    want_fibonacci.push_back(table[t % 12]);
  }
  ExpectEqual("ackermann", ackermann.Get(), want_ackermann);
  ExpectEqual("parity", parity.Get(), want_parity);
  ExpectEqual("fibonacci", fibonacci.Get(), want_fibonacci);
  std::printf("ackermann(2, 4) = %d, fibonacci(11) = %llu\n", HostAckermann(2, 4), table[11]);
  return Finish();
}
