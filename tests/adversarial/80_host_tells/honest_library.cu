// What host code of kernels uses: containers, strings, printing, tables, locks, checks, mathematics.
#include <torch/extension.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n, float by) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = by * x[i] + y[i];
}

namespace {

const std::map<std::string, int> kBlocks = {{"small", 64}, {"large", 256}};
thread_local int calls = 0;
std::mutex mutex;
std::once_flag once;

struct Shape {
  virtual ~Shape() = default;
  virtual int64_t Blocks(int64_t n) const = 0;
};
struct Flat : Shape {
  explicit Flat(int block) : block(block) {}
  int64_t Blocks(int64_t n) const override { return (n + block - 1) / block; }
  int block;
};

int BlockFor(int64_t n) {
  static std::unordered_map<int64_t, int> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [it, added] = known.try_emplace(n, kBlocks.at(n < 1000 ? "small" : "large"));
  return it->second;
}

}  // namespace

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  TORCH_CHECK(x.sizes() == y.sizes(), "x and y must have the same shape, got ", x.sizes());
  std::call_once(once, [] { std::printf("axpy is ready\n"); });
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  const int block = BlockFor(n);
  std::unique_ptr<Shape> shape = std::make_unique<Flat>(block);
  std::vector<float> factors(4, 0.5f);
  std::sort(factors.begin(), factors.end(), std::greater<>());
  const float by = std::round(std::accumulate(factors.begin(), factors.end(), 0.0f) + std::sin(0.0f));
  std::ostringstream text;
  text << "call " << ++calls << " by " << std::setprecision(3) << by;
  if (text.str().size() > 1000) throw std::runtime_error(text.str());
  try {
    if (std::stoi("12") != 12) throw std::out_of_range("never");
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  Axpy<<<shape->Blocks(n), block>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                    n, by);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
