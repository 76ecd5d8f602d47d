#include "differential.h"

#include <fmt/format.h>

#include <cstring>

#include "ptx/ptx.h"
#include "support/testing/real_settings.h"
#include "vgpu/coverage.h"
#include "vgpu/testing/write_counter.h"

namespace kernelsmith::fuzz {

struct Differential::Outcome {
  vgpu::LaunchResult result;
  std::vector<std::byte> output;
  std::vector<std::byte> input;
  vgpu::CoverageRecord coverage;
};

namespace {

// Not by the fault's message, which names the nearest allocation: that may be the launch's own
// parameters, whose place differs from launch to launch.
std::string Describe(const std::optional<vgpu::Fault>& fault) {
  if (!fault) return "no fault";
  return fmt::format("{} at 0x{:x} in block ({},{},{}), thread ({},{},{}), line {}, {}",
                     vgpu::FaultKindName(fault->kind), fault->address, fault->block.x,
                     fault->block.y, fault->block.z, fault->thread.x, fault->thread.y,
                     fault->thread.z, fault->ptx.line, fault->instruction);
}

std::string FirstDifference(const char* what, const std::vector<std::byte>& a,
                            const std::vector<std::byte>& b) {
  if (a == b) return {};
  size_t at = 0;
  size_t count = 0;
  for (size_t i = a.size() & ~size_t{3}; i >= 4; i -= 4) {
    if (std::memcmp(a.data() + i - 4, b.data() + i - 4, 4) != 0) {
      at = i - 4;
      ++count;
    }
  }
  uint32_t x = 0;
  uint32_t y = 0;
  std::memcpy(&x, a.data() + at, sizeof x);
  std::memcpy(&y, b.data() + at, sizeof y);
  return fmt::format(
      "{} words of {} differ, first byte {}: {:08x} by the interpreter, {:08x} compiled", count,
      what, at, x, y);
}

// What only one of the engines covered.
std::string CoverageDifference(const vgpu::Kernel& kernel, const vgpu::CoverageRecord& a,
                               const vgpu::CoverageRecord& b) {
  for (const vgpu::CoverageItem& item : vgpu::CoverageItems(kernel)) {
    if (a.Covers(item.number) == b.Covers(item.number)) continue;
    return fmt::format("coverage differs: {} only {}", item.words,
                       a.Covers(item.number) ? "by the interpreter" : "compiled");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Differential>> Differential::Create(std::optional<Breakage> breakage) {
  std::unique_ptr<Differential> differential(new Differential);
  vgpu::VirtualGpu::Options options{.settings = RealSettings().engine};
  options.watchdog = std::chrono::milliseconds(2000);
  KS_TRY(differential->gpu_, vgpu::VirtualGpu::Create(options));
  differential->breakage_ = std::move(breakage);
  return differential;
}

Result<std::unique_ptr<vgpu::LoadedModule>> Differential::Load(const std::string& text) {
  KS_TRY(ptx::Module parsed, ptx::Parse(text, "fuzz.ptx"));
  return vgpu::LoadedModule::Load({std::make_shared<const ptx::Module>(std::move(parsed))},
                                  gpu_->memory(), "fuzz");
}

Result<Differential::Outcome> Differential::Run(vgpu::LoadedModule& module, const Program& program,
                                                uint64_t output, const How& how) {
  Outcome outcome;
  outcome.output.resize(program.output_bytes());
  void* memory = gpu_->memory().HostAlias(output, outcome.output.size());
  std::memset(memory, 0, outcome.output.size());
  const vgpu::VariableInfo* input = module.FindVariable("in");
  void* input_memory = nullptr;
  if (input != nullptr) {
    input_memory = gpu_->memory().HostAlias(input->address, input->size);
    outcome.input.resize(input->size);
    std::memset(input_memory, 0, input->size);
    std::memcpy(input_memory, program.input.data(), program.input.size() * sizeof(uint32_t));
  }
  gpu_->options().settings.engine = how.engine;
  gpu_->options().settings.threads = how.threads;
  struct {
    uint64_t output;
    uint32_t five = 5;
  } const parameters{output};
  KS_TRY(outcome.result, gpu_->Launch({.module = &module,
                                       .entry = "k",
                                       .grid = program.grid,
                                       .block = program.block,
                                       .parameters = std::as_bytes(std::span(&parameters, 1)),
                                       .observer = how.observer,
                                       .coverage = how.covered ? &outcome.coverage : nullptr,
                                       .slice = how.slice}));
  std::memcpy(outcome.output.data(), memory, outcome.output.size());
  if (input != nullptr) std::memcpy(outcome.input.data(), input_memory, outcome.input.size());
  return outcome;
}

Result<std::string> Differential::CompareSlices(vgpu::LoadedModule& module, const Program& program,
                                                uint64_t output, Comparison& comparison) {
  const uint64_t blocks = program.grid.Count();
  const vgpu::SliceRecord asked{
      .outputs = {{.address = output, .bytes = program.output_bytes() / 4 * 4}}};
  vgpu::SliceRecord expected = asked;
  vgpu::WriteCounter counter(expected, blocks);
  KS_RETURN_IF_ERROR(
      Run(module, program, output, {.engine = vgpu::Engine::kInterpreter, .observer = &counter}));
  for (const vgpu::Engine engine : {vgpu::Engine::kInterpreter, vgpu::Engine::kJit}) {
    vgpu::SliceRecord slice = asked;
    KS_TRY(const Outcome outcome,
           Run(module, program, output, {.engine = engine, .threads = 2, .slice = &slice}));
    if (!slice.possible) return std::string();
    comparison.sliced = true;
    const std::string difference =
        outcome.result.fault ? Describe(outcome.result.fault) : vgpu::DifferenceOf(expected, slice);
    if (difference.empty()) continue;
    return fmt::format("the {} slice differs: {}",
                       engine == vgpu::Engine::kJit ? "compiled" : "interpreted", difference);
  }
  return std::string();
}

Result<Comparison> Differential::Compare(const Program& program) {
  const std::string text = program.Text();
  KS_TRY(const auto module, Load(text));
  std::unique_ptr<vgpu::LoadedModule> broken;
  if (breakage_) {
    std::string other = text;
    for (size_t at = other.find(breakage_->from); at != std::string::npos;
         at = other.find(breakage_->from, at + breakage_->to.size())) {
      other.replace(at, breakage_->from.size(), breakage_->to);
    }
    KS_TRY(broken, Load(other));
  }
  KS_TRY(const uint64_t output,
         gpu_->memory().Allocate(program.output_bytes(), vgpu::AllocationKind::kDevice, "output"));
  Comparison comparison;
  const Status status = [&]() -> Status {
    KS_TRY(const Outcome expected,
           Run(*module, program, output, {.engine = vgpu::Engine::kInterpreter, .covered = true}));
    comparison.lane_instructions = expected.result.statistics.lane_instructions;
    comparison.faulted = expected.result.fault.has_value();
    // Compiling takes longest: every other kernel is compiled for coverage, the others for slices.
    const bool covers = program.seed % 2 == 0;
    // Runs once on one thread and, where blocks may run at the same time, again on several.
    for (const uint32_t threads : {1u, 2u}) {
      const bool covered = covers && threads > 1;
      // After a fault other blocks may have come further than they did in order.
      if (threads > 1 && (program.grid.Count() == 1 || comparison.faulted)) break;
      KS_TRY(const Outcome compiled, Run(broken != nullptr ? *broken : *module, program, output,
                                         {vgpu::Engine::kJit, threads, covered}));
      comparison.compiled |= compiled.result.compiled;
      comparison.compile_ms += compiled.result.compile_ms;
      comparison.fallback = compiled.result.fallback;
      const std::string a = Describe(expected.result.fault);
      const std::string b = Describe(compiled.result.fault);
      if (a != b) {
        comparison.difference = fmt::format("the interpreter: {}; compiled: {}", a, b);
      } else {
        comparison.difference = FirstDifference("the output", expected.output, compiled.output);
        if (comparison.difference.empty()) {
          comparison.difference = FirstDifference("the input", expected.input, compiled.input);
        }
        // A fault ends warps at different places.
        if (comparison.difference.empty() && covered && broken == nullptr && !comparison.faulted) {
          KS_TRY(const vgpu::Kernel* kernel, module->Prepare("k"));
          comparison.difference = CoverageDifference(*kernel, expected.coverage, compiled.coverage);
        }
      }
      if (!comparison.difference.empty()) {
        if (threads > 1) comparison.difference += fmt::format(" (on {} threads)", threads);
        break;
      }
    }
    if (comparison.difference.empty() && !covers && broken == nullptr && !comparison.faulted) {
      KS_TRY(comparison.difference, CompareSlices(*module, program, output, comparison));
    }
    return {};
  }();
  KS_RETURN_IF_ERROR(gpu_->memory().Free(output));
  KS_RETURN_IF_ERROR(status);
  return comparison;
}

}  // namespace kernelsmith::fuzz
