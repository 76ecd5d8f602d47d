// What ks_engine_bench's contenders share: problems, and an interface that runs one of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ptx/ptx.h"
#include "support/file_system.h"
#include "support/result.h"
#include "support/subprocess.h"

namespace kernelsmith::bench {

enum class Which : uint8_t {
  kVectorAdd,
  kMatmulNaive,
  kMatmulTiled,
  kRowSum,
  kSoftmax,
  kConvolution
};

struct Extent {
  uint32_t x = 1;
  uint32_t y = 1;
};

// Files of bench/kernels. What stands in the second one only the virtual GPU's engines run.
inline constexpr const char* kKernels = "engine.cu";
inline constexpr const char* kTensorKernels = "engine_tensor.cu";

// One kernel with its data. Every kernel takes (a, b, out, m, n).
struct Problem {
  Which which{};
  std::string kernel;
  int32_t m = 0;
  int32_t n = 0;
  Extent grid;
  Extent block;
  std::vector<float> a;
  std::vector<float> b;
  size_t outputs = 0;
  std::vector<double> expected;
  double tolerance = 0;  // relative to 1 + |expected|
  double bytes = 0;      // bytes that must move, for GB/s
  double flops = 0;      // 0: bandwidth is the figure
  std::string source = kKernels;
  bool halves = false;  // the kernel takes its inputs as halves
  bool adds = false;    // it adds to its output, which must be zero before
};

// `source` by nvcc.
Result<std::shared_ptr<const ptx::Module>> CompileKernels(ProcessRunner& processes,
                                                          const FileSystem& files,
                                                          const std::string& source = kKernels);
std::vector<Problem> AllProblems(bool quick);
std::vector<Problem> TensorProblems(bool quick);
// The product of two n x n matrices.
std::vector<double> Product(const std::vector<float>& a, const std::vector<float>& b, size_t n);
Result<void> CheckOutput(const Problem& problem, const std::vector<float>& out);

class Contender {
 public:
  virtual ~Contender() = default;
  virtual std::string name() const = 0;
  // Puts the problem's data where the kernel reads it.
  virtual Result<void> Begin(const Problem& problem) = 0;
  // Runs the kernel once.
  virtual Result<void> Run() = 0;
  // The output of the last run; drops the data.
  virtual Result<std::vector<float>> End() = 0;
};

// The same warps in C++ on 32-lane vectors, two threads. `threads` as the others have.
std::unique_ptr<Contender> MakeHand(int threads);
// `source`: the OpenCL text. An error says why there is no PoCL.
Result<std::unique_ptr<Contender>> MakePocl(const std::string& source, int threads);

}  // namespace kernelsmith::bench
