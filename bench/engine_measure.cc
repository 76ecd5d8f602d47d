#include "engine_measure.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <span>

namespace kernelsmith::bench {

using Clock = std::chrono::steady_clock;

vgpu::LaunchRequest LaunchOf(const Problem& problem, vgpu::LoadedModule& module,
                             const KernelArguments& arguments) {
  return {.module = &module,
          .entry = problem.kernel,
          .grid = {problem.grid.x, problem.grid.y, 1},
          .block = {problem.block.x, problem.block.y, 1},
          .parameters = std::as_bytes(std::span(&arguments, 1)),
          .alone = true};
}

void Measuring::AddTo(CLI::App& app) {
  app.add_flag("--quick", quick, "Only check results, on small problems: no ratios");
  app.add_option("--only", only, "One kernel");
  app.add_option("--seconds", seconds, "For one contender on one problem, about")
      ->capture_default_str();
  app.add_option("--threads", threads, "For every contender; with one, times are the processor's")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

Result<double> Time(const Measuring& measuring, const std::function<Result<void>()>& run) {
  const auto now = [&] {
    if (measuring.threads > 1) {
      return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    }
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  };
  const double begin = now();
  KS_RETURN_IF_ERROR(run());
  return now() - begin;
}

Result<Times> BestOf(const Measuring& measuring, const std::function<Result<double>()>& timed) {
  KS_TRY(const double first, timed());
  Times times{.first = first, .best = first};
  const auto deadline = Clock::now() + std::chrono::duration<double>(measuring.seconds);
  for (int i = 1; i < 200 && (i < 3 || Clock::now() < deadline); ++i) {
    if (i >= 2 && (measuring.quick || times.best > measuring.seconds)) break;
    KS_TRY(const double seconds, timed());
    times.best = std::min(times.best, seconds);
  }
  return times;
}

int RunBench(CLI::App& app, int argc, char** argv, const std::function<Result<void>()>& run) {
  CLI11_PARSE(app, argc, argv);
  const auto status = run();
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", status.error().message());
  return 1;
}

}  // namespace kernelsmith::bench
