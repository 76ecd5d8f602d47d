// Observers: what the checkers, the counters and the algebra see of a running kernel. The
// interpreter calls them in execution order; without an observer it runs code that has no calls at
// all. An observer must not throw.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vgpu/fault.h"
#include "vgpu/ir.h"

namespace kernelsmith::vgpu {

inline constexpr int kWarpSize = 32;

// What an observer wants to hear of: Observer::interests() is a set of these bits. Calls that
// nobody wants are not made. Launches, blocks, warps, barriers, fences and exits are told to
// everyone.
namespace interest {
inline constexpr uint32_t kInstructions = 1 << 0;  // BeforeInstruction, AfterInstruction
inline constexpr uint32_t kAccesses = 1 << 1;      // OnMemoryAccess
// OnBadAccess. Limits are exact then: blocks of the device heap, the bytes of a thread's frames,
// memory that may only be read.
inline constexpr uint32_t kBadAccesses = 1 << 2;
// The engine keeps WarpView's shadows, and AfterInstruction comes for tracked warps.
inline constexpr uint32_t kUndefinedBits = 1 << 3;
inline constexpr uint32_t kIndexArithmetic = 1 << 4;  // OnIndexArithmetic
// OnMemoryAccess also of shared memory of other blocks of the cluster (WarpView::SharedAt); without
// it, accesses with such a lane are not told.
inline constexpr uint32_t kClusterAccesses = 1 << 5;
inline constexpr uint32_t kAll = 0xffffffff & ~(kBadAccesses | kUndefinedBits | kClusterAccesses);
}  // namespace interest

// Where in shared memory a generic address is.
struct SharedPlace {
  bool exists = false;
  uint64_t block_number = 0;  // whose memory it is
  uint32_t offset = 0;
  uint32_t bytes = 0;          // all of the block's shared memory
  uint8_t* defined = nullptr;  // the shadow of all of it; see WarpView::DefinedShared
};

// The warp that executes, as an observer may see it.
class WarpView {
 public:
  virtual ~WarpView() = default;
  virtual Dim3 block_index() const = 0;
  virtual uint64_t block_number() const = 0;  // x fastest
  virtual uint32_t warp_in_block() const = 0;
  virtual Dim3 thread_index(int lane) const = 0;
  virtual uint32_t live_lanes() const = 0;
  virtual uint32_t active_lanes() const = 0;  // at this instruction, whatever its guard
  // Bits of a register or constant of the function that executes, zero-extended; a predicate is 0
  // or 1. `part` selects the 64-bit half of a 128-bit register.
  virtual uint64_t ReadOperand(Operand operand, int lane, int part = 0) const = 0;
  virtual void WriteOperand(Operand operand, int lane, uint64_t bits, int part = 0) = 0;
  // Depth of the call stack the active lanes are in: 0 in the kernel itself. Registers of different
  // frames are different registers; `frame_id` tells them apart.
  virtual uint32_t call_depth() const = 0;
  virtual uint64_t frame_id() const = 0;
  virtual const Function& function() const = 0;        // the function that executes
  virtual const Instruction& instruction() const = 0;  // the one at the active lanes' pc
  virtual uint64_t launch_id() const = 0;              // LaunchInfo::id
  // The 32 lanes of an operand, contiguous, of its width; of a predicate one word.
  virtual const void* Lanes(Operand operand) const = 0;
  // Bytes at a generic address as `lane` sees them. False: not accessible.
  virtual bool ReadMemory(int lane, uint64_t address, void* to, uint32_t bytes) const = 0;

  // -- undefined bits (interest::kUndefinedBits)
  // Registers have a shadow once the warp is tracked: as Lanes(), 1 where the bit was never given a
  // value. Constants and special registers have none (null).
  virtual bool tracked() const = 0;
  virtual void Track() = 0;  // all registers are defined until someone says otherwise
  virtual void* UndefinedLanes(Operand operand) = 0;
  // The shadows of shared and of a lane's local memory: 0 where a bit was never written. The engine
  // clears them when a block or a frame begins and moves them along with call arguments.
  virtual uint8_t* DefinedShared() = 0;
  virtual uint8_t* DefinedLocal(int lane) = 0;
  virtual uint32_t shared_bytes() const = 0;
  virtual uint32_t local_bytes() const = 0;
  // Shared memory of the own block or of another block of its cluster.
  virtual SharedPlace SharedAt(uint64_t address) = 0;
};

enum class AccessKind : uint8_t { kLoad, kStore, kAtomic, kReduction, kAsyncCopy, kPrefetch };

struct LaunchRequest;

// One memory instruction of a warp. Addresses are generic (window addresses for shared and local).
struct MemoryAccess {
  const Instruction* instruction = nullptr;
  AccessKind kind = AccessKind::kLoad;
  uint32_t mask = 0;
  uint32_t bytes = 0;  // per lane, whole vector
  std::array<uint64_t, kWarpSize> address{};
};

// Why lanes of an access could not go on.
enum class BadAccess : uint8_t { kOutside, kMisaligned, kReadOnly };

struct BarrierEvent {
  enum class Kind : uint8_t { kArrive, kSync, kReduction, kReleased };
  Kind kind = Kind::kSync;
  uint32_t barrier = 0;
  uint32_t mask = 0;      // lanes of the warp concerned; 0 for kReleased of the whole block
  uint32_t expected = 0;  // threads; 0: all of the block
  const Instruction* instruction = nullptr;
};

struct LaunchInfo {
  uint64_t id = 0;         // never the same in a process
  uint64_t operation = 0;  // LaunchRequest::operation
  std::string kernel;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;                // {1,1,1}: none
  uint32_t shared_bytes = 0;   // static and dynamic
  uint64_t shared_window = 0;  // generic addresses of shared and of local memory begin here
  uint64_t local_window = 0;
  uint64_t parameters = 0;      // where they lie
  uint64_t grid_workspace = 0;  // the memory of the grid's barrier; 0: no cooperative launch
  const Kernel* code = nullptr;
  const LaunchRequest* request = nullptr;  // while the launch runs
};

// The blocks of a launch that an observer watches.
struct BlockChoice {
  std::vector<uint64_t> blocks;  // in the order they run, each once; none: all blocks
  bool run_others = true;        // the others run too, unwatched, behind these
};

class Screen;

class Observer {
 public:
  virtual ~Observer() = default;
  virtual uint32_t interests() const { return interest::kAll; }
  // A cheap look may stand for this observer's (screen.h): it hears of the launch that began last
  // only if the screen is suspicious. Null: it wants to see everything.
  virtual Screen* screen() { return nullptr; }

  virtual void OnLaunchBegin(const LaunchInfo& launch) {}
  // Asked behind OnLaunchBegin. Where blocks may wait for one another (cooperative launches,
  // clusters, loops around atomics or volatile accesses) all are watched, whatever the answer.
  virtual BlockChoice ChooseBlocks(const LaunchInfo& launch) { return {}; }
  // Asked before each chosen block: false ends the watching, and the rest counts as others.
  virtual bool WantsMoreBlocks() { return true; }
  virtual void OnLaunchEnd(const Fault* fault) {}
  // A block gave way: other launches (on other threads) may be heard of until it resumes.
  virtual void OnPause(uint64_t launch_id) {}
  virtual void OnResume(uint64_t launch_id) {}
  virtual void OnBlockBegin(uint64_t block_number) {}
  virtual void OnBlockEnd(uint64_t block_number) {}
  virtual void OnWarpBegin(WarpView& warp) {}
  virtual void OnWarpEnd(WarpView& warp) {}
  // Around every instruction with at least one lane whose guard holds. Lanes of `mask` execute. In
  // tracked warps BeforeInstruction comes with mask 0 too: the guard may be undefined.
  virtual void BeforeInstruction(WarpView& warp, const Instruction& instruction, uint32_t mask) {}
  virtual void AfterInstruction(WarpView& warp, const Instruction& instruction, uint32_t mask) {}
  // After the addresses are known and before memory changes. Return false to skip the access of
  // this warp (loads give 0): a bounds checker reports and goes on.
  virtual bool OnMemoryAccess(WarpView& warp, const MemoryAccess& access) { return true; }
  // The engine copied bytes within a lane's local memory: arguments of a call, or its results.
  virtual void OnFrameCopy(WarpView& warp, int lane, uint64_t to, uint64_t from, uint32_t bytes) {}
  // Lanes of `bad` can't do the access. True: they are left out (loads give 0) and the kernel goes
  // on; false: it ends with a fault.
  virtual bool OnBadAccess(WarpView& warp, const MemoryAccess& access, uint32_t bad,
                           BadAccess why) {
    return false;
  }
  // An integer instruction whose result may become part of an address (Instruction::index), after
  // it was executed.
  virtual void OnIndexArithmetic(WarpView& warp, const Instruction& instruction, uint32_t mask) {}
  // malloc and free in a kernel; malloc's address is 0 when there is no room. Free comes before it
  // happens; return false to leave it out, e.g. because the block is not in use.
  virtual void OnDeviceMalloc(WarpView& warp, int lane, uint64_t address, uint64_t size) {}
  virtual bool OnDeviceFree(WarpView& warp, int lane, uint64_t address) { return true; }
  // A function that the engine provides wrote through a pointer of its caller, to global memory.
  virtual void OnResultWritten(WarpView& warp, uint64_t address, uint64_t bytes) {}
  // Between launches: a copy or a fill (`from` is 0) of device memory that a kernel asked for.
  virtual void OnDeviceCopy(uint64_t operation, uint64_t to, uint64_t from, uint64_t bytes) {}
  virtual void OnBarrier(WarpView& warp, const BarrierEvent& event) {}
  virtual void OnBarrierReleased(uint64_t block_number, uint32_t barrier) {}
  virtual void OnFence(WarpView& warp, const Instruction& instruction, uint32_t mask) {}
  // Lanes of `mask` of the warp waited for one another (bar.warp.sync orders memory; shfl, vote,
  // match and mma do not).
  virtual void OnWarpSync(WarpView& warp, const Instruction& instruction, uint32_t mask) {}
  // The same for bar.warp.sync, once for each set of lanes that named one another; they need not be
  // at the same instruction.
  virtual void OnWarpBarrier(WarpView& warp, uint32_t lanes) {}
  // cp.async.commit_group, .wait_group, .mbarrier.arrive: Instruction::variant is an AsyncOp. Only
  // the last of them has addresses.
  virtual void OnAsyncGroup(WarpView& warp, const MemoryAccess& access) {}
  // mbarrier.test_wait or try_wait found the phase ended for the lanes of `access.mask`.
  virtual void OnMbarrierEnded(WarpView& warp, const MemoryAccess& access) {}
  // barrier.cluster: lanes arrived at it in phase `phase` of the cluster, or found that phase
  // ended.
  virtual void OnClusterArrive(WarpView& warp, const Instruction& instruction, uint32_t mask,
                               uint32_t phase) {}
  virtual void OnClusterEnded(WarpView& warp, uint32_t mask, uint32_t phase) {}
  virtual void OnExit(WarpView& warp, uint32_t mask) {}
};

}  // namespace kernelsmith::vgpu
