// From candidate to plan: cold, cached, and beside torch.utils.cpp_extension.load of one of the
// same files, all in one run. Prints medians and the ratio; beside the time on the clock the
// processor time, which says more on a busy machine.
//   plan_bench [number of candidates, default 8] [--no-torch]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "device/candidate_harness.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using Milliseconds = std::chrono::duration<double, std::milli>;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Processor time of ours and of children that ended.
double ProcessorMilliseconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
      sum += static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
    }
  }
  return sum;
}

struct Times {
  double clock = -1;  // milliseconds; negative: it failed
  double processor = 0;
  bool by_clang = false;
};

// One compilation and trace.
Times Once(CandidateHarness& harness, const fs::path& path) {
  const double processor = ProcessorMilliseconds();
  const auto start = std::chrono::steady_clock::now();
  const auto candidate = harness.Compile(path);
  if (!candidate.ok()) return {};
  const auto parsed = ParseCase(candidate->text);
  if (!parsed.ok()) return {};
  const auto traced =
      Trace(*candidate, parsed->arguments,
            {.tracer = KS_TRACER_PROGRAM, .results = parsed->results}, harness.processes());
  if (!traced.ok() || !traced->plan) return {};
  return {Milliseconds(std::chrono::steady_clock::now() - start).count(),
          ProcessorMilliseconds() - processor, candidate->host_by_clang};
}

int Run(size_t count, bool torch) {
  const fs::path folder = fs::path(KS_SOURCE_DIR) / "tests" / "candidates";
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".cu") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  paths.resize(std::min(paths.size(), count));
  std::error_code error;
  fs::remove_all(KS_CANDIDATE_CACHE, error);
  CandidateHarness harness;
  std::vector<double> cold;
  std::vector<double> processor;
  std::vector<double> cached;
  std::vector<double> cached_processor;
  size_t fast = 0;
  for (const fs::path& path : paths) {
    const Times first = Once(harness, path);
    const Times second = Once(harness, path);
    if (first.clock < 0 || second.clock < 0) {
      fmt::print("{:<24} failed\n", path.stem().string());
      continue;
    }
    fmt::print(
        "{:<24} cold {:7.0f} ms ({:5.0f} ms processor, host by {})   cached {:6.1f} ms "
        "({:.1f} ms processor)\n",
        path.stem().string(), first.clock, first.processor, first.by_clang ? "clang" : "nvcc",
        second.clock, second.processor);
    cold.push_back(first.clock);
    processor.push_back(first.processor);
    cached.push_back(second.clock);
    cached_processor.push_back(second.processor);
    fast += first.by_clang ? 1 : 0;
  }
  fmt::print(
      "median of {}: cold {:.0f} ms ({:.0f} ms processor), cached {:.1f} ms ({:.1f} ms "
      "processor); {} with host code by clang\n",
      cold.size(), Median(cold), Median(processor), Median(cached), Median(cached_processor), fast);
  if (!torch) return 0;
  const fs::path source = folder / "softmax_rows.cu";
  // Until the extension is built and loaded into Python, as a user of it would wait. PyTorch's own
  // start is not counted: the clock runs around load() alone.
  const fs::path built = fs::path(KS_CANDIDATE_CACHE) / "torch_extension";
  fs::create_directories(built, error);
  const double processor_before = ProcessorMilliseconds();
  const auto result = harness.processes().Run(
      {.argv = {KS_PYTHON, "-c",
                fmt::format("import time, torch.utils.cpp_extension as e; t = time.time(); "
                            "m = e.load(name='bench', sources=['{}'], build_directory='{}', "
                            "with_cuda=True); print(time.time() - t, m.forward.__name__)",
                            source.string(), built.string())},
       // PyTorch puts ccache before nvcc where it finds it: a second run would measure the cache.
       .env = {{"TORCH_CUDA_ARCH_LIST", "9.0"}, {"CCACHE_DISABLE", "1"}},
       .timeout = std::chrono::minutes(20)});
  const double slow_processor = ProcessorMilliseconds() - processor_before;
  if (!result.ok() || result->exit_code != 0) {
    fmt::print("torch.utils.cpp_extension.load failed: {}\n",
               result.ok() ? result->err : result.error().Format());
    return 1;
  }
  const double slow = std::strtod(result->out.c_str(), nullptr) * 1e3;
  fmt::print(
      "torch.utils.cpp_extension.load of {}: {:.0f} ms ({:.0f} ms processor)\n"
      "that is {:.1f} times the median cold time ({:.1f} times its processor time)\n",
      source.filename().string(), slow, slow_processor, slow / Median(cold),
      slow_processor / Median(processor));
  return 0;
}

}  // namespace
}  // namespace kernelsmith

int main(int argc, char** argv) {
  size_t count = 8;
  bool torch = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--no-torch") == 0) {
      torch = false;
    } else {
      count = std::strtoul(argv[i], nullptr, 10);
    }
  }
  return kernelsmith::Run(count, torch);
}
