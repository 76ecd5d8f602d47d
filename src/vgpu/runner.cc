#include "vgpu/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "vgpu/coverage.h"
#include "vgpu/coverage_map.h"
#include "vgpu/screen.h"
#include "vgpu/shared_garbage.h"

namespace kernelsmith::vgpu {

namespace {

// Rounds over all warps before a block that does make progress gives way nevertheless.
constexpr int kRoundsPerTurn = 256;
// In schedules that interleave: blocks that take turns although none waits for another. As many as
// show what comes of it; every one costs its memory.
constexpr size_t kInterleavedBlocks = 8;
// Turns of every block in which all only spin: a loop that gives up after some tries has done so.
constexpr uint64_t kSpinningTurns = 20;

}  // namespace

Runner::Runner(LaunchState& launch, std::atomic<uint64_t>& next,
               const jit::CompiledKernel* compiled, CodeExitCount* code_exits)
    : launch_(launch),
      next_(next),
      compiled_(compiled),
      code_exits_(code_exits),
      blocks_(launch.request.grid.Count() / launch.request.cluster.Count(),
              launch.request.schedule),
      warps_((launch.request.block.Count() + kWarpSize - 1) / kWarpSize, launch.request.schedule),
      streaming_(launch.request.grid.Count() * launch.request.block.Count(),
                 compiled != nullptr && compiled->streams ? StreamedFrom(launch.options->settings)
                                                          : ~uint64_t{0}) {
  garbage_ = SharedGarbageOf(launch.request.module, launch.shared_bytes);
  if (launch.coverage_map != nullptr) {
    coverage_.resize(launch.coverage_map->items);
    launch.coverage = coverage_.data();
  }
  if (launch.slice_run != nullptr) launch.slice = &slice_.emplace(*launch.slice_run);
  if (compiled == nullptr) return;
  // Neighbours share cache lines and pages: each thread takes a piece of the grid. Enough of them
  // for balance.
  piece_ = std::clamp<uint64_t>(launch.request.grid.Count() / 128, 1, 256);
  parameters_host_ = reinterpret_cast<uint64_t>(launch.memory->HostAlias(launch.parameters, 1));
  sites_.resize(compiled->sites);
}

Runner::~Runner() {
  if (launch_.coverage_map != nullptr) launch_.request.coverage->Add(coverage_.data());
}

void Runner::Run(const std::atomic<uint64_t>& last_block,
                 std::optional<Clock::time_point> deadline) {
  // Clusters begin as a whole.
  const uint64_t blocks = launch_.request.grid.Count();
  const uint64_t blocks_each = launch_.request.cluster.Count();
  const uint64_t limit =
      std::max<uint64_t>(launch_.request.cooperative ? blocks : ResidentBlocks(), blocks_each);
  uint64_t stalled = 0;  // turns in a row without progress
  const auto begun = Clock::now();
  auto last_progress = begun;
  const auto take = [&]() -> std::optional<uint64_t> {
    if (launch_.screen != nullptr && launch_.screen->stopped()) return std::nullopt;
    if (slice_ && slice_->run().gave_up()) return std::nullopt;
    // Blocks that wait for others (grid barriers, look-back scans) need those, whatever the time.
    if (deadline && stalled == 0 && Clock::now() >= *deadline) return std::nullopt;
    if (launch_.chosen_blocks > 0 && !launch_.observer->WantsMoreBlocks()) return std::nullopt;
    return Take(last_block);
  };
  while (true) {
    if (resident_.empty()) {
      const auto number = take();
      if (!number) return;
      StartNext(*number);
    }
    Block& block = *resident_.front();
    launch_.progress = false;
    if (block.heap_frees != launch_.heap_frees) {
      block.heap_frees = launch_.heap_frees;
      for (Warp& w : block.warps) w.ForgetWindows();
    }
    const BlockOutcome outcome = RunBlock(block);
    if (outcome == BlockOutcome::kFault) {
      failed_block_ = block.number;
      if (slice_ && !launch_.fault) slice_->run().GiveUp("a loop goes round for too long");
      return;
    }
    if (slice_ && outcome == BlockOutcome::kDone) {
      slice_->run().EndBlock(block.number, block.back_edges);
    }
    if (outcome == BlockOutcome::kDone && compiled_ != nullptr && resident_.size() == 1 &&
        blocks_each == 1) {
      // The usual case, without ceremony.
      if (taken_ == taken_end_ && code_exits_ != nullptr && code_exits_->TooMany()) return;
      const auto number = take();
      if (!number) return;
      Begin(block, *number);
      stalled = 0;
      continue;
    }
    if (outcome == BlockOutcome::kDone) {
      Finish();
      stalled = 0;
      if (!resident_.empty()) last_progress = Clock::now();
      continue;
    }
    if (launch_.observer != nullptr) {
      launch_.observer->OnPause(launch_.grid_id);
      launch_.observer->OnResume(launch_.grid_id);
    }
    if (TimeIsUp(begun)) {
      failed_block_ = block.number;
      return;
    }
    stalled = outcome == BlockOutcome::kSpinning && !launch_.progress ? stalled + 1 : 0;
    std::rotate(resident_.begin(), resident_.begin() + 1, resident_.end());
    // Blocks of a cluster wait for one another as a matter of course: first let all of them try.
    bool wanted = blocks_each == 1 || stalled >= resident_.size();
    if (Interleaves(launch_.request.schedule) && stalled == 0) {
      wanted &= resident_.size() < kInterleavedBlocks;
    }
    const auto number = wanted && resident_.size() < limit ? take() : std::nullopt;
    if (number) {
      StartNext(*number);
      stalled = 0;
    } else if (stalled == 0) {
      last_progress = Clock::now();
    } else if (stalled >= kSpinningTurns * resident_.size() && resident_.size() >= limit &&
               limit < blocks && launch_.request.alone) {
      // Nobody else could change what they wait for.
      FailFirst(*resident_.front(), FaultKind::kDeadlock,
                fmt::format("deadlock: all {} blocks that the GPU holds at a time wait, and the "
                            "other {} can't begin before one of them has ended",
                            resident_.size(), blocks - limit));
      failed_block_ = resident_.front()->number;
      return;
    } else if (stalled >= resident_.size() && launch_.screen != nullptr) {
      // Other launches and the host go on only while the checkers hear of the waiting.
      launch_.screen->Suspect("its blocks wait for one another or for others");
      return;
    } else if (stalled >= resident_.size() && !WaitForOthers(last_progress)) {
      failed_block_ = resident_.front()->number;
      return;
    }
  }
}

uint64_t Runner::ResidentBlocks() const {
  const VirtualGpu::Options& options = *launch_.options;
  const int each = MaxResidentBlocksPerSm(
      *options.model, {.threads = static_cast<int>(launch_.request.block.Count()),
                       .shared_bytes = int64_t{launch_.shared_bytes}});
  return uint64_t{options.multiprocessors} * static_cast<uint64_t>(std::max(each, 1));
}

uint64_t Runner::BlockOfTurn(uint64_t turn) const {
  const std::vector<uint64_t>& chosen = launch_.choice.blocks;
  if (launch_.chosen_blocks > 0) return chosen[turn];
  if (!launch_.other_blocks) return blocks_.At(turn);
  // chosen[i] - i blocks before chosen[i] are others: skip the chosen ones with at most `turn`.
  const auto before = [&](size_t i) { return chosen[i] - i <= turn; };
  size_t low = 0;
  size_t high = chosen.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    (before(middle) ? low : high) = before(middle) ? middle + 1 : middle;
  }
  return turn + low;
}

std::optional<uint64_t> Runner::Take(const std::atomic<uint64_t>& last_block) {
  if (taken_ == taken_end_) {
    taken_ = next_.fetch_add(piece_, std::memory_order_relaxed);
    taken_end_ = std::min(taken_ + piece_, launch_.Turns());
    if (taken_ >= taken_end_) {
      taken_ = taken_end_ = 0;
      return std::nullopt;
    }
  }
  // What fails first is what counts: no need for blocks behind it.
  if (taken_ > last_block.load(std::memory_order_relaxed)) return std::nullopt;
  return BlockOfTurn(taken_++);
}

void Runner::StartNext(uint64_t number) {
  const Dim3 size = launch_.request.cluster;
  if (size.Count() == 1) {
    resident_.push_front(Start(number, nullptr, 0));
    return;
  }
  const Dim3 grid = launch_.request.grid;
  const Dim3 clusters{grid.x / size.x, grid.y / size.y, grid.z / size.z};
  const uint64_t x0 = number % clusters.x * size.x;
  const uint64_t y0 = number / clusters.x % clusters.y * size.y;
  const uint64_t z0 = number / clusters.x / clusters.y * size.z;
  clusters_.push_back(std::make_unique<Cluster>());
  Cluster& cluster = *clusters_.back();
  std::vector<std::unique_ptr<Block>> blocks;
  for (uint32_t rank = 0; rank < size.Count(); ++rank) {
    const uint64_t x = x0 + rank % size.x;
    const uint64_t y = y0 + rank / size.x % size.y;
    const uint64_t z = z0 + rank / size.x / size.y;
    blocks.push_back(Start((z * grid.y + y) * grid.x + x, &cluster, rank));
    cluster.blocks.push_back(blocks.back().get());
    cluster.arrived.emplace_back(blocks.back()->warps.size(), 0u);
  }
  while (!blocks.empty()) {
    resident_.push_front(std::move(blocks.back()));
    blocks.pop_back();
  }
}

std::unique_ptr<Block> Runner::Start(uint64_t number, Cluster* cluster, uint32_t rank) {
  std::unique_ptr<Block> block;
  if (!spare_.empty()) {
    block = std::move(spare_.back());
    spare_.pop_back();
  } else {
    block = std::make_unique<Block>();
  }
  block->cluster = cluster;
  block->rank = rank;
  Begin(*block, number);
  return block;
}

void Runner::Begin(Block& block, uint64_t number) {
  const Dim3 grid = launch_.request.grid;
  block.number = number;
  block.index = {static_cast<uint32_t>(number % grid.x),
                 static_cast<uint32_t>(number / grid.x % grid.y),
                 static_cast<uint32_t>(number / grid.x / grid.y)};
  block.threads = static_cast<uint32_t>(launch_.request.block.Count());
  // Shared memory begins as 0 for the same reason as registers do, unless garbage is asked for.
  if (launch_.shared_bytes > 0 || block.shared_storage.empty()) {
    block.shared_storage.assign(launch_.shared_bytes + 128, std::byte{0});
  }
  const auto address = reinterpret_cast<uintptr_t>(block.shared_storage.data());
  block.shared = block.shared_storage.data() + (128 - address % 128) % 128;
  block.shared_bytes = launch_.shared_bytes;
  std::copy(garbage_.begin(), garbage_.end(), block.shared);
  if (launch_.Wants(interest::kUndefinedBits)) {
    block.defined_shared.assign(launch_.shared_bytes + 16, 0);
  }
  block.heap_frees = launch_.heap_frees;
  block.finished_warps = 0;
  block.back_edges = 0;
  if (block.barriers_used) {
    for (BarrierState& barrier : block.barriers) barrier = {};
    block.barriers_used = false;
  }
  const size_t warps = (block.threads + kWarpSize - 1) / kWarpSize;
  if (block.warps.size() != warps) block.warps = std::vector<Warp>(warps);
  if (launch_.coverage_map != nullptr) {
    for (Warp& w : block.warps) w.loops.assign(2 * launch_.coverage_map->loops.size(), 0);
  }
  if (launch_.observer != nullptr) launch_.observer->OnBlockBegin(number);
  if (launch_.screen != nullptr) launch_.screen->BeginBlock(block);
  if (compiled_ != nullptr) {
    StartCompiled(block);
  } else {
    for (size_t i = 0; i < warps; ++i) StartWarp(block, i);
  }
  ++launch_.statistics.blocks;
  launch_.statistics.warps += warps;
}

void Runner::StartWarp(Block& block, size_t index) {
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
  w.entries = compiled_ != nullptr ? compiled_->entry_of_pc.data() : nullptr;
  w.skip_entry = false;
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

void Runner::FillSpecial(Warp& w, uint32_t first) {
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
  // Where a block runs is a matter of the schedule too.
  fill(Special::kSmid, static_cast<uint32_t>((w.block->number + request.schedule * 11) %
                                             launch_.options->multiprocessors));
  fill(Special::kNsmid, launch_.options->multiprocessors);
  fill(Special::kGridid, static_cast<uint32_t>(launch_.grid_id));
  fill(Special::kEnvreg1, static_cast<uint32_t>(launch_.grid_workspace >> 32));
  fill(Special::kEnvreg2, static_cast<uint32_t>(launch_.grid_workspace));
  fill(Special::kDynamicSmemSize, request.dynamic_shared_bytes);
  fill(Special::kTotalSmemSize, launch_.shared_bytes);
  const Dim3 cluster = request.cluster;
  const Dim3 index = w.block->index;
  fill(Special::kClusterCtaidX, index.x % cluster.x);
  fill(Special::kClusterCtaidY, index.y % cluster.y);
  fill(Special::kClusterCtaidZ, index.z % cluster.z);
  fill(Special::kClusterNctaidX, cluster.x);
  fill(Special::kClusterNctaidY, cluster.y);
  fill(Special::kClusterNctaidZ, cluster.z);
  fill(Special::kClusterCtarank, w.block->rank);
  fill(Special::kClusterNctarank, static_cast<uint32_t>(cluster.Count()));
  fill(Special::kClusteridX, index.x / cluster.x);
  fill(Special::kClusteridY, index.y / cluster.y);
  fill(Special::kClusteridZ, index.z / cluster.z);
  fill(Special::kNclusteridX, request.grid.x / cluster.x);
  fill(Special::kNclusteridY, request.grid.y / cluster.y);
  fill(Special::kNclusteridZ, request.grid.z / cluster.z);
  fill(Special::kIsExplicitCluster, cluster.Count() > 1 ? kFullMask : 0);
  fill(Special::kZero, 0);
  fill(Special::kOne, 1);
}

void Runner::Finish() {
  std::unique_ptr<Block> block = std::move(resident_.front());
  resident_.pop_front();
  if (launch_.observer != nullptr) launch_.observer->OnBlockEnd(block->number);
  Cluster* cluster = block->cluster;
  if (cluster == nullptr) {
    spare_.push_back(std::move(block));
    return;
  }
  cluster->finished.push_back(std::move(block));
  if (cluster->finished.size() < cluster->blocks.size()) return;
  for (auto& done : cluster->finished) spare_.push_back(std::move(done));
  std::erase_if(clusters_, [&](const auto& one) { return one.get() == cluster; });
}

Runner::BlockOutcome Runner::RunBlock(Block& block) {
  if (compiled_ != nullptr && block.fresh) {
    if (const auto outcome = RunTogether(block)) return *outcome;
  }
  const int rounds = Interleaves(launch_.request.schedule) ? 1 : kRoundsPerTurn;
  for (int round = 0; round < rounds; ++round) {
    bool ran = false;
    bool progress = false;
    for (uint64_t turn = 0; turn < block.warps.size(); ++turn) {
      Warp& w = block.warps[warps_.At(turn)];
      if (w.live == 0 || (w.live & ~w.blocked) == 0) continue;
      ran = true;
      const WarpOutcome outcome = compiled_ != nullptr ? RunMixed(w) : RunWarp(w);
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
        case WarpOutcome::kEntry:
          break;
      }
    }
    if (block.finished_warps == block.warps.size()) return BlockOutcome::kDone;
    if (launch_.screen != nullptr && launch_.screen->stopped()) return BlockOutcome::kFault;
    if (!ran && !Unlock(block)) {
      Deadlock(block);
      return BlockOutcome::kFault;
    }
    if (ran && !progress) return BlockOutcome::kSpinning;
  }
  return BlockOutcome::kQuantum;
}

// All wait. GPUs are more forgiving than PTX in some cases.
bool Runner::Unlock(Block& block) {
  if (CheckBarriersLeniently(block)) return true;
  for (Warp& w : block.warps) {
    if (w.live != 0 && ReleaseWarpSync(w, true)) return true;
  }
  return false;
}

void Runner::Deadlock(Block& block) {
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

// A fault of the first warp that has not ended.
void Runner::FailFirst(Block& block, FaultKind kind, const std::string& what,
                       std::string_view details) {
  for (Warp& w : block.warps) {
    if (w.live == 0) continue;
    const int lane = std::countr_zero(w.live);
    w.frame = w.lane_frame[lane];
    w.pc = w.lane_pc[lane];
    w.Fail(kind, lane, 0, what, details);
    return;
  }
}

bool Runner::TimeIsUp(Clock::time_point begun) {
  const auto limit = launch_.options->time_limit;
  if (limit.count() == 0 || Clock::now() - begun < limit) return false;
  FailFirst(
      *resident_.front(), FaultKind::kNoProgress,
      fmt::format("the kernel did not end within {} s", static_cast<double>(limit.count()) / 1000));
  return true;
}

// Everybody spins: on something the host or another launch must do. False: for too long, counted in
// processor time and in the naps that were taken, as long as these were meant to be: on a busy
// machine all takes longer, for those who are waited for as well.
bool Runner::WaitForOthers(Clock::time_point last_progress) {
  constexpr uint64_t kYields = 256;
  constexpr std::chrono::microseconds kLongestNap{1000};
  if (std::exchange(waiting_since_, last_progress) != last_progress) {
    waits_ = 0;
    napped_ = {};
  }
  const auto watchdog = launch_.options->watchdog;
  if (watchdog.count() > 0 && Clock::now() - last_progress + napped_ > watchdog) {
    Block& block = *resident_.front();
    FailFirst(block, FaultKind::kNoProgress,
              fmt::format("no progress for {} ms: all {} resident blocks of {} only spin",
                          watchdog.count(), resident_.size(), launch_.request.grid.Count()),
              "; " + DescribeWaiting(block));
    return false;
  }
  // Alone, there is nobody to whom a nap would give the processor.
  if (++waits_ <= kYields || launch_.request.alone) {
    std::this_thread::yield();
    return true;
  }
  const auto nap = std::min(kLongestNap, std::chrono::microseconds(10 * (waits_ - kYields)));
  std::this_thread::sleep_for(nap);
  napped_ += nap;
  return true;
}

}  // namespace kernelsmith::vgpu
