// The virtual GPU's speed beside others, in one run and on as many threads: six kernels (engine.cu)
// on each engine, on PoCL (engine.cl), written by hand as 32-lane warps (engine_hand.cc), and
// torch's CPU bandwidth; tensor cores and float atomics (engine_tensor.cu) on each engine, and
// torch's sgemm. Every result is checked.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "engine_measure.h"
#include "ptx/ptx.h"
#include "support/file_system.h"
#include "support/subprocess.h"
#include "support/testing/real_settings.h"
#include "support/tool_finder.h"
#include "vgpu/coverage.h"
#include "vgpu/math/round.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
  Measuring measuring;
  bool no_pocl = false;
  bool no_torch = false;
  std::vector<std::string> engines;
};

// ---- the virtual GPU ----

// Compiled code that records what it covers, on the six kernels.
constexpr const char* kCovered = "jit_covered";

const std::vector<std::string>& Engines() {
  static const std::vector<std::string> names = {"jit", "interpreter", kCovered};
  return names;
}

// By their source.
using Modules = std::map<std::string, std::shared_ptr<const ptx::Module>>;

class Virtual final : public Contender {
 public:
  Virtual(std::string engine, Modules modules, int threads)
      : engine_(std::move(engine)), parsed_(std::move(modules)), threads_(threads) {}
  std::string name() const override { return engine_; }

  Result<void> Begin(const Problem& problem) override {
    problem_ = &problem;
    KS_TRY(gpu_, vgpu::VirtualGpu::Create({.settings = RealSettings().engine}));
    gpu_->options().settings.engine =
        engine_ != "interpreter" ? vgpu::Engine::kJit : vgpu::Engine::kInterpreter;
    gpu_->options().settings.threads = static_cast<uint32_t>(threads_);
    KS_TRY(module_,
           vgpu::LoadedModule::Load({parsed_.at(problem.source)}, gpu_->memory(), problem.source));
    KS_TRY(arguments_.a, problem.halves ? Upload(Halves(problem.a)) : Upload(problem.a));
    KS_TRY(arguments_.b, problem.halves ? Upload(Halves(problem.b)) : Upload(problem.b));
    KS_TRY(arguments_.out, Upload(std::vector<float>(problem.outputs)));
    arguments_.m = problem.m;
    arguments_.n = problem.n;
    return {};
  }

  Result<void> Run() override {
    if (problem_->adds) {
      const size_t bytes = problem_->outputs * 4;
      std::memset(gpu_->memory().HostAlias(arguments_.out, bytes), 0, bytes);
    }
    vgpu::CoverageRecord coverage;
    vgpu::LaunchRequest launch = LaunchOf(*problem_, *module_, arguments_);
    if (engine_ == kCovered) launch.coverage = &coverage;
    KS_TRY(const vgpu::LaunchResult result, gpu_->Launch(launch));
    if (result.fault) return InvalidInput("the kernel failed: " + result.fault->message);
    if (engine_ != "interpreter" && !result.compiled) {
      return InvalidInput("it was not compiled: " + result.fallback);
    }
    if (result.compile_ms > 0) fmt::print("  compiled in {:.1f} ms\n", result.compile_ms);
    return {};
  }

  Result<std::vector<float>> End() override {
    std::vector<float> out(problem_->outputs);
    std::memcpy(out.data(), gpu_->memory().HostAlias(arguments_.out, out.size() * 4),
                out.size() * 4);
    module_.reset();
    gpu_.reset();
    return out;
  }

 private:
  template <typename T>
  Result<uint64_t> Upload(const std::vector<T>& data) {
    const size_t bytes = data.size() * sizeof(T);
    KS_TRY(const uint64_t address,
           gpu_->memory().Allocate(bytes, vgpu::AllocationKind::kDevice, "bench"));
    std::memcpy(gpu_->memory().HostAlias(address, bytes), data.data(), bytes);
    return address;
  }
  static std::vector<uint16_t> Halves(const std::vector<float>& values) {
    std::vector<uint16_t> halves;
    for (const float value : values) halves.push_back(vgpu::math::F16FromF32(value).bits);
    return halves;
  }

  std::string engine_;
  Modules parsed_;
  int threads_;
  const Problem* problem_ = nullptr;
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  std::unique_ptr<vgpu::LoadedModule> module_;
  KernelArguments arguments_{};
};

// ---- measuring ----

Result<Times> Measure(Contender& contender, const Problem& problem, const Measuring& measuring) {
  KS_RETURN_IF_ERROR(contender.Begin(problem));
  KS_TRY(const Times times,
         BestOf(measuring, [&] { return Time(measuring, [&] { return contender.Run(); }); }));
  KS_TRY(const std::vector<float> out, contender.End());
  KS_RETURN_IF_ERROR(CheckOutput(problem, out));
  return times;
}

// Seconds by kernel.
std::map<std::string, double> MeasureTorch(ProcessRunner& processes, const Problem& add,
                                           const Problem& sum, const Problem& product,
                                           int threads) {
  const auto run =
      processes.Run({.argv = {KS_PYTHON, std::string(KS_SOURCE_DIR) + "/bench/engine_torch.py",
                              std::to_string(add.m), std::to_string(sum.m), std::to_string(sum.n),
                              std::to_string(product.m), std::to_string(threads)}});
  if (!run.ok() || run->exit_code != 0) {
    fmt::print("torch not measured: {}\n", run.ok() ? run->err : run.error().message());
    return {};
  }
  const auto answer = nlohmann::json::parse(run->out, nullptr, false);
  if (answer.is_discarded()) return {};
  return {{"vector_add", answer["vector_add"].get<double>()},
          {"row_sum", answer["row_sum"].get<double>()},
          {"matmul_tensor", answer["sgemm"].get<double>()}};
}

class Table {
 public:
  void Add(const std::string& contender, const Problem& problem, Times times) {
    seconds_[contender][problem.kernel] = times.best;
    const double rate =
        problem.flops > 0 ? problem.flops / times.best / 1e9 : problem.bytes / times.best / 1e9;
    fmt::print("  {:<12} {:10.3f} ms {:9.2f} {}   first run {:10.3f} ms\n", contender,
               times.best * 1e3, rate, problem.flops > 0 ? "GFLOP/s" : "GB/s   ",
               times.first * 1e3);
  }
  void AddTorch(std::map<std::string, double> seconds) { seconds_["torch"] = std::move(seconds); }

  // How much longer blocks of half a warp take than as many threads in whole warps.
  void PrintSmallBlocks(const std::string& contender) const {
    const auto own = seconds_.find(contender);
    if (own == seconds_.end() || !own->second.contains("blocks_of_16") ||
        !own->second.contains("blocks_of_32")) {
      return;
    }
    fmt::print("{}: half warps take {:.2f} of the time of whole ones\n", contender,
               own->second.at("blocks_of_16") / own->second.at("blocks_of_32"));
  }

  // How many times as fast `fast` is as `slow`, kernel by kernel.
  void PrintRatio(const std::string& fast, const std::string& slow) const {
    const auto f = seconds_.find(fast);
    const auto s = seconds_.find(slow);
    if (f == seconds_.end() || s == seconds_.end()) return;
    double logs = 0;
    int count = 0;
    fmt::print("{}/{}:", fast, slow);
    for (const auto& [kernel, seconds] : f->second) {
      const auto other = s->second.find(kernel);
      if (other == s->second.end()) continue;
      const double ratio = other->second / seconds;
      fmt::print("  {} {:.3f}", kernel, ratio);
      logs += std::log(ratio);
      ++count;
    }
    if (count > 0) fmt::print("  geometric mean {:.3f}", std::exp(logs / count));
    fmt::print("\n");
  }

 private:
  std::map<std::string, std::map<std::string, double>> seconds_;
};

Result<void> Run(const Options& options) {
  SystemProcessRunner processes;
  DiskFileSystem files;
  Modules modules;
  for (const char* source : {kKernels, kTensorKernels}) {
    KS_TRY(modules[source], CompileKernels(processes, files, source));
  }
  std::vector<std::unique_ptr<Contender>> contenders;
  const auto& engines = options.engines.empty() ? Engines() : options.engines;
  for (const std::string& engine : engines) {
    contenders.push_back(std::make_unique<Virtual>(engine, modules, options.measuring.threads));
  }
  contenders.push_back(MakeHand(options.measuring.threads));
  if (!options.no_pocl) {
    KS_TRY(const std::string source,
           files.Read(fs::path(KS_SOURCE_DIR) / "bench/kernels/engine.cl"));
    auto pocl = MakePocl(source, options.measuring.threads);
    if (pocl.ok()) {
      contenders.push_back(std::move(*pocl));
    } else {
      fmt::print("{}\n", pocl.error().message());
    }
  }
  std::vector<Problem> problems = AllProblems(options.measuring.quick);
  const size_t for_all = problems.size();
  for (Problem& problem : TensorProblems(options.measuring.quick)) {
    problems.push_back(std::move(problem));
  }
  Table table;
  for (const Problem& problem : problems) {
    if (!options.measuring.Wants(problem)) continue;
    fmt::print("{} ({} blocks of {} threads)\n", problem.kernel, problem.grid.x * problem.grid.y,
               problem.block.x * problem.block.y);
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (problem.source != kKernels && i >= engines.size()) break;
      const auto& contender = contenders[i];
      if (problem.source != kKernels && contender->name() == kCovered) continue;
      auto times = Measure(*contender, problem, options.measuring);
      if (!times.ok()) {
        return InvalidInput(fmt::format("{} on {}: {}", problem.kernel, contender->name(),
                                        times.error().message()));
      }
      table.Add(contender->name(), problem, *times);
    }
  }
  KS_RETURN_IF_ERROR(BenchSlices(modules.at(kKernels), options.measuring));
  for (const Problem& problem : problems) {
    if (!options.measuring.quick || !options.measuring.Wants(problem)) continue;
    KS_RETURN_IF_ERROR(CheckSlice(modules.at(problem.source), problem));
  }
  if (!options.no_torch) {
    table.AddTorch(MeasureTorch(processes, problems[0], problems[3], problems[for_all],
                                options.measuring.threads));
  }
  if (options.measuring.quick) return {};  // too small for ratios to mean anything
  fmt::print("\nspeed ratios (above 1: the first is faster)\n");
  for (const std::string& engine : engines) {
    if (engine == kCovered) continue;
    table.PrintRatio(engine, "PoCL");
    table.PrintRatio(engine, "hand");
    table.PrintRatio(engine, "torch");
    if (engine != "interpreter") table.PrintRatio(engine, "interpreter");
    table.PrintSmallBlocks(engine);
  }
  table.PrintRatio("hand", "PoCL");
  // What recording coverage costs: how many times as long launches take with it.
  table.PrintRatio("jit", kCovered);
  return {};
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The virtual GPU's speed beside others");
  options.measuring.AddTo(app);
  app.add_option("--engine", options.engines, "jit, interpreter or jit_covered; default: all")
      ->check(CLI::IsMember(Engines()));
  app.add_flag("--no-pocl", options.no_pocl, "Without PoCL");
  app.add_flag("--no-torch", options.no_torch, "Without torch");
  return RunBench(app, argc, argv, [&] { return Run(options); });
}

}  // namespace
}  // namespace kernelsmith::bench

int main(int argc, char** argv) { return kernelsmith::bench::Main(argc, argv); }
