// The six speed kernels with their data; what they must give is computed here in double.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "engine_bench.h"
#include "support/file_system.h"
#include "support/subprocess.h"
#include "support/testing/real_settings.h"
#include "support/tool_finder.h"

namespace kernelsmith::bench {

namespace fs = std::filesystem;

Result<std::shared_ptr<const ptx::Module>> CompileKernels(ProcessRunner& processes,
                                                          const FileSystem& files,
                                                          const std::string& name) {
  ToolFinder tools(processes, files, RealSettings().tools, KS_SOURCE_DIR);
  const auto nvcc = tools.Nvcc();
  if (!nvcc) return MissingTool("nvcc not found");
  const fs::path source = fs::path(KS_SOURCE_DIR) / "bench/kernels" / name;
  const fs::path text = fs::temp_directory_path() / fmt::format("engine_bench_{}.ptx", getpid());
  KS_TRY(const ProcessResult compiled,
         processes.Run({.argv = {nvcc->path, "-ptx", "-O3", "-arch=compute_90", source.string(),
                                 "-o", text.string()},
                        .timeout = std::chrono::minutes(2)}));
  if (compiled.exit_code != 0) return InvalidInput("nvcc: " + compiled.err);
  auto read = files.Read(text);
  std::error_code ignored;
  fs::remove(text, ignored);
  KS_TRY(const std::string content, std::move(read));
  KS_TRY(ptx::Module module, ptx::Parse(content, "engine.ptx"));
  return std::make_shared<const ptx::Module>(std::move(module));
}

std::vector<double> Product(const std::vector<float>& a, const std::vector<float>& b, size_t n) {
  std::vector<double> product(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) product[i * n + j] += double{a[i * n + k]} * b[k * n + j];
    }
  }
  return product;
}

namespace {

float Value(size_t i, size_t period) {
  return static_cast<float>((i * 7919 + 13) % period) / static_cast<float>(period) - 0.5f;
}

std::vector<float> Values(size_t count, size_t period) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = Value(i, period);
  return values;
}

Problem VectorAdd(bool quick) {
  Problem p{.which = Which::kVectorAdd, .kernel = "vector_add", .m = quick ? 1 << 16 : 1 << 24};
  const size_t count = static_cast<size_t>(p.m);
  p.block = {256, 1};
  p.grid = {static_cast<uint32_t>(count / 256), 1};
  p.a = Values(count, 1009);
  p.b = Values(count, 2003);
  p.outputs = count;
  for (size_t i = 0; i < count; ++i) p.expected.push_back(double{p.a[i]} + p.b[i]);
  p.tolerance = 1e-6;
  p.bytes = 12.0 * static_cast<double>(count);
  return p;
}

Problem Matmul(bool quick, bool tiled) {
  const size_t n = quick ? 64 : 512;
  Problem p{.which = tiled ? Which::kMatmulTiled : Which::kMatmulNaive,
            .kernel = tiled ? "matmul_tiled" : "matmul_naive",
            .m = static_cast<int32_t>(n)};
  p.block = {16, 16};
  p.grid = {static_cast<uint32_t>(n / 16), static_cast<uint32_t>(n / 16)};
  p.a = Values(n * n, 1009);
  p.b = Values(n * n, 2003);
  p.outputs = n * n;
  p.expected = Product(p.a, p.b, n);
  p.tolerance = 1e-4;
  p.flops = 2.0 * static_cast<double>(n * n * n);
  return p;
}

Problem RowSum(bool quick) {
  Problem p{.which = Which::kRowSum,
            .kernel = "row_sum",
            .m = quick ? 64 : 4096,
            .n = quick ? 1024 : 4096};
  p.block = {256, 1};
  p.grid = {static_cast<uint32_t>(p.m), 1};
  p.a = Values(size_t(p.m) * p.n, 1009);
  p.b = {0};
  p.outputs = static_cast<size_t>(p.m);
  for (int r = 0; r < p.m; ++r) {
    p.expected.push_back(
        std::accumulate(p.a.begin() + size_t(r) * p.n, p.a.begin() + size_t(r + 1) * p.n, 0.0));
  }
  p.tolerance = 1e-3;
  p.bytes = 4.0 * p.m * p.n;
  return p;
}

Problem Softmax(bool quick) {
  Problem p{.which = Which::kSoftmax, .kernel = "softmax", .m = quick ? 32 : 4096, .n = 1024};
  p.block = {256, 1};
  p.grid = {static_cast<uint32_t>(p.m), 1};
  p.a = Values(size_t(p.m) * p.n, 1009);
  for (float& v : p.a) v *= 10;
  p.b = {0};
  p.outputs = p.a.size();
  for (int r = 0; r < p.m; ++r) {
    const float* row = p.a.data() + size_t(r) * p.n;
    double sum = 0;
    for (int i = 0; i < p.n; ++i) sum += std::exp(double{row[i]});
    for (int i = 0; i < p.n; ++i) p.expected.push_back(std::exp(double{row[i]}) / sum);
  }
  p.tolerance = 1e-5;
  p.bytes = 8.0 * p.m * p.n;
  return p;
}

Problem Convolution(bool quick) {
  Problem p{.which = Which::kConvolution,
            .kernel = "convolution",
            .m = quick ? 128 : 2048,
            .n = quick ? 128 : 2048};
  p.block = {32, 8};
  p.grid = {static_cast<uint32_t>(p.n / 32), static_cast<uint32_t>(p.m / 8)};
  p.a = Values(size_t(p.m) * p.n, 1009);
  p.b = Values(9, 11);
  p.outputs = p.a.size();
  for (int y = 0; y < p.m; ++y) {
    for (int x = 0; x < p.n; ++x) {
      double sum = 0;
      for (int r = std::max(0, y - 1); r < std::min(p.m, y + 2); ++r) {
        for (int c = std::max(0, x - 1); c < std::min(p.n, x + 2); ++c) {
          sum += double{p.a[size_t(r) * p.n + c]} * p.b[(r - y + 1) * 3 + c - x + 1];
        }
      }
      p.expected.push_back(sum);
    }
  }
  p.tolerance = 1e-5;
  p.flops = 18.0 * p.m * p.n;
  return p;
}

}  // namespace

std::vector<Problem> AllProblems(bool quick) {
  std::vector<Problem> problems;
  problems.push_back(VectorAdd(quick));
  problems.push_back(Matmul(quick, false));
  problems.push_back(Matmul(quick, true));
  problems.push_back(RowSum(quick));
  problems.push_back(Softmax(quick));
  problems.push_back(Convolution(quick));
  return problems;
}

Result<void> CheckOutput(const Problem& p, const std::vector<float>& out) {
  for (size_t i = 0; i < p.outputs; ++i) {
    const double error = std::abs(out[i] - p.expected[i]);
    if (!(error <= p.tolerance * (1 + std::abs(p.expected[i])))) {
      return InvalidInput(fmt::format("wrong: output {} is {}, not {}", i, out[i], p.expected[i]));
    }
  }
  return {};
}

}  // namespace kernelsmith::bench
