// What checking costs: the six speed kernels as compiled code, alone and with the memory, race,
// initialisation and synchronisation checks, in one run. Every result is checked, and that nothing
// is found in these kernels.
// The output has no value yet in every checked run, as in most programs; its pages are there.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "checkers/suite.h"
#include "engine_measure.h"
#include "support/testing/real_settings.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::bench {
namespace {

struct Options {
  Measuring measuring;
  bool full = false;
  bool index = false;
};

enum class How : uint8_t { kAlone, kScreened, kFull };

class Checked {
 public:
  Checked(const Options& options, std::shared_ptr<const ptx::Module> module, How how)
      : options_(options), parsed_(std::move(module)), how_(how) {}

  Result<double> Measure(const Problem& problem) {
    KS_TRY(gpu_, vgpu::VirtualGpu::Create({.settings = RealSettings().engine}));
    gpu_->options().settings.engine = vgpu::Engine::kJit;
    gpu_->options().settings.threads = static_cast<uint32_t>(options_.measuring.threads);
    KS_TRY(module_, vgpu::LoadedModule::Load({parsed_}, gpu_->memory(), "engine.cu"));
    checkers::FindingSink sink;
    checkers::CheckerList list(sink);
    if (how_ != How::kAlone) {
      std::vector<std::string> checks = {"memory", "init", "race", "sync"};
      if (options_.index) checks.emplace_back("index");
      checkers::AddCheckers(list, checks, sink, *gpu_);
      gpu_->options().settings.full_checks = how_ != How::kScreened;
    }
    KS_TRY(arguments_.a, Upload(list, problem.a));
    KS_TRY(arguments_.b, Upload(list, problem.b));
    arguments_.m = problem.m;
    arguments_.n = problem.n;
    KS_TRY(const vgpu::Allocation out, Allocate(list, problem.outputs * 4));
    arguments_.out = out.address;
    const auto timed = [&]() -> Result<double> {
      vgpu::LaunchRequest request = LaunchOf(problem, *module_, arguments_);
      request.observer = how_ == How::kAlone ? nullptr : &list;
      vgpu::LaunchResult result;
      KS_TRY(const double seconds, Time(options_.measuring, [&]() -> Result<void> {
               KS_TRY(result, gpu_->Launch(request));
               return {};
             }));
      if (result.fault) return InvalidInput("the kernel failed: " + result.fault->message);
      if (how_ == How::kScreened && !result.screened) {
        return InvalidInput("it was not screened: " + result.suspicion);
      }
      std::vector<float> values(problem.outputs);
      std::memcpy(values.data(), gpu_->memory().HostAlias(out.address, values.size() * 4),
                  values.size() * 4);
      KS_RETURN_IF_ERROR(CheckOutput(problem, values));
      list.OnHostRead(out.address, out.size, {});
      list.OnFree(out, 0, {});
      list.OnAllocate(out, {});
      return seconds;
    };
    KS_TRY(const Times times, BestOf(options_.measuring, timed));
    if (!sink.Findings().empty()) {
      return InvalidInput("a finding in a right kernel: " + sink.Findings()[0].message);
    }
    return times.best;
  }

 private:
  Result<vgpu::Allocation> Allocate(checkers::CheckerList& list, size_t bytes) {
    KS_TRY(const uint64_t address,
           gpu_->memory().Allocate(bytes, vgpu::AllocationKind::kDevice, "bench"));
    const vgpu::Allocation made = *gpu_->memory().Find(address);
    list.OnAllocate(made, {});
    return made;
  }

  Result<uint64_t> Upload(checkers::CheckerList& list, const std::vector<float>& data) {
    KS_TRY(const vgpu::Allocation made, Allocate(list, data.size() * 4));
    std::memcpy(gpu_->memory().HostAlias(made.address, data.size() * 4), data.data(),
                data.size() * 4);
    list.OnDefined(made.address, made.size);
    return made.address;
  }

  const Options& options_;
  std::shared_ptr<const ptx::Module> parsed_;
  How how_;
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  std::unique_ptr<vgpu::LoadedModule> module_;
  KernelArguments arguments_{};
};

Result<void> Run(const Options& options) {
  SystemProcessRunner processes;
  DiskFileSystem files;
  KS_TRY(const auto module, CompileKernels(processes, files));
  std::map<How, double> logs;
  int count = 0;
  for (const Problem& problem : AllProblems(options.measuring.quick)) {
    if (!options.measuring.Wants(problem)) continue;
    std::map<How, double> seconds;
    for (const How how : {How::kAlone, How::kScreened, How::kFull}) {
      if (how == How::kFull && !options.full) continue;
      auto best = Checked(options, module, how).Measure(problem);
      if (!best.ok()) {
        return InvalidInput(fmt::format("{}: {}", problem.kernel, best.error().message()));
      }
      seconds[how] = *best;
    }
    if (options.measuring.quick) continue;  // too small for ratios to mean anything
    const double alone = seconds[How::kAlone];
    fmt::print("{:14}alone {:8.2f} ms   checked {:8.2f} ms   {:6.2f}x", problem.kernel, alone * 1e3,
               seconds[How::kScreened] * 1e3, seconds[How::kScreened] / alone);
    if (options.full) {
      fmt::print("   in full {:9.1f} ms   {:7.1f}x", seconds[How::kFull] * 1e3,
                 seconds[How::kFull] / alone);
    }
    fmt::print("\n");
    std::fflush(stdout);
    for (const auto& [how, best] : seconds) logs[how] += std::log(best / alone);
    ++count;
  }
  if (count == 0) return {};
  fmt::print("geometric mean: checked {:.2f}x", std::exp(logs[How::kScreened] / count));
  if (options.full) fmt::print(", in full {:.1f}x", std::exp(logs[How::kFull] / count));
  fmt::print("\n");
  return {};
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("What checking costs beside compiled code alone");
  options.measuring.AddTo(app);
  app.add_flag("--full", options.full,
               "Also with every access seen by the checkers themselves, as before screens (slow)");
  app.add_flag("--all", options.index, "With the index check too");
  return RunBench(app, argc, argv, [&] { return Run(options); });
}

}  // namespace
}  // namespace kernelsmith::bench

int main(int argc, char** argv) { return kernelsmith::bench::Main(argc, argv); }
