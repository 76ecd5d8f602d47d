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
#include "vgpu/device_runtime.h"
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
  std::deque<DeviceWork> started;
  KS_TRY(LaunchResult result, LaunchOne(request, 0, &started));
  // What a kernel starts comes before what its parent started behind it.
  while (!started.empty() && !result.fault) {
    const DeviceWork work = std::move(started.front());
    started.pop_front();
    KS_TRY(LaunchResult child, RunDeviceWork(request, work, &started));
    result.fault = std::move(child.fault);
    result.statistics.blocks += child.statistics.blocks;
    result.statistics.warps += child.statistics.warps;
    result.statistics.warp_instructions += child.statistics.warp_instructions;
    result.statistics.lane_instructions += child.statistics.lane_instructions;
    result.compiled |= child.compiled;
    result.compile_ms += child.compile_ms;
  }
  return result;
}

Result<LaunchResult> VirtualGpu::RunDeviceWork(const LaunchRequest& parent, const DeviceWork& work,
                                               std::deque<DeviceWork>* started) {
  if (work.kind == DeviceWork::Kind::kLaunch) {
    LaunchRequest request = parent;
    request.entry = work.entry;
    request.grid = work.grid;
    request.block = work.block;
    request.cluster = {};
    request.dynamic_shared_bytes = work.dynamic_shared_bytes;
    request.parameters = work.parameters;
    request.cooperative = false;
    request.coverage = nullptr;
    return LaunchOne(request, work.depth, started);
  }
  const bool copies = work.kind == DeviceWork::Kind::kCopy;
  LaunchResult result;
  for (uint64_t row = 0; row < work.height; ++row) {
    const uint64_t to = work.to + row * work.to_pitch;
    const uint64_t from = copies ? work.from + row * work.from_pitch : 0;
    void* target = memory_->HostAlias(to, work.width);
    const void* source = copies ? memory_->HostAlias(from, work.width) : nullptr;
    if (target == nullptr || (copies && source == nullptr)) {
      result.fault =
          Fault{.kind = FaultKind::kIllegalAddress,
                .message = fmt::format("a {} that kernel {} started at 0x{:x} leaves its "
                                       "memory",
                                       copies ? "copy" : "fill", KernelName(parent.entry),
                                       target == nullptr ? to : from)};
      return result;
    }
    if (parent.observer != nullptr) {
      parent.observer->OnDeviceCopy(parent.operation, to, from, work.width);
    }
    if (copies) {
      std::memmove(target, source, work.width);
    } else {
      std::memset(target, work.value, work.width);
    }
  }
  return result;
}

Result<LaunchResult> VirtualGpu::LaunchOne(const LaunchRequest& request, uint32_t depth,
                                           std::deque<DeviceWork>* started) {
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
  DeviceRuntime runtime(*this, *request.module, depth);
  KS_TRY(LaunchResult result,
         LaunchKernel(own, *kernel, kernel->dynamic_shared_offset + request.dynamic_shared_bytes,
                      nullptr, &runtime));
  std::vector<DeviceWork> work = runtime.TakeWork();
  started->insert(started->begin(), std::make_move_iterator(work.begin()),
                  std::make_move_iterator(work.end()));
  return result;
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
    KS_TRY(LaunchResult result, LaunchKernel(request, *slice.kernel, shared, &run, nullptr));
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
                                              uint32_t shared_bytes, SliceRun* slice,
                                              DeviceRuntime* runtime) {
  const EntryInfo& info = *request.module->FindEntry(request.entry);
  LaunchState launch;
  launch.kernel = &kernel;
  launch.slice_run = slice;
  launch.device_runtime = runtime;
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
