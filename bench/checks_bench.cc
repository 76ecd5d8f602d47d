// What checking costs: the six speed kernels as compiled code, alone and with the memory, race,
// initialisation and synchronisation checks, in one run. Every result is checked, and that nothing
// is found in these kernels.
//   ks_checks_bench [--quick] [--full] [--all] [--only KERNEL] [--seconds S] [--threads N]
// --full: also with every access seen by the checkers themselves, as before screens (slow).
// --all: with the index check too.
// --quick only checks results, on small problems: no ratios.
// The output has no value yet in every checked run, as in most programs; its pages are there.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>

#include "checkers/suite.h"
#include "engine_bench.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  bool quick = false;
  bool full = false;
  bool index = false;
  double seconds = 3;
  int threads = 2;
  std::string only;
};

enum class How : uint8_t { kAlone, kScreened, kFull };

class Checked {
 public:
  Checked(const Options& options, std::shared_ptr<const ptx::Module> module, How how)
      : options_(options), parsed_(std::move(module)), how_(how) {}

  Result<double> Measure(const Problem& problem) {
    KS_TRY(gpu_, vgpu::VirtualGpu::Create({}));
    gpu_->options().engine = vgpu::Engine::kJit;
    gpu_->options().threads = static_cast<uint32_t>(options_.threads);
    KS_TRY(module_, vgpu::LoadedModule::Load({parsed_}, gpu_->memory(), "engine.cu"));
    checkers::FindingSink sink;
    checkers::CheckerList list(sink);
    if (how_ != How::kAlone) {
      std::vector<std::string> checks = {"memory", "init", "race", "sync"};
      if (options_.index) checks.emplace_back("index");
      checkers::AddCheckers(list, checks, sink, *gpu_);
      list.set_screening(how_ == How::kScreened);
    }
    KS_TRY(arguments_.a, Upload(list, problem.a));
    KS_TRY(arguments_.b, Upload(list, problem.b));
    arguments_.m = problem.m;
    arguments_.n = problem.n;
    KS_TRY(const vgpu::Allocation out, Allocate(list, problem.outputs * 4));
    arguments_.out = out.address;
    double best = 0;
    const auto deadline = Clock::now() + std::chrono::duration<double>(options_.seconds);
    for (int i = 0; i < 200 && (i < 3 || Clock::now() < deadline); ++i) {
      if ((options_.quick && i >= 2) || (i >= 2 && best > options_.seconds)) break;
      const auto begin = Clock::now();
      KS_TRY(const vgpu::LaunchResult result,
             gpu_->Launch({.module = module_.get(),
                           .entry = problem.kernel,
                           .grid = {problem.grid.x, problem.grid.y, 1},
                           .block = {problem.block.x, problem.block.y, 1},
                           .parameters = std::as_bytes(std::span(&arguments_, 1)),
                           .observer = how_ == How::kAlone ? nullptr : &list}));
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (result.fault) return InvalidInput("the kernel failed: " + result.fault->message);
      if (how_ == How::kScreened && !result.screened) {
        return InvalidInput("it was not screened: " + result.suspicion);
      }
      if (i == 0 || seconds < best) best = seconds;
      std::vector<float> values(problem.outputs);
      std::memcpy(values.data(), gpu_->memory().HostAlias(out.address, values.size() * 4),
                  values.size() * 4);
      KS_RETURN_IF_ERROR(CheckOutput(problem, values));
      list.OnHostRead(out.address, out.size, {});
      list.OnFree(out, 0, {});
      list.OnAllocate(out, {});
    }
    if (!sink.Findings().empty()) {
      return InvalidInput("a finding in a right kernel: " + sink.Findings()[0].message);
    }
    return best;
  }

 private:
  struct Arguments {
    uint64_t a, b, out;
    int32_t m, n;
  };

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
  Arguments arguments_{};
};

Result<void> Run(const Options& options) {
  SystemProcessRunner processes;
  DiskFileSystem files;
  KS_TRY(const auto module, CompileKernels(processes, files));
  std::map<How, double> logs;
  int count = 0;
  for (const Problem& problem : AllProblems(options.quick)) {
    if (!options.only.empty() && problem.kernel != options.only) continue;
    std::map<How, double> seconds;
    for (const How how : {How::kAlone, How::kScreened, How::kFull}) {
      if (how == How::kFull && !options.full) continue;
      auto best = Checked(options, module, how).Measure(problem);
      if (!best.ok()) {
        return InvalidInput(fmt::format("{}: {}", problem.kernel, best.error().message()));
      }
      seconds[how] = *best;
    }
    if (options.quick) continue;  // too small for ratios to mean anything
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
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--quick") {
      options.quick = true;
    } else if (word == "--full") {
      options.full = true;
    } else if (word == "--all") {
      options.index = true;
    } else if (word == "--only") {
      options.only = value();
    } else if (word == "--seconds") {
      options.seconds = std::atof(value().c_str());
    } else if (word == "--threads") {
      options.threads = std::max(1, std::atoi(value().c_str()));
    } else {
      fmt::print(stderr, "unknown option {}\n", word);
      return 2;
    }
  }
  const auto status = Run(options);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", status.error().message());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace kernelsmith::bench

int main(int argc, char** argv) { return kernelsmith::bench::Main(argc, argv); }
