// NVCC:
// RUN: %kernelsmith run %x
// CUB's device-wide radix sort: keys alone, pairs, descending, and floats.
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <numeric>

#include "../check.h"

int main() {
  Random random(471);
  for (int n : {100, 9000}) {
    std::vector<unsigned> keys(n);
    std::vector<int> values(n), order(n);
    for (int i = 0; i < n; ++i) {
      keys[i] = static_cast<unsigned>(random.Bits() >> random.Below(40));
      values[i] = i;
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    std::vector<unsigned> sorted(n);
    for (int i = 0; i < n; ++i) sorted[i] = keys[order[i]];

    DeviceArray<unsigned> in(keys), out(n);
    DeviceArray<int> in_values(values), out_values(n);
    size_t bytes = 0;
    CUDA_OK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, in.data(), out.data(), in_values.data(),
                                            out_values.data(), n));
    DeviceArray<char> scratch(bytes);
    CUDA_OK(cub::DeviceRadixSort::SortPairs(scratch.data(), bytes, in.data(), out.data(),
                                            in_values.data(), out_values.data(), n));
    LAUNCH_OK();
    ExpectEqual("keys", out.Get(), sorted);
    ExpectEqual("values", out_values.Get(), order);
    ExpectEqual("the input is kept", in.Get(), keys);
    std::printf("n = %d: smallest %u\n", n, sorted[0]);
  }
  return Finish();
}
