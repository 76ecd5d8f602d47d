// VirtualGpu::Launch: what a launch needs besides its blocks, and who runs those.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>

#include "support/demangle.h"
#include "vgpu/coverage.h"
#include "vgpu/coverage_map.h"
#include "vgpu/engine.h"
#include "vgpu/heap.h"
#include "vgpu/runner.h"
#include "vgpu/slice.h"
#include "vgpu/slice_kernel.h"
#include "vgpu/slice_run.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

using Clock = std::chrono::steady_clock;

// What cooperative groups keep in memory for a grid: see GridWorkspace in launch of cooperative
// kernels. Size of the structure and the barrier's word, with room for multi-grid fields.
constexpr uint64_t kGridWorkspaceBytes = 128;

// Memory that is freed when the launch ends.
class ScopedAllocation {
 public:
  ScopedAllocation(DeviceMemory& memory, uint64_t address) : memory_(memory), address_(address) {}
  ~ScopedAllocation() {
    if (address_ != 0) static_cast<void>(memory_.Free(address_));
  }
  ScopedAllocation(const ScopedAllocation&) = delete;
  ScopedAllocation& operator=(const ScopedAllocation&) = delete;

 private:
  DeviceMemory& memory_;
  uint64_t address_;
};

std::atomic<uint64_t> g_next_grid{1};

}  // namespace

Result<std::unique_ptr<VirtualGpu>> VirtualGpu::Create(Options options) {
  std::unique_ptr<VirtualGpu> gpu(new VirtualGpu);
  KS_TRY(gpu->memory_, DeviceMemory::Create(options.memory));
  gpu->heap_ = std::make_unique<DeviceHeap>(*gpu->memory_, options.heap_bytes);
  gpu->options_ = std::move(options);
  return gpu;
}

VirtualGpu::~VirtualGpu() = default;

Result<LaunchResult> VirtualGpu::Launch(const LaunchRequest& request) {
  KS_CHECK(request.module != nullptr);
  const EntryInfo* info = request.module->FindEntry(request.entry);
  if (info == nullptr) {
    return InvalidInput(fmt::format("{} has no kernel {}", request.module->name(), request.entry));
  }
  if (request.grid.Count() == 0 || request.block.Count() == 0 || request.block.Count() > 1024) {
    return InvalidInput(fmt::format("kernel {} cannot run with {} threads a block and {} blocks",
                                    KernelName(request.entry), request.block.Count(),
                                    request.grid.Count()));
  }
  Dim3 cluster = request.cluster;
  if (cluster.Count() <= 1) cluster = info->required_cluster.value_or(Dim3{});
  if (cluster.Count() == 0 || cluster.Count() > kMaxClusterBlocks ||
      request.grid.x % cluster.x != 0 || request.grid.y % cluster.y != 0 ||
      request.grid.z % cluster.z != 0) {
    return InvalidInput(
        fmt::format("kernel {} cannot run in clusters of {} x {} x {} with a grid of {} x {} x {}",
                    KernelName(request.entry), cluster.x, cluster.y, cluster.z, request.grid.x,
                    request.grid.y, request.grid.z));
  }
  KS_TRY(const Kernel* kernel, request.module->Prepare(request.entry));
  LaunchRequest own = request;
  own.cluster = cluster;
  if (request.slice != nullptr) return LaunchSlice(own, *kernel);
  return LaunchKernel(own, *kernel, kernel->dynamic_shared_offset + request.dynamic_shared_bytes,
                      nullptr);
}

Result<LaunchResult> VirtualGpu::LaunchSlice(const LaunchRequest& request, const Kernel& kernel) {
  if (request.observer != nullptr || request.coverage != nullptr) {
    return InvalidInput("a slice can't be watched");
  }
  SliceRecord& record = *request.slice;
  record.possible = false;
  const auto impossible = [&](std::string why) {
    record.why = std::move(why);
    return LaunchResult{};
  };
  for (const SliceStores stores : {SliceStores::kMarked, SliceStores::kMade}) {
    const KernelSlice& slice = SliceOf(kernel, stores);
    if (slice.kernel == nullptr) return impossible(slice.why);
    if (slice.share > record.most_share) return impossible("most of the kernel decides");
    SliceRun run(record, request.grid.Count());
    const uint32_t shared =
        slice.uses_shared ? kernel.dynamic_shared_offset + request.dynamic_shared_bytes : 0;
    KS_TRY(LaunchResult result, LaunchKernel(request, *slice.kernel, shared, &run));
    if (run.gave_up()) return impossible(run.why());
    if (slice.stores == SliceStores::kMarked && run.ReadsWhatItMarks()) {
      // Atomics have changed memory: it can't run again.
      if (slice.has_atomics) return impossible("what it decides depends on what it writes");
      continue;
    }
    record.possible = true;
    record.share = slice.share;
    record.stores = slice.stores == SliceStores::kMade;
    return result;
  }
  KS_UNREACHABLE();
}

Result<LaunchResult> VirtualGpu::LaunchKernel(const LaunchRequest& request, const Kernel& kernel,
                                              uint32_t shared_bytes, SliceRun* slice) {
  const EntryInfo& info = *request.module->FindEntry(request.entry);
  LaunchState launch;
  launch.kernel = &kernel;
  launch.slice_run = slice;
  launch.gpu = this;
  launch.options = &options_;
  launch.memory = memory_.get();
  launch.request = request;
  launch.observer = request.observer;
  if (launch.observer != nullptr) launch.interests = launch.observer->interests();
  if (request.coverage != nullptr) {
    launch.coverage_map = &CoverageMapOf(kernel);
    request.coverage->Prepare(launch.coverage_map->items);
  }
  launch.shared_window = memory_->shared_window();
  launch.local_window = memory_->local_window();
  launch.shared_bytes = shared_bytes;
  if (launch.Wants(interest::kBadAccesses) && request.dynamic_shared_bytes == 0) {
    launch.shared_bytes = kernel.static_shared_bytes;  // without padding for what is not there
  }
  launch.local_stride = kernel.bounded_stack
                            ? (kernel.local_bytes + 15) / 16 * 16
                            : std::min<uint32_t>(std::max(options_.stack_bytes, kernel.local_bytes),
                                                 kLocalWindowSize);
  launch.grid_id = g_next_grid.fetch_add(1);
  launch.start = Clock::now();

  const uint64_t parameter_bytes =
      std::max<uint64_t>({info.parameter_bytes, request.parameters.size(), 1});
  KS_TRY(launch.parameters, memory_->Allocate(parameter_bytes, AllocationKind::kParameter,
                                              "parameters of kernel " + request.entry));
  ScopedAllocation parameters(*memory_, launch.parameters);
  if (!request.parameters.empty()) {
    std::memcpy(memory_->HostAlias(launch.parameters, parameter_bytes), request.parameters.data(),
                request.parameters.size());
  }
  uint64_t workspace = 0;
  if (request.cooperative) {
    KS_TRY(workspace, memory_->Allocate(kGridWorkspaceBytes, AllocationKind::kDevice,
                                        "grid barrier of kernel " + request.entry));
  }
  ScopedAllocation workspace_guard(*memory_, workspace);
  launch.grid_workspace = workspace;

  if (launch.observer != nullptr) {
    const LaunchInfo about{.id = launch.grid_id,
                           .operation = request.operation,
                           .kernel = request.entry,
                           .grid = request.grid,
                           .block = request.block,
                           .cluster = request.cluster,
                           .shared_bytes = launch.shared_bytes,
                           .shared_window = launch.shared_window,
                           .local_window = launch.local_window,
                           .parameters = launch.parameters,
                           .grid_workspace = launch.grid_workspace,
                           .code = &kernel,
                           .request = &request};
    launch.observer->OnLaunchBegin(about);
    launch.choice = launch.observer->ChooseBlocks(about);
  }
  LaunchResult result;
  RunGrid(launch, result);
  if (launch.observer != nullptr) {
    launch.observer->OnLaunchEnd(launch.fault ? &*launch.fault : nullptr);
  }
  result.fault = std::move(launch.fault);
  result.statistics = launch.statistics;
  return result;
}

}  // namespace kernelsmith::vgpu
