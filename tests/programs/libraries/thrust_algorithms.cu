// NVCC: --extended-lambda
// RUN: %kernelsmith run %x
// Thrust: device vectors, transform, reduce, inclusive scan, sort by key, unique and counting
// iterators.
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <numeric>

#include "../check.h"

struct SquareOf {
  __host__ __device__ long long operator()(int x) const { return static_cast<long long>(x) * x; }
};

template <typename T>
std::vector<T> Host(const thrust::device_vector<T>& v) {
  std::vector<T> out(v.size());
  thrust::copy(v.begin(), v.end(), out.begin());
  return out;
}

int main() {
  const int n = 3000;
  Random random(481);
  const std::vector<int> in = random.Ints(n, -500, 500);
  thrust::device_vector<int> device(in.begin(), in.end()), result(n);

  thrust::transform(device.begin(), device.end(), thrust::make_counting_iterator(0), result.begin(),
                    [] __device__(int x, int i) { return x * 2 + i; });
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = in[i] * 2 + i;
  ExpectEqual("transform", Host(result), want);

  const long long squares = thrust::transform_reduce(device.begin(), device.end(), SquareOf(), 0ll,
                                                     thrust::plus<long long>());
  long long want_squares = 0;
  for (int value : in) want_squares += static_cast<long long>(value) * value;
  ExpectEqual("transform reduce", squares, want_squares);
  ExpectEqual("maximum",
              thrust::reduce(device.begin(), device.end(), -10000, thrust::maximum<int>()),
              *std::max_element(in.begin(), in.end()));

  thrust::inclusive_scan(device.begin(), device.end(), result.begin());
  std::partial_sum(in.begin(), in.end(), want.begin());
  ExpectEqual("scan", Host(result), want);

  thrust::device_vector<int> keys = device, values(n);
  thrust::sequence(values.begin(), values.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return in[a] < in[b]; });
  ExpectEqual("sort by key", Host(values), order);
  device[5] = 12345;
  ExpectEqual("one element", static_cast<int>(device[5]), 12345);
  std::printf("sum of squares %lld, first key %d\n", squares, in[order[0]]);
  return Finish();
}
