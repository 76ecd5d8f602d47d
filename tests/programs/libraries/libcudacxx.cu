// NVCC:
// RUN: %kernelsmith run %x
// libcu++ on the device: atomics of several scopes and types, fetch_max and compare_exchange,
// tuples, arrays, optionals, complex numbers, spans, bit operations, limits, and a semaphore by
// atomic wait.
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#include "../check.h"

struct State {
  cuda::atomic<int, cuda::thread_scope_device> sum;
  cuda::atomic<unsigned long long, cuda::thread_scope_system> bits;
  cuda::atomic<float, cuda::thread_scope_device> total;
  cuda::atomic<int, cuda::thread_scope_device> highest;
  cuda::atomic<double, cuda::thread_scope_device> product;
  cuda::std::atomic<int> turns;
};

__global__ void Atomics(State* s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  s->sum.fetch_add(i, cuda::std::memory_order_relaxed);
  s->bits.fetch_or(1ull << (i % 64));
  s->total.fetch_add(0.5f);
  s->highest.fetch_max(i * 7 % 1000);
  double old = s->product.load();
  while (!s->product.compare_exchange_weak(old, old + i)) {
  }
  ++s->turns;
}

__device__ cuda::std::optional<int> Root(int x) {
  for (int r = 0; r * r <= x; ++r) {
    if (r * r == x) return r;
  }
  return cuda::std::nullopt;
}

__global__ void Types(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  cuda::std::span<const int> all(in, n);
  cuda::std::array<int, 3> near = {all[i], all[(i + 1) % n], all[(i + 2) % n]};
  const auto [low, high] =
      cuda::std::make_pair(cuda::std::min({near[0], near[1], near[2]}), near.back());
  const cuda::std::tuple<int, float, char> mixed(low, high * 0.5f, 'x');
  const cuda::std::complex<float> z(static_cast<float>(near[0]), 1.0f);
  const cuda::std::complex<float> square = z * z;
  int* r = out + i * 6;
  r[0] = cuda::std::get<0>(mixed) * 1000 + static_cast<int>(2 * cuda::std::get<1>(mixed));
  r[1] = Root(near[0]).value_or(-1);
  r[2] = static_cast<int>(square.real()) * 100 + static_cast<int>(square.imag());
  r[3] = cuda::std::popcount(static_cast<unsigned>(near[0])) * 100 +
         cuda::std::countl_zero(static_cast<unsigned>(near[1]));
  r[4] = cuda::std::numeric_limits<int>::max() - near[2];
  r[5] = static_cast<int>(cuda::std::bit_cast<unsigned>(static_cast<float>(near[0])) >> 23);
}

int main() {
  const int n = 300;
  DeviceArray<State> state(1);
  state.Fill(0);
  Atomics<<<5, 64>>>(state.data(), n);
  LAUNCH_OK();
  struct {
    int sum;
    unsigned long long bits;
    float total;
    int highest;
    double product;
    int turns;
  } got;
  static_assert(sizeof got == sizeof(State), "an atomic is laid out as its value");
  CUDA_OK(cudaMemcpy(&got, state.data(), sizeof got, cudaMemcpyDeviceToHost));
  int highest = 0;
  for (int i = 0; i < n; ++i) highest = std::max(highest, i * 7 % 1000);
  ExpectEqual("sum", got.sum, n * (n - 1) / 2);
  ExpectEqual("bits", got.bits, ~0ull);
  ExpectEqual("total", got.total, n * 0.5f);
  ExpectEqual("highest", got.highest, highest);
  ExpectEqual("product", got.product, n * (n - 1) / 2.0);
  ExpectEqual("turns", got.turns, n);

  Random random(491);
  const std::vector<int> in = random.Ints(n, 0, 100);
  std::vector<int> want;
  for (int i = 0; i < n; ++i) {
    const int a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
    const int root = static_cast<int>(std::lround(std::sqrt(a)));
    const float value = static_cast<float>(a);
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    want.insert(want.end(), {std::min(std::min(a, b), c) * 1000 + c, root * root == a ? root : -1,
                             (a * a - 1) * 100 + 2 * a,
                             __builtin_popcount(a) * 100 + (b == 0 ? 32 : __builtin_clz(b)),
                             0x7fffffff - c, static_cast<int>(bits >> 23)});
  }
  DeviceArray<int> device(in), out(n * 6);
  Types<<<5, 64>>>(device.data(), out.data(), n);
  LAUNCH_OK();
  ExpectEqual("types", out.Get(), want);
  std::printf("highest %d\n", highest);
  return Finish();
}
