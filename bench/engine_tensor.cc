// The problems of engine_tensor.cu.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine_bench.h"

namespace kernelsmith::bench {
namespace {

// Multiples of 1/64 below 1/2: halves have them exactly.
std::vector<float> Exact(size_t count, size_t period) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int>((i * 7919 + 13) % period % 64) - 32) / 64;
  }
  return values;
}

Problem MatmulTensor(bool quick) {
  const size_t n = quick ? 128 : 1024;
  Problem p{.kernel = "matmul_tensor", .m = static_cast<int32_t>(n)};
  p.block = {128, 1};
  p.grid = {static_cast<uint32_t>(n / 128), static_cast<uint32_t>(n / 128)};
  p.a = Exact(n * n, 1009);
  p.b = Exact(n * n, 2003);
  p.outputs = n * n;
  p.halves = true;
  p.expected = Product(p.a, p.b, n);
  p.tolerance = 1e-4;
  p.flops = 2.0 * static_cast<double>(n * n * n);
  return p;
}

Problem FlashAttention(bool quick) {
  constexpr size_t kWidth = 64;
  const size_t length = quick ? 128 : 1024;
  const size_t heads = quick ? 1 : 4;
  Problem p{.kernel = "flash_attention",
            .m = static_cast<int32_t>(length),
            .n = static_cast<int32_t>(heads)};
  p.block = {128, 1};
  p.grid = {static_cast<uint32_t>(length / 64), static_cast<uint32_t>(heads)};
  const size_t all = heads * length * kWidth;
  p.a = Exact(all, 1009);
  p.b = Exact(2 * all, 2003);
  p.outputs = all;
  p.halves = true;
  p.expected.assign(all, 0);
  std::vector<double> weight(length);
  for (size_t row = 0; row < heads * length; ++row) {
    const size_t head = row / length * length * kWidth;
    double sum = 0;
    for (size_t key = 0; key < length; ++key) {
      double score = 0;
      for (size_t i = 0; i < kWidth; ++i) {
        score += double{p.a[row * kWidth + i]} * p.b[head + key * kWidth + i];
      }
      weight[key] = std::exp(score / 8);
      sum += weight[key];
    }
    for (size_t key = 0; key < length; ++key) {
      for (size_t i = 0; i < kWidth; ++i) {
        p.expected[row * kWidth + i] += weight[key] / sum * p.b[all + head + key * kWidth + i];
      }
    }
  }
  p.tolerance = 1e-3;  // weights are halves
  p.flops = 4.0 * static_cast<double>(length * length * kWidth * heads);
  return p;
}

Problem Histogram(bool quick) {
  const size_t count = quick ? 1 << 14 : 1 << 22;
  constexpr size_t kBins = 1024;
  Problem p{.kernel = "histogram_float", .m = static_cast<int32_t>(count)};
  p.block = {256, 1};
  p.grid = {static_cast<uint32_t>(count / 256 / 16), 1};
  p.a = Exact(count, 1009);
  p.b.resize(count);
  for (size_t i = 0; i < count; ++i) p.b[i] = static_cast<float>((i * 2654435761u >> 7) % kBins);
  p.outputs = kBins;
  p.adds = true;
  p.expected.assign(kBins, 0);
  for (size_t i = 0; i < count; ++i) p.expected[static_cast<size_t>(p.b[i])] += double{p.a[i]};
  p.tolerance = 1e-3;
  p.bytes = 8.0 * static_cast<double>(count);
  return p;
}

Problem HistogramShared(bool quick) {
  Problem p = Histogram(quick);
  p.kernel = "histogram_shared";
  p.n = static_cast<int32_t>(p.outputs);
  p.grid.x = std::max(p.grid.x / 8, 1u);
  return p;
}

// As many threads in blocks of this size. Those of 32 have a whole warp each.
Problem SmallBlocks(bool quick, uint32_t threads) {
  const size_t count = quick ? 1 << 10 : 1 << 18;
  constexpr int kSteps = 32;
  Problem p{.kernel = fmt::format("blocks_of_{}", threads), .m = kSteps};
  p.block = {threads, 1};
  p.grid = {static_cast<uint32_t>(count) / threads, 1};
  p.a = Exact(count, 1009);
  p.b = Exact(count, 2003);
  p.outputs = count;
  p.expected.assign(p.b.begin(), p.b.end());
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<double> before = p.expected;
    for (size_t i = 0; i < count; ++i) {
      p.expected[i] = before[i] * double{p.a[i]} * 0.5 + before[i ^ 1] * 0.25;
    }
  }
  p.tolerance = 1e-5;
  p.flops = 4.0 * kSteps * static_cast<double>(count);
  return p;
}

Problem SplitK(bool quick) {
  const size_t n = quick ? 64 : 512;
  constexpr size_t kParts = 8;
  Problem p{.kernel = "matmul_split_k", .m = static_cast<int32_t>(n), .n = kParts};
  p.block = {64, 1};
  p.grid = {static_cast<uint32_t>(n / 64), static_cast<uint32_t>(n * kParts)};
  p.a = Exact(n * n, 1009);
  p.b = Exact(n * n, 2003);
  p.outputs = n * n;
  p.adds = true;
  p.expected = Product(p.a, p.b, n);
  p.tolerance = 1e-4;
  p.flops = 2.0 * static_cast<double>(n * n * n);
  return p;
}

}  // namespace

std::vector<Problem> TensorProblems(bool quick) {
  std::vector<Problem> problems = {
      MatmulTensor(quick), FlashAttention(quick),  Histogram(quick),      HistogramShared(quick),
      SplitK(quick),       SmallBlocks(quick, 16), SmallBlocks(quick, 32)};
  for (Problem& problem : problems) problem.source = kTensorKernels;
  return problems;
}

}  // namespace kernelsmith::bench
