// Slices of large products beside the products themselves: how much sooner it is known what they
// write. The products would take long; they run a part of their blocks, and the rest is reckoned.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine_measure.h"
#include "support/testing/real_settings.h"
#include "vgpu/slice.h"
#include "vgpu/testing/write_counter.h"

namespace kernelsmith::bench {

Result<void> CheckSlice(const std::shared_ptr<const ptx::Module>& kernels, const Problem& problem) {
  KS_TRY(const auto gpu, vgpu::VirtualGpu::Create({.settings = RealSettings().engine}));
  KS_TRY(const auto module, vgpu::LoadedModule::Load({kernels}, gpu->memory(), problem.source));
  const auto upload = [&](const std::vector<float>& data) -> Result<uint64_t> {
    const size_t bytes = data.size() * sizeof(float);
    KS_TRY(const uint64_t address,
           gpu->memory().Allocate(bytes, vgpu::AllocationKind::kDevice, "bench"));
    std::memcpy(gpu->memory().HostAlias(address, bytes), data.data(), bytes);
    return address;
  };
  KernelArguments arguments{.m = problem.m, .n = problem.n};
  KS_TRY(arguments.a, upload(problem.a));
  KS_TRY(arguments.b, upload(problem.b));
  KS_TRY(arguments.out, upload(std::vector<float>(problem.outputs)));
  const vgpu::SliceRecord asked{
      .outputs = {{.address = arguments.out, .bytes = problem.outputs * sizeof(float)}}};
  vgpu::SliceRecord slice = asked;
  vgpu::LaunchRequest launch = LaunchOf(problem, *module, arguments);
  launch.slice = &slice;
  gpu->options().settings.engine = vgpu::Engine::kJit;
  KS_TRY(const vgpu::LaunchResult result, gpu->Launch(launch));
  if (result.fault) return InvalidInput(result.fault->message);
  if (!slice.possible) {
    fmt::print("no slice of {}: {}\n", problem.kernel, slice.why);
    return {};
  }
  vgpu::SliceRecord expected = asked;
  vgpu::WriteCounter counter(expected, launch.grid.Count());
  launch.slice = nullptr;
  launch.observer = &counter;
  KS_RETURN_IF_ERROR(gpu->Launch(launch));
  const std::string difference = vgpu::DifferenceOf(expected, slice);
  if (!difference.empty()) return InvalidInput(problem.kernel + ": " + difference);
  fmt::print("the slice of {} has {:.0f} % of the instructions{}\n", problem.kernel,
             slice.share * 100, slice.stores ? " and makes its stores" : "");
  return {};
}

Result<void> BenchSlices(const std::shared_ptr<const ptx::Module>& kernels,
                         const Measuring& measuring) {
  const uint64_t n = measuring.quick ? 256 : 4096;
  const uint64_t bytes = n * n * sizeof(float);
  KS_TRY(const auto gpu, vgpu::VirtualGpu::Create({.settings = RealSettings().engine}));
  gpu->options().settings.engine = vgpu::Engine::kJit;
  gpu->options().settings.threads = static_cast<uint32_t>(measuring.threads);
  KS_TRY(const auto module, vgpu::LoadedModule::Load({kernels}, gpu->memory(), kKernels));
  KernelArguments arguments{.m = static_cast<int32_t>(n)};
  for (uint64_t* address : {&arguments.a, &arguments.b, &arguments.out}) {
    KS_TRY(*address, gpu->memory().Allocate(bytes, vgpu::AllocationKind::kDevice, "bench"));
  }
  for (const char* kernel : {"matmul_naive", "matmul_tiled"}) {
    Problem problem{.kernel = kernel};
    problem.block = {16, 16};
    problem.grid = {static_cast<uint32_t>(n / 16), static_cast<uint32_t>(n / 16)};
    if (!measuring.Wants(problem)) continue;
    const uint32_t rows = problem.grid.y;
    vgpu::LaunchRequest launch = LaunchOf(problem, *module, arguments);
    const auto run = [&]() -> Result<void> {
      KS_TRY(const vgpu::LaunchResult result, gpu->Launch(launch));
      if (result.fault) return InvalidInput(result.fault->message);
      if (!result.compiled) return InvalidInput("it was not compiled: " + result.fallback);
      return {};
    };
    vgpu::SliceRecord slice{.outputs = {{.address = arguments.out, .bytes = bytes}}};
    launch.slice = &slice;
    KS_TRY(const Times sliced, BestOf(measuring, [&] { return Time(measuring, run); }));
    if (!slice.possible) return InvalidInput("no slice: " + slice.why);
    const auto& writes = slice.outputs[0].writes;
    if (!std::all_of(writes.begin(), writes.end(), [](uint8_t count) { return count == 1; })) {
      return InvalidInput("the slice does not write every element once");
    }
    launch.slice = nullptr;
    launch.grid.y = std::min<uint32_t>(rows, 2);
    KS_TRY(const Times part, BestOf(measuring, [&] { return Time(measuring, run); }));
    const double whole = part.best * rows / launch.grid.y;
    fmt::print(
        "slice of {} of {} x {}: {:.1f} ms with {:.0f} % of the instructions (first run {:.1f} "
        "ms); run: {:.1f} ms, reckoned from {} of {} blocks: {:.1f} times as fast\n",
        kernel, n, n, sliced.best * 1e3, slice.share * 100, sliced.first * 1e3, whole * 1e3,
        launch.grid.Count(), uint64_t{problem.grid.x} * rows, whole / sliced.best);
  }
  return {};
}

}  // namespace kernelsmith::bench
