// The virtual GPU's speed beside others, in one run and on as many threads: six kernels (engine.cu)
// on each engine, on PoCL (engine.cl), written by hand as 32-lane warps (engine_hand.cc), and
// torch's CPU bandwidth. Every result is checked.
//   ks_engine_bench [--quick] [--engine NAME]... [--only KERNEL] [--no-pocl] [--no-torch]
//                   [--seconds S] [--threads N]
// --quick only checks results, on small problems: no ratios.
#include "engine_bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ptx/ptx.h"
#include "support/file_system.h"
#include "support/subprocess.h"
#include "support/tool_finder.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  bool quick = false;
  bool pocl = true;
  bool torch = true;
  double seconds = 3;  // for one contender on one problem, about
  int threads = 2;
  std::vector<std::string> engines;
  std::string only;
};

// ---- the virtual GPU ----

const std::vector<std::string>& Engines() {
  static const std::vector<std::string> names = {"jit", "interpreter"};
  return names;
}

class Virtual final : public Contender {
 public:
  Virtual(std::string engine, std::shared_ptr<const ptx::Module> module, int threads)
      : engine_(std::move(engine)), parsed_(std::move(module)), threads_(threads) {}
  std::string name() const override { return engine_; }

  Result<void> Begin(const Problem& problem) override {
    problem_ = &problem;
    KS_TRY(gpu_, vgpu::VirtualGpu::Create({}));
    gpu_->options().engine = engine_ == "jit" ? vgpu::Engine::kJit : vgpu::Engine::kInterpreter;
    gpu_->options().threads = static_cast<uint32_t>(threads_);
    KS_TRY(module_, vgpu::LoadedModule::Load({parsed_}, gpu_->memory(), "engine.cu"));
    KS_TRY(arguments_.a, Upload(problem.a));
    KS_TRY(arguments_.b, Upload(problem.b));
    KS_TRY(arguments_.out, Upload(std::vector<float>(problem.outputs)));
    arguments_.m = problem.m;
    arguments_.n = problem.n;
    return {};
  }

  Result<void> Run() override {
    const vgpu::LaunchRequest request{
        .module = module_.get(),
        .entry = problem_->kernel,
        .grid = {problem_->grid.x, problem_->grid.y, 1},
        .block = {problem_->block.x, problem_->block.y, 1},
        .parameters = std::as_bytes(std::span(&arguments_, 1)),
    };
    KS_TRY(const vgpu::LaunchResult result, gpu_->Launch(request));
    if (result.fault) return InvalidInput("the kernel failed: " + result.fault->message);
    if (engine_ == "jit" && !result.compiled) {
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
  struct Arguments {
    uint64_t a, b, out;
    int32_t m, n;
  };

  Result<uint64_t> Upload(const std::vector<float>& data) {
    KS_TRY(const uint64_t address,
           gpu_->memory().Allocate(data.size() * 4, vgpu::AllocationKind::kDevice, "bench"));
    std::memcpy(gpu_->memory().HostAlias(address, data.size() * 4), data.data(), data.size() * 4);
    return address;
  }

  std::string engine_;
  std::shared_ptr<const ptx::Module> parsed_;
  int threads_;
  const Problem* problem_ = nullptr;
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  std::unique_ptr<vgpu::LoadedModule> module_;
  Arguments arguments_{};
};

Result<std::shared_ptr<const ptx::Module>> CompileKernels(ProcessRunner& processes,
                                                          const FileSystem& files) {
  const auto environment = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  ToolFinder tools(processes, files, environment, KS_SOURCE_DIR);
  const auto nvcc = tools.Nvcc();
  if (!nvcc) return MissingTool("nvcc not found");
  const fs::path source = fs::path(KS_SOURCE_DIR) / "bench/kernels/engine.cu";
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

// ---- the problems; what they must give is computed here in double ----

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
  p.expected.assign(n * n, 0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) {
        p.expected[i * n + j] += double{p.a[i * n + k]} * p.b[k * n + j];
      }
    }
  }
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

// ---- measuring ----

Result<void> CheckOutput(const Problem& p, const std::vector<float>& out) {
  for (size_t i = 0; i < p.outputs; ++i) {
    const double error = std::abs(out[i] - p.expected[i]);
    if (!(error <= p.tolerance * (1 + std::abs(p.expected[i])))) {
      return InvalidInput(fmt::format("wrong: output {} is {}, not {}", i, out[i], p.expected[i]));
    }
  }
  return {};
}

struct Times {
  double first = 0;  // with compilation, if the contender compiles at the first run
  double best = 0;
};

// Best of several: what others on the machine add is not the engine's.
Result<Times> Measure(Contender& contender, const Problem& problem, const Options& options) {
  KS_RETURN_IF_ERROR(contender.Begin(problem));
  const auto timed = [&]() -> Result<double> {
    const auto begin = Clock::now();
    KS_RETURN_IF_ERROR(contender.Run());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  KS_TRY(const double first, timed());
  Times times{.first = first, .best = first};
  const auto deadline = Clock::now() + std::chrono::duration<double>(options.seconds);
  for (int i = 1; i < 200 && (i < 3 || Clock::now() < deadline); ++i) {
    if ((options.quick && i >= 2) || (i >= 2 && times.best > options.seconds)) break;
    KS_TRY(const double seconds, timed());
    times.best = std::min(times.best, seconds);
  }
  KS_TRY(const std::vector<float> out, contender.End());
  KS_RETURN_IF_ERROR(CheckOutput(problem, out));
  return times;
}

// Seconds by kernel.
std::map<std::string, double> MeasureTorch(ProcessRunner& processes, const Problem& add,
                                           const Problem& sum, int threads) {
  const auto run =
      processes.Run({.argv = {KS_PYTHON, std::string(KS_SOURCE_DIR) + "/bench/engine_torch.py",
                              std::to_string(add.m), std::to_string(sum.m), std::to_string(sum.n),
                              std::to_string(threads)}});
  if (!run.ok() || run->exit_code != 0) {
    fmt::print("torch not measured: {}\n", run.ok() ? run->err : run.error().message());
    return {};
  }
  const auto answer = nlohmann::json::parse(run->out, nullptr, false);
  if (answer.is_discarded()) return {};
  return {{"vector_add", answer["vector_add"].get<double>()},
          {"row_sum", answer["row_sum"].get<double>()}};
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
  KS_TRY(const auto module, CompileKernels(processes, files));
  std::vector<std::unique_ptr<Contender>> contenders;
  const auto& engines = options.engines.empty() ? Engines() : options.engines;
  for (const std::string& engine : engines) {
    if (std::find(Engines().begin(), Engines().end(), engine) == Engines().end()) {
      return InvalidInput(fmt::format("there is no engine {}", engine));
    }
    contenders.push_back(std::make_unique<Virtual>(engine, module, options.threads));
  }
  contenders.push_back(MakeHand(options.threads));
  if (options.pocl) {
    KS_TRY(const std::string source,
           files.Read(fs::path(KS_SOURCE_DIR) / "bench/kernels/engine.cl"));
    auto pocl = MakePocl(source, options.threads);
    if (pocl.ok()) {
      contenders.push_back(std::move(*pocl));
    } else {
      fmt::print("{}\n", pocl.error().message());
    }
  }
  std::vector<Problem> problems;
  problems.push_back(VectorAdd(options.quick));
  problems.push_back(Matmul(options.quick, false));
  problems.push_back(Matmul(options.quick, true));
  problems.push_back(RowSum(options.quick));
  problems.push_back(Softmax(options.quick));
  problems.push_back(Convolution(options.quick));
  Table table;
  for (const Problem& problem : problems) {
    if (!options.only.empty() && problem.kernel != options.only) continue;
    fmt::print("{} ({} blocks of {} threads)\n", problem.kernel, problem.grid.x * problem.grid.y,
               problem.block.x * problem.block.y);
    for (const auto& contender : contenders) {
      auto times = Measure(*contender, problem, options);
      if (!times.ok()) {
        return InvalidInput(fmt::format("{} on {}: {}", problem.kernel, contender->name(),
                                        times.error().message()));
      }
      table.Add(contender->name(), problem, *times);
    }
  }
  if (options.torch) {
    table.AddTorch(MeasureTorch(processes, problems[0], problems[3], options.threads));
  }
  if (options.quick) return {};  // too small for ratios to mean anything
  fmt::print("\nspeed ratios (above 1: the first is faster)\n");
  for (const std::string& engine : engines) {
    table.PrintRatio(engine, "PoCL");
    table.PrintRatio(engine, "hand");
    table.PrintRatio(engine, "torch");
    if (engine != "interpreter") table.PrintRatio(engine, "interpreter");
  }
  table.PrintRatio("hand", "PoCL");
  return {};
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--quick") {
      options.quick = true;
    } else if (word == "--no-pocl") {
      options.pocl = false;
    } else if (word == "--no-torch") {
      options.torch = false;
    } else if (word == "--engine") {
      options.engines.push_back(value());
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
