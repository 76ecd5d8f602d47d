// From candidate to plan: cold, cached, and beside torch.utils.cpp_extension.load of one of the
// same files, all in one run. Prints medians and the ratio.
//   plan_bench [number of candidates, default 8] [--no-torch]
#include <fmt/format.h>

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

// Milliseconds of one compilation and trace; negative if it failed.
double Once(CandidateHarness& harness, const fs::path& path) {
  const auto start = std::chrono::steady_clock::now();
  const auto candidate = harness.Compile(path);
  if (!candidate.ok()) return -1;
  const auto parsed = ParseCase(candidate->text);
  if (!parsed.ok()) return -1;
  const auto traced =
      Trace(*candidate, parsed->arguments,
            {.tracer = KS_TRACER_PROGRAM, .results = parsed->results}, harness.processes());
  if (!traced.ok() || !traced->plan) return -1;
  return Milliseconds(std::chrono::steady_clock::now() - start).count();
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
  std::vector<double> cached;
  for (const fs::path& path : paths) {
    const double first = Once(harness, path);
    const double second = Once(harness, path);
    if (first < 0 || second < 0) {
      fmt::print("{:<24} failed\n", path.stem().string());
      continue;
    }
    fmt::print("{:<24} cold {:8.0f} ms   cached {:6.1f} ms\n", path.stem().string(), first, second);
    cold.push_back(first);
    cached.push_back(second);
  }
  fmt::print("median of {}: cold {:.0f} ms, cached {:.1f} ms\n", cold.size(), Median(cold),
             Median(cached));
  if (!torch) return 0;
  const fs::path source = folder / "softmax_rows.cu";
  const auto start = std::chrono::steady_clock::now();
  const auto result = harness.processes().Run(
      {.argv = {KS_PYTHON, "-c",
                fmt::format("import torch.utils.cpp_extension as e; e.load(name='bench', "
                            "sources=['{}'], build_directory='{}', with_cuda=True)",
                            source.string(), KS_CANDIDATE_CACHE)},
       .env = {{"TORCH_CUDA_ARCH_LIST", "9.0"}},
       .timeout = std::chrono::minutes(10)});
  const double slow = Milliseconds(std::chrono::steady_clock::now() - start).count();
  if (!result.ok() || result->exit_code != 0) {
    // Loading needs a driver; building does not, and is what takes the time.
    fmt::print("torch.utils.cpp_extension.load ended with an error after {:.0f} ms\n", slow);
  }
  fmt::print("torch.utils.cpp_extension.load: {:.0f} ms, {:.0f} times the median cold time\n", slow,
             slow / Median(cold));
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
