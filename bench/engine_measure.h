// How ks_engine_bench and ks_checks_bench run and time the six problems.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "engine_bench.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::bench {

// How the kernels take a problem's data.
struct KernelArguments {
  uint64_t a, b, out;
  int32_t m, n;
};

// The launch of a problem's kernel on a virtual GPU.
vgpu::LaunchRequest LaunchOf(const Problem& problem, vgpu::LoadedModule& module,
                             const KernelArguments& arguments);

struct Measuring {
  bool quick = false;
  double seconds = 3;  // about how long one contender runs one problem
  int threads = 2;
  std::string only;  // one kernel; empty: all

  void AddTo(CLI::App& app);
  bool Wants(const Problem& problem) const { return only.empty() || problem.kernel == only; }
};

struct Times {
  double first = 0;  // the first run, with compilation if it compiles then
  double best = 0;
};

// Best of several: what others on the machine add is not the engine's. `timed` runs once and says
// how many seconds it took.
Result<Times> BestOf(const Measuring& measuring, const std::function<Result<double>()>& timed);
// The seconds that `run` takes; on one thread those of the processor, so that other work on the
// machine does not count.
Result<double> Time(const Measuring& measuring, const std::function<Result<void>()>& run);

// Prints how slices of the products in `kernels` compare with the products (engine_slices.cc).
Result<void> BenchSlices(const std::shared_ptr<const ptx::Module>& kernels,
                         const Measuring& measuring);

// An error: the slice of the problem's kernel does not write where the kernel writes.
Result<void> CheckSlice(const std::shared_ptr<const ptx::Module>& kernels, const Problem& problem);

// The exit code of a benchmark: parses its options and runs it.
int RunBench(CLI::App& app, int argc, char** argv, const std::function<Result<void>()>& run);

}  // namespace kernelsmith::bench
