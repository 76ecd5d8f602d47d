// The state of a running grid: launch, block, warp and call frame. Private to the engine; handlers
// and scheduler work on it directly.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/fault.h"
#include "vgpu/ir.h"
#include "vgpu/memory.h"
#include "vgpu/observer.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::vgpu {

inline constexpr uint32_t kFullMask = 0xffffffff;
inline constexpr int kBarriers = 16;

// Special registers that are vectors of lanes, in the order of their place in Warp::special. All
// are 32 bits wide; kGridId is the low half.
enum class Special : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kGridid,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kEnvreg1,
  kEnvreg2,
  kDynamicSmemSize,
  kTotalSmemSize,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusterCtarank,
  kClusterNctarank,
  kClusteridX,
  kClusteridY,
  kClusteridZ,
  kNclusteridX,
  kNclusteridY,
  kNclusteridZ,
  kIsExplicitCluster,
  kZero,  // registers that are always 0 here: other %envreg
  kOne,   // and always 1
  kCount,
};

// Registers that differ from one read to the next: Op::kReadSpecial, by Instruction::variant.
enum class DynamicSpecial : uint8_t { kClock, kClockHi, kClock64, kGlobaltimer, kGlobaltimerHi };

// A run of addresses the warp may access: [low, high) at host address + delta.
struct MemoryWindow {
  uint64_t low = 1;
  uint64_t high = 0;
  ptrdiff_t delta = 0;
  bool writable = true;
};

struct Frame {
  const Function* function = nullptr;
  uint32_t depth = 0;
  uint64_t id = 0;
  uint32_t lanes = 0;  // lanes on whose call stack it is
  std::vector<std::byte> storage;
  std::byte* registers = nullptr;    // 64-byte aligned part of storage
  std::vector<std::byte> undefined;  // shadow of the registers; empty unless the warp is tracked
  std::array<uint32_t, kWarpSize> return_pc{};
  std::array<Frame*, kWarpSize> caller{};
  std::array<uint32_t, kWarpSize> local_base{};   // the frame's begin in local memory
  std::array<uint32_t, kWarpSize> saved_stack{};  // the lane's stack top before the call
};

struct Block;
struct LaunchState;
class ScreenThread;
class SliceRun;
class SliceThread;

struct alignas(64) Warp {
  // Handlers find operands by these: see OperandBase.
  std::array<std::byte*, 4> base{};
  // pc and lanes that execute; lane_pc of active lanes is out of date until StorePcs.
  uint32_t pc = 0;
  uint32_t active = 0;
  bool stopped = false;    // a fault happened
  bool waited = false;     // an instruction that may wait for others ran since the last back edge
  uint64_t wait_hash = 0;  // what such instructions saw

  Frame* frame = nullptr;
  Block* block = nullptr;
  LaunchState* launch = nullptr;
  uint32_t index = 0;  // in the block

  uint32_t live = 0;        // lanes that have not exited
  uint32_t blocked = 0;     // wait at a barrier or warp synchronisation
  uint32_t deferred = 0;    // had their turn; see scheduler.cc
  uint32_t at_barrier = 0;  // subset of blocked: in a block barrier
  uint32_t forced = 0;      // lanes whose warp synchronisation need not wait any more
  std::array<uint32_t, kWarpSize> member_mask{};  // what lanes at a bar.warp.sync wait for
  std::array<uint32_t, kWarpSize> lane_pc{};
  std::array<Frame*, kWarpSize> lane_frame{};
  uint32_t merge_pc = 0xffffffff;  // lowest pc at which other runnable lanes of this frame wait

  std::array<uint32_t, kWarpSize> cluster_phase{};  // in which a lane last arrived

  uint64_t last_wait_hash = 0;
  uint32_t same_waits = 0;  // back edges in a row that saw nothing new
  uint32_t back_edges = 0;  // in this turn
  // The loop of the last backward branch and, if it took a whole turn, how it was then.
  struct LoopState {
    const Frame* frame = nullptr;
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t lanes = 0;
    std::vector<std::byte> registers;
  };
  LoopState long_loop;

  std::byte* local = nullptr;  // 32 stacks of local_stride bytes
  uint32_t local_stride = 0;
  std::array<uint32_t, kWarpSize> stack_top{};
  bool tracked = false;                // frames have shadows
  std::vector<uint8_t> defined_local;  // shadow of `local`; see WarpView

  // Where compiled code could go on, by pc of the entry (-1: nowhere); null: there is none.
  const int32_t* entries = nullptr;
  bool skip_entry = false;  // not at the next selection: it was tried

  MemoryWindow window;      // the global allocation used last
  MemoryWindow old_window;  // and the one before
  uint64_t warp_instructions = 0;
  uint64_t lane_instructions = 0;

  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<std::unique_ptr<Frame>> spare_frames;
  std::vector<std::byte> local_storage;
  alignas(64)
      std::array<std::array<uint32_t, kWarpSize>, static_cast<size_t>(Special::kCount)> special{};
  // For each loop of a covered launch (coverage_map.h): the lanes that went round once, and more.
  std::vector<uint32_t> loops;

  template <typename T>
  T* Lanes(Operand operand) const {
    return reinterpret_cast<T*>(base[operand.raw >> 30] + (operand.raw & Operand::kOffsetMask));
  }
  uint32_t& Predicate(Operand operand) const { return *Lanes<uint32_t>(operand); }
  // Generic address of local offset 0, and so on.
  const Function& function() const { return *frame->function; }
  const Instruction& instruction() const { return frame->function->code[pc]; }

  // Ends the launch with a fault of `lane` at the current instruction.
  // `details` are for the whole sentence only.
  void Fail(FaultKind kind, int lane, uint64_t address, std::string what,
            std::string_view details = "");
  // The window of global memory that contains [address, address + bytes); false if there is none.
  bool FindWindow(uint64_t address, uint64_t bytes);
  void FailAddress(int lane, uint64_t address, uint32_t bytes, MemorySpace space, bool write);
  void ForgetWindows() { window = old_window = {}; }
};

struct BarrierState {
  uint32_t expected = 0;  // threads; 0: all
  bool in_use = false;
  std::vector<uint32_t> arrived;  // lanes of each warp
  std::vector<uint32_t> waiting;  // those of them that wait
  uint32_t count = 0;             // bar.red.popc
  bool all = true;
  bool any = false;
};

// Blocks that run at the same time and can see one another's shared memory, and their barrier.
struct Cluster {
  std::vector<Block*> blocks;                  // blocks by rank
  std::vector<std::vector<uint32_t>> arrived;  // lanes that arrived in this phase, by rank and warp
  uint32_t phase = 0;
  std::vector<std::unique_ptr<Block>> finished;  // kept: others may still look at their memory
};

struct Block {
  uint64_t number = 0;
  Cluster* cluster = nullptr;  // null: a cluster of one
  uint32_t rank = 0;           // in the cluster
  Dim3 index{0, 0, 0};
  std::byte* shared = nullptr;
  uint32_t shared_bytes = 0;
  uint32_t threads = 0;
  std::vector<Warp> warps;
  std::vector<std::byte> shared_storage;
  std::vector<uint8_t> defined_shared;  // shadow; see WarpView
  uint64_t heap_frees = 0;              // LaunchState::heap_frees when windows were last forgotten
  std::array<BarrierState, kBarriers> barriers;
  uint32_t finished_warps = 0;
  bool barriers_used = false;
  bool fresh = false;                              // compiled code has not begun
  bool warps_ready = false;                        // for the interpreter, where compiled code runs
  std::shared_ptr<struct CompiledBlock> compiled;  // runner_compiled.cc
  std::shared_ptr<struct ScreenBlock> screen;      // screen.h
  uint64_t back_edges = 0;                         // of all threads
};

class DeviceRuntime;

struct LaunchState {
  const Kernel* kernel = nullptr;
  VirtualGpu* gpu = nullptr;
  const VirtualGpu::Options* options = nullptr;
  DeviceMemory* memory = nullptr;
  LaunchRequest request;
  bool one_thread = false;  // runs it, and nobody else uses the device's memory
  uint32_t shared_bytes = 0;
  uint32_t local_stride = 0;
  uint64_t parameters = 0;      // generic address
  uint64_t grid_workspace = 0;  // the workspace of cooperative launches
  uint64_t grid_id = 0;
  uint64_t shared_window = 0;
  uint64_t local_window = 0;
  Observer* observer = nullptr;
  uint32_t interests = 0;          // what the observer wants to hear of
  ScreenThread* screen = nullptr;  // the observer, if it is one (screen.h)
  uint64_t heap_frees = 0;         // windows of freed heap blocks must be forgotten
  std::optional<Fault> fault;
  uint64_t next_frame_id = 1;
  uint64_t instructions = 0;  // warp instructions of finished turns: what clocks count
  bool progress = false;      // something happened in this turn that others may wait for
  LaunchStatistics statistics;
  BlockChoice choice;          // the observer's choice, when it watches only some blocks
  uint64_t chosen_blocks = 0;  // > 0: run only the first so many of choice.blocks
  bool other_blocks = false;   // run only blocks that are not among `choice.blocks`, ascending now
  // Allocations as of `memory_generation`, by address.
  std::vector<Allocation> allocations;
  uint64_t memory_generation = 0;
  std::chrono::steady_clock::time_point start;
  const CoverageMap* coverage_map = nullptr;  // null: nobody asks for coverage
  uint32_t* coverage = nullptr;               // lanes that did an item, by item; the runner's own
  SliceRun* slice_run = nullptr;              // the launch is a slice (slice.h) ...
  SliceThread* slice = nullptr;               // ... and this is what its runner knows
  DeviceRuntime* device_runtime = nullptr;    // for kernels that launch others

  // How many blocks (or clusters) there are to run.
  uint64_t Turns() const {
    if (chosen_blocks > 0) return chosen_blocks;
    const uint64_t all = request.grid.Count() / request.cluster.Count();
    return other_blocks ? all - choice.blocks.size() : all;
  }

  bool Wants(uint32_t interest) const { return (interests & interest) != 0; }
};

// The generic address a lane's address in `space` stands for.
inline uint64_t GenericAddress(const LaunchState& launch, MemorySpace space, uint64_t address) {
  switch (space) {
    case MemorySpace::kShared:
      return launch.shared_window + address;
    case MemorySpace::kLocal:
      return launch.local_window + address;
    default:
      return address;
  }
}

// The observer's picture of a warp.
class WarpPicture final : public WarpView {
 public:
  explicit WarpPicture(Warp& warp) : warp_(warp) {}
  Warp& warp() { return warp_; }
  Dim3 block_index() const override { return warp_.block->index; }
  uint64_t block_number() const override { return warp_.block->number; }
  uint32_t warp_in_block() const override { return warp_.index; }
  Dim3 thread_index(int lane) const override;
  uint32_t live_lanes() const override { return warp_.live; }
  uint32_t active_lanes() const override { return warp_.active; }
  uint64_t ReadOperand(Operand operand, int lane, int part) const override;
  void WriteOperand(Operand operand, int lane, uint64_t bits, int part) override;
  uint32_t call_depth() const override { return warp_.frame->depth; }
  uint64_t frame_id() const override { return warp_.frame->id; }
  const Function& function() const override { return *warp_.frame->function; }
  const Instruction& instruction() const override { return warp_.instruction(); }
  uint64_t launch_id() const override { return warp_.launch->grid_id; }
  const void* Lanes(Operand operand) const override { return warp_.Lanes<std::byte>(operand); }
  bool tracked() const override { return warp_.tracked; }
  void Track() override;
  void* UndefinedLanes(Operand operand) override;
  uint8_t* DefinedShared() override { return warp_.block->defined_shared.data(); }
  uint8_t* DefinedLocal(int lane) override {
    return warp_.defined_local.data() + static_cast<size_t>(lane) * warp_.local_stride;
  }
  uint32_t shared_bytes() const override { return warp_.block->shared_bytes; }
  uint32_t local_bytes() const override { return warp_.local_stride; }
  SharedPlace SharedAt(uint64_t address) override;
  bool ReadMemory(int lane, uint64_t address, void* to, uint32_t bytes) const override;
  // The other way; observers take it as defined from then on.
  bool WriteMemory(int lane, uint64_t address, std::span<const std::byte> bytes);

 private:
  Warp& warp_;
};

enum class WarpOutcome : uint8_t {
  kDone,      // all lanes exited
  kWaiting,   // all lanes wait at a barrier
  kSpinning,  // gave way: its loops see nothing new
  kQuantum,   // gave way: ran long enough
  kEntry,     // all lanes are together where compiled code can go on
  kFault,
};

// scheduler.cc
WarpOutcome RunWarp(Warp& warp);
// Lets lanes go that wait for lanes which will not come; `force`: even if those may still come from
// a block barrier. False: nobody waits so.
bool ReleaseWarpSync(Warp& warp, bool force);

// calls.cc
void PushFrame(Warp& warp, const Function& callee, uint32_t mask, const CallSite* site);
void ReturnFrom(Warp& warp, uint32_t mask);
void DropFrames(Warp& warp, uint32_t lanes);
void RunSystemCall(Warp& warp, const CallSite& site, uint32_t mask);
// Moves the lanes of `mask` (all in frames of the same function) into `to`.
void MergeFrames(Warp& warp, Frame* to, uint32_t mask);

// cluster.cc
// The block whose shared memory an address of the shared space (own window, or a window by rank)
// is in, and the offset there. Null: there is no such block.
Block* BlockOfSharedAddress(const Block& own, uint64_t& address);
uint32_t ClusterSize(const Block& block);
// What to add to an offset in shared memory to mean the block of that rank.
uint64_t ClusterOffset(const Block& own, uint32_t rank);

// barriers.cc
// Lanes of `mask` arrive by `instruction`; blocks those that wait. Returns lanes that go on at
// once.
uint32_t ArriveAtBarrier(Warp& warp, const Instruction& instruction, uint32_t mask);
// After threads exited: barriers may be complete now.
void CheckBarriers(Block& block);
// Nobody can run: counts every warp with an arrived lane as arrived, as GPUs with barriers per warp
// did. True if that released anyone.
bool CheckBarriersLeniently(Block& block);
std::string DescribeWaiting(const Block& block);

}  // namespace kernelsmith::vgpu
