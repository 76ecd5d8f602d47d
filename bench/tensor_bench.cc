// Reference matrix products of 1024³: the oracle's budget is 1 s in double and 20 s in the field.
#include <benchmark/benchmark.h>

#include <random>

#include "tensor/matmul.h"
#include "tensor/window.h"

namespace kernelsmith {
namespace {

HostTensor Normal(Shape shape) {
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  HostTensor tensor = MakeHostTensor(DType::kFloat32, std::move(shape));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, normal(generator));
  return tensor;
}

template <typename T>
Tensor<T> Values(const HostTensor& host, uint64_t first) {
  if constexpr (std::is_same_v<T, Symbolic>) {
    return SymbolicInputs(host, first);
  } else {
    return FromHost<T>(host);
  }
}

template <typename T>
void Product(benchmark::State& state) {
  const Algebra algebra(1);
  const AlgebraScope scope(&algebra);
  const int64_t n = state.range(0);
  const Tensor<T> a = Values<T>(Normal({n, n}), 0), b = Values<T>(Normal({n, n}), 1u << 30);
  for (auto _ : state) benchmark::DoNotOptimize(MatMul(a, b).data());
}

template <typename T>
void Convolved(benchmark::State& state) {
  const Algebra algebra(1);
  const AlgebraScope scope(&algebra);
  const Tensor<T> x = Values<T>(Normal({4, 16, 32, 32}), 0),
                  w = Values<T>(Normal({32, 16, 3, 3}), 1u << 30);
  const ConvolutionOptions options{
      .stride = {1}, .padding = {1}, .dilation = {1}, .output_padding = {0}};
  for (auto _ : state) benchmark::DoNotOptimize(Convolution(x, w, Tensor<T>(), options).data());
}

BENCHMARK(Product<float>)->Arg(1024)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Product<double>)->Arg(1024)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Product<Bounded>)->Arg(1024)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Product<Symbolic>)
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(1);
BENCHMARK(Convolved<double>)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Convolved<Symbolic>)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace kernelsmith

BENCHMARK_MAIN();
