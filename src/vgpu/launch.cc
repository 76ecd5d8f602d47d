// VirtualGpu::Launch: runs the blocks of a grid.
//
// One block runs at a time, to its end if it can. A block that only spins, or that ran for a long
// while, gives way: to the other resident blocks and, while there is room, to one that has not
// begun. So grids of any size need memory for a few blocks only, and blocks that wait for one
// another (look-back scans, grid barriers, locks) get along as long as the GPU could hold them at
// the same time.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <deque>
#include <numeric>
#include <thread>

#include "vgpu/heap.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

using Clock = std::chrono::steady_clock;

// Rounds over all warps before a block that does make progress gives way nevertheless.
constexpr int kRoundsPerTurn = 256;
// What cooperative groups keep in memory for a grid: see GridWorkspace in launch of cooperative
// kernels. Size of the structure and the barrier's word, with room for multi-grid fields.
constexpr uint64_t kGridWorkspaceBytes = 128;

enum class BlockOutcome { kDone, kSpinning, kQuantum, kFault };

// The order of `count` things in a schedule: i -> (i * step + first) mod count, which takes each
// once.
struct TurnOrder {
  uint64_t count = 1;
  uint64_t step = 1;
  uint64_t first = 0;

  TurnOrder(uint64_t count, uint64_t schedule) : count(count) {
    if (schedule == 0 || count < 2) return;
    // Odd numbers go backwards: the order that differs most. The others jump about.
    step =
        schedule % 2 == 1 ? count - 1 : static_cast<uint64_t>(static_cast<double>(count) * 0.618);
    while (step == 0 || std::gcd(step, count) != 1) ++step;
    first = schedule % 2 == 1 ? count - 1 : schedule / 2 % count;
  }
  uint64_t At(uint64_t i) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * step + first) % count);
  }
};

class Runner {
 public:
  explicit Runner(LaunchState& launch)
      : launch_(launch),
        blocks_(launch.request.grid.Count(), launch.request.schedule),
        warps_((launch.request.block.Count() + kWarpSize - 1) / kWarpSize,
               launch.request.schedule) {}

  void Run() {
    const uint64_t total = launch_.request.grid.Count();
    const uint64_t limit = std::max<uint64_t>(
        launch_.request.cooperative ? total : launch_.options->resident_blocks, 1);
    uint64_t next = 0;
    uint64_t stalled = 0;  // turns in a row without progress
    auto last_progress = Clock::now();
    while (next < total || !resident_.empty()) {
      if (resident_.empty()) resident_.push_front(Start(blocks_.At(next++)));
      Block& block = *resident_.front();
      launch_.progress = false;
      if (block.heap_frees != launch_.heap_frees) {
        block.heap_frees = launch_.heap_frees;
        for (Warp& w : block.warps) w.ForgetWindows();
      }
      const BlockOutcome outcome = RunBlock(block);
      if (outcome == BlockOutcome::kFault) return;
      if (outcome == BlockOutcome::kDone) {
        Finish();
        stalled = 0;
        last_progress = Clock::now();
        continue;
      }
      if (launch_.observer != nullptr) {
        launch_.observer->OnPause(launch_.grid_id);
        launch_.observer->OnResume(launch_.grid_id);
      }
      stalled = outcome == BlockOutcome::kSpinning && !launch_.progress ? stalled + 1 : 0;
      std::rotate(resident_.begin(), resident_.begin() + 1, resident_.end());
      if (next < total && resident_.size() < limit) {
        resident_.push_front(Start(blocks_.At(next++)));
        stalled = 0;
      } else if (stalled == 0) {
        last_progress = Clock::now();
      } else if (stalled >= resident_.size() && !WaitForOthers(last_progress)) {
        return;
      }
    }
  }

 private:
  std::unique_ptr<Block> Start(uint64_t number) {
    std::unique_ptr<Block> block;
    if (!spare_.empty()) {
      block = std::move(spare_.back());
      spare_.pop_back();
    } else {
      block = std::make_unique<Block>();
    }
    const Dim3 grid = launch_.request.grid;
    block->number = number;
    block->index = {static_cast<uint32_t>(number % grid.x),
                    static_cast<uint32_t>(number / grid.x % grid.y),
                    static_cast<uint32_t>(number / grid.x / grid.y)};
    block->threads = static_cast<uint32_t>(launch_.request.block.Count());
    // Shared memory begins as 0 for the same reason as registers do.
    block->shared_storage.assign(launch_.shared_bytes + 128, std::byte{0});
    const auto address = reinterpret_cast<uintptr_t>(block->shared_storage.data());
    block->shared = block->shared_storage.data() + (128 - address % 128) % 128;
    block->shared_bytes = launch_.shared_bytes;
    if (launch_.Wants(interest::kUndefinedBits)) {
      block->defined_shared.assign(launch_.shared_bytes + 16, 0);
    }
    block->heap_frees = launch_.heap_frees;
    block->finished_warps = 0;
    block->next_warp = 0;
    for (BarrierState& barrier : block->barriers) barrier = {};
    const size_t warps = (block->threads + kWarpSize - 1) / kWarpSize;
    if (block->warps.size() != warps) block->warps = std::vector<Warp>(warps);
    if (launch_.observer != nullptr) launch_.observer->OnBlockBegin(number);
    for (size_t i = 0; i < warps; ++i) StartWarp(*block, i);
    ++launch_.statistics.blocks;
    launch_.statistics.warps += warps;
    return block;
  }

  void StartWarp(Block& block, size_t index) {
    Warp& w = block.warps[index];
    const uint32_t first = static_cast<uint32_t>(index * kWarpSize);
    const uint32_t lanes = std::min<uint32_t>(kWarpSize, block.threads - first);
    w.block = &block;
    w.launch = &launch_;
    w.index = static_cast<uint32_t>(index);
    w.live = lanes == kWarpSize ? kFullMask : (1u << lanes) - 1;
    w.blocked = w.deferred = w.at_barrier = w.forced = w.active = 0;
    w.stopped = false;
    w.waited = false;
    w.wait_hash = 0;
    w.pc = 0;
    w.warp_instructions = w.lane_instructions = 0;
    w.window = w.old_window = {};
    w.stack_top.fill(0);
    w.local_stride = launch_.local_stride;
    if (launch_.kernel->bounded_stack) {
      w.local_storage.assign(size_t{kWarpSize} * w.local_stride, std::byte{0});
    } else {
      w.local_storage.resize(size_t{kWarpSize} * w.local_stride);
    }
    w.local = w.local_storage.data();
    w.tracked = false;
    if (launch_.Wants(interest::kUndefinedBits)) w.defined_local.resize(w.local_storage.size());
    FillSpecial(w, first);
    w.base[static_cast<size_t>(OperandBase::kSpecial)] =
        reinterpret_cast<std::byte*>(w.special.data());
    w.frame = nullptr;
    PushFrame(w, *launch_.kernel->entry, w.live, nullptr);
    w.frame = w.lane_frame[std::countr_zero(w.live)];
    if (launch_.observer != nullptr) {
      WarpPicture picture(w);
      launch_.observer->OnWarpBegin(picture);
    }
  }

  void FillSpecial(Warp& w, uint32_t first) {
    const LaunchRequest& request = launch_.request;
    const auto fill = [&](Special which, uint32_t value) {
      w.special[static_cast<size_t>(which)].fill(value);
    };
    const auto lanes = [&](Special which) -> std::array<uint32_t, kWarpSize>& {
      return w.special[static_cast<size_t>(which)];
    };
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      const uint32_t thread = first + lane;
      lanes(Special::kTidX)[lane] = thread % request.block.x;
      lanes(Special::kTidY)[lane] = thread / request.block.x % request.block.y;
      lanes(Special::kTidZ)[lane] = thread / request.block.x / request.block.y;
      lanes(Special::kLaneid)[lane] = lane;
      lanes(Special::kLanemaskEq)[lane] = 1u << lane;
      lanes(Special::kLanemaskLt)[lane] = (1u << lane) - 1;
      lanes(Special::kLanemaskLe)[lane] = (2u << lane) - 1;
      lanes(Special::kLanemaskGt)[lane] = ~((2u << lane) - 1);
      lanes(Special::kLanemaskGe)[lane] = ~((1u << lane) - 1);
    }
    fill(Special::kNtidX, request.block.x);
    fill(Special::kNtidY, request.block.y);
    fill(Special::kNtidZ, request.block.z);
    fill(Special::kCtaidX, w.block->index.x);
    fill(Special::kCtaidY, w.block->index.y);
    fill(Special::kCtaidZ, w.block->index.z);
    fill(Special::kNctaidX, request.grid.x);
    fill(Special::kNctaidY, request.grid.y);
    fill(Special::kNctaidZ, request.grid.z);
    fill(Special::kWarpid, w.index);
    fill(Special::kNwarpid, (w.block->threads + kWarpSize - 1) / kWarpSize);
    fill(Special::kSmid, static_cast<uint32_t>(w.block->number % launch_.options->multiprocessors));
    fill(Special::kNsmid, launch_.options->multiprocessors);
    fill(Special::kGridid, static_cast<uint32_t>(launch_.grid_id));
    fill(Special::kEnvreg1, static_cast<uint32_t>(launch_.grid_workspace >> 32));
    fill(Special::kEnvreg2, static_cast<uint32_t>(launch_.grid_workspace));
    fill(Special::kDynamicSmemSize, request.dynamic_shared_bytes);
    fill(Special::kTotalSmemSize, launch_.shared_bytes);
    fill(Special::kZero, 0);
    fill(Special::kOne, 1);
  }

  void Finish() {
    std::unique_ptr<Block> block = std::move(resident_.front());
    resident_.pop_front();
    if (launch_.observer != nullptr) launch_.observer->OnBlockEnd(block->number);
    spare_.push_back(std::move(block));
  }

  BlockOutcome RunBlock(Block& block) {
    for (int round = 0; round < kRoundsPerTurn; ++round) {
      bool ran = false;
      bool progress = false;
      for (uint64_t turn = 0; turn < block.warps.size(); ++turn) {
        Warp& w = block.warps[warps_.At(turn)];
        if (w.live == 0 || (w.live & ~w.blocked) == 0) continue;
        ran = true;
        const WarpOutcome outcome = RunWarp(w);
        launch_.statistics.warp_instructions += std::exchange(w.warp_instructions, 0);
        launch_.statistics.lane_instructions += std::exchange(w.lane_instructions, 0);
        switch (outcome) {
          case WarpOutcome::kFault:
            return BlockOutcome::kFault;
          case WarpOutcome::kDone:
            ++block.finished_warps;
            if (launch_.observer != nullptr) {
              WarpPicture picture(w);
              launch_.observer->OnWarpEnd(picture);
            }
            progress = true;
            break;
          case WarpOutcome::kWaiting:
          case WarpOutcome::kQuantum:
            progress = true;
            break;
          case WarpOutcome::kSpinning:
            break;
        }
      }
      if (block.finished_warps == block.warps.size()) return BlockOutcome::kDone;
      if (!ran && !Unlock(block)) {
        Deadlock(block);
        return BlockOutcome::kFault;
      }
      if (ran && !progress) return BlockOutcome::kSpinning;
    }
    return BlockOutcome::kQuantum;
  }

  // All wait. GPUs are more forgiving than PTX in some cases.
  bool Unlock(Block& block) {
    if (CheckBarriersLeniently(block)) return true;
    for (Warp& w : block.warps) {
      if (w.live != 0 && ReleaseWarpSync(w, true)) return true;
    }
    return false;
  }

  void Deadlock(Block& block) {
    for (Warp& w : block.warps) {
      if (w.live == 0) continue;
      const int lane = std::countr_zero(w.live);
      w.frame = w.lane_frame[lane];
      w.pc = w.lane_pc[lane];
      w.Fail(FaultKind::kDeadlock, lane, 0,
             "deadlock: every thread of the block waits for others: " + DescribeWaiting(block));
      return;
    }
  }

  // Everybody spins: on something the host or another launch must do. False: for too long.
  bool WaitForOthers(Clock::time_point last_progress) {
    const auto watchdog = launch_.options->watchdog;
    if (watchdog.count() > 0 && Clock::now() - last_progress > watchdog) {
      Block& block = *resident_.front();
      for (Warp& w : block.warps) {
        if (w.live == 0) continue;
        const int lane = std::countr_zero(w.live);
        w.frame = w.lane_frame[lane];
        w.pc = w.lane_pc[lane];
        w.Fail(FaultKind::kNoProgress, lane, 0,
               fmt::format("no progress for {} ms: all {} resident blocks of {} only spin; {}",
                           watchdog.count(), resident_.size(), launch_.request.grid.Count(),
                           DescribeWaiting(block)));
        break;
      }
      return false;
    }
    std::this_thread::yield();
    return true;
  }

  LaunchState& launch_;
  TurnOrder blocks_;
  TurnOrder warps_;
  std::deque<std::unique_ptr<Block>> resident_;
  std::vector<std::unique_ptr<Block>> spare_;
};

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
                                    request.entry, request.block.Count(), request.grid.Count()));
  }
  if (request.cluster.Count() > 1) {
    return Unsupported(fmt::format("kernel {} wants thread block clusters, which are not supported",
                                   request.entry));
  }
  KS_TRY(const Kernel* kernel, request.module->Prepare(request.entry));

  LaunchState launch;
  launch.kernel = kernel;
  launch.gpu = this;
  launch.options = &options_;
  launch.memory = memory_.get();
  launch.request = request;
  launch.observer = request.observer;
  if (launch.observer != nullptr) launch.interests = launch.observer->interests();
  launch.shared_window = memory_->shared_window();
  launch.local_window = memory_->local_window();
  launch.shared_bytes = kernel->dynamic_shared_offset + request.dynamic_shared_bytes;
  if (launch.Wants(interest::kBadAccesses) && request.dynamic_shared_bytes == 0) {
    launch.shared_bytes = kernel->static_shared_bytes;  // without padding for what is not there
  }
  launch.local_stride =
      kernel->bounded_stack
          ? (kernel->local_bytes + 15) / 16 * 16
          : std::min<uint32_t>(std::max(options_.stack_bytes, kernel->local_bytes),
                               kLocalWindowSize);
  launch.grid_id = g_next_grid.fetch_add(1);
  launch.start = Clock::now();

  const uint64_t parameter_bytes =
      std::max<uint64_t>({info->parameter_bytes, request.parameters.size(), 1});
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
    launch.observer->OnLaunchBegin({.id = launch.grid_id,
                                    .operation = request.operation,
                                    .kernel = request.entry,
                                    .grid = request.grid,
                                    .block = request.block,
                                    .shared_bytes = launch.shared_bytes,
                                    .shared_window = launch.shared_window,
                                    .local_window = launch.local_window,
                                    .code = kernel});
  }
  Runner(launch).Run();
  if (launch.observer != nullptr) {
    launch.observer->OnLaunchEnd(launch.fault ? &*launch.fault : nullptr);
  }
  return LaunchResult{.fault = std::move(launch.fault), .statistics = launch.statistics};
}

}  // namespace kernelsmith::vgpu
