// The screen: a cheap look at a launch whose checkers need not see every access.
//
// A screened launch runs as compiled code (or in the interpreter, while that is cheaper). The
// screen is exact in one direction: as long as it stays silent, no checker would have reported
// anything. Where it is suspicious the launch stops, memory gets back what it held before, and the
// launch runs again in the interpreter under the checkers themselves. So reports come from one
// place.
//
// What it looks at:
// - accesses outside allocations, misaligned or to read-only memory: the engine refuses them;
// - races: shadow cells of shared and global memory remember the last writer and the readers by
//   stamps (screen_cells.h). Only program order and barriers of the whole block order accesses;
//   what needs more (fences and flags, __syncwarp, named barriers) is suspicious;
// - initialisation: shared memory that was not written in this block, global memory that neither
//   the checkers nor this launch's cells know as written, local memory;
// - barriers that not all threads of the block reach at one instruction, masks of shuffles;
// - 32-bit index arithmetic that wraps.
//
// Global allocations that a launch only reads need no cells: they are just marked as read, and the
// first write to one starts the launch again, with cells for it. Written ones are *watched*: they
// have cells and a copy, made piece by piece before the first write.
//
// What a launch read and wrote goes to the checkers as a footprint for each allocation, so that
// they can tell whether launches and copies that nothing orders meet in memory.
//
// Each thread of the engine has a ScreenThread; the screen itself is shared.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "vgpu/jit/abi.h"
#include "vgpu/memory.h"
#include "vgpu/observer.h"
#include "vgpu/screen_cells.h"
#include "vgpu/screen_source.h"

namespace kernelsmith::vgpu {

struct Block;
struct LaunchState;
struct Warp;

class ScreenThread;

class Screen {
 public:
  using Checks = ScreenChecks;

  Screen(ScreenSource& source, const Checks& checks);
  ~Screen();

  const Checks& checks() const { return checks_; }

  // Can the screen judge this launch at all? It says why not.
  bool Accepts(const LaunchState& launch, std::string* why) const;

  // A launch. After Begin, each thread that runs blocks has a ScreenThread. Then Commit, or Undo,
  // after which `again` says whether another attempt can see more.
  void Begin(const LaunchState& launch, bool concurrent);
  ScreenThread* NewThread();
  // Nothing was suspicious, neither in the launch nor beside others.
  bool IsSilent();
  void Commit();
  bool Undo();

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  const std::string& why() const { return why_; }
  uint32_t shift() const { return shift_; }
  void Suspect(const char* why);

  // Forgets an allocation.
  void OnFree(uint64_t address);

 private:
  friend class ScreenThread;
  struct Region;

  // Memory of the system, which costs more to get than the screen's work on it: what is not needed
  // any more is kept for the next. Cells need no clearing, for their stamps are of the past.
  struct Mapping {
    void* start = nullptr;
    size_t bytes = 0;
  };
  using Pool = std::vector<Mapping>;
  bool Reserve(Pool& pool, Mapping& mapping, size_t bytes);
  void Release(Pool& pool, Mapping& mapping);
  void Release(Region& region);

  // Stamps that a thread takes at once: some thousand intervals of most blocks.
  static constexpr uint32_t kStampShare = 1u << 18;
  // Cells behind one lock.
  static constexpr size_t kLineCells = 128;
  // Copies are made in pieces of so many bytes.
  static constexpr uint64_t kPieceBytes = uint64_t{1} << 16;

  // An allocation in the launch that is screened.
  struct Region {
    Allocation allocation;
    uint64_t base = 0;  // address of cell 0
    uint64_t session = 0;
    uint32_t number = 0;  // in this launch
    bool read = false;    // accesses that left no trace have read it
    bool watched = false;
    bool all_defined = true;
    const uint8_t* defined = nullptr;
    uint32_t shift = 2;  // log2 of the bytes of a cell
    uint32_t* writes = nullptr;
    uint32_t* reads = nullptr;
    Mapping cells;
    Mapping copy;
    std::unique_ptr<std::atomic<uint8_t>[]> saved;  // whether each piece is saved
    size_t pieces = 0;

    size_t CellOf(uint64_t address) const { return (address - base) >> shift; }
  };

  // The region that holds [address, address + bytes), ready for the access; null: there is none, or
  // the launch is over.
  Region* Find(uint64_t address, uint64_t bytes, bool write);
  void Watch(Region& region);
  std::vector<ScreenFootprint> Touched() const;
  void PutBack(Region& region);
  void Save(Region& region, uint64_t piece);
  uint32_t NewStamps(uint32_t count);  // 0: there are none left
  void Again(const char* why);
  static size_t LockOf(const Region& region, size_t line);
  void Lock(const Region& region, size_t line);
  void Unlock(const Region& region, size_t line);

  ScreenSource& source_;
  const Checks checks_;
  const CellCode* cells_ = nullptr;  // of this launch

  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Region>> regions_;  // regions by their address
  Pool spare_cells_;
  Pool spare_copies_;
  size_t spare_bytes_ = 0;
  std::set<std::pair<const Kernel*, uint64_t>> watched_;  // and allocation: from the beginning
  std::map<const Kernel*, int> suspicious_;               // launches in a row
  std::set<const Kernel*> bytewise_;                      // their cells are bytes
  std::atomic<uint64_t> next_stamp_;

  // The launch.
  uint64_t session_ = 0;
  const LaunchState* launch_ = nullptr;
  bool concurrent_ = false;
  uint32_t stride_ = 0;
  uint32_t shift_ = 2;
  uint32_t past_ = 0;
  uint32_t region_count_ = 0;
  bool exact_reads_ = false;
  bool beside_others_ = false;  // it is suspicious because of others alone
  uint32_t launch_stamps_ = 0;
  bool again_ = false;
  std::atomic<bool> stopped_{false};
  std::string why_;
  std::vector<std::unique_ptr<ScreenThread>> threads_;
  static constexpr size_t kLocks = 1024;
  static constexpr size_t kLockBytes = 64;  // threads must not meet in a cache line
  std::unique_ptr<std::atomic<uint8_t>[]> locks_;
};

// What the screen knows of a block that runs.
struct ScreenBlock {
  struct Arrivals {
    const Instruction* instruction = nullptr;
    std::vector<uint32_t> lanes;  // lanes of each warp
  };
  std::vector<uint32_t> writes;  // cells of shared memory
  std::vector<uint32_t> reads;
  uint32_t shift = 2;
  uint32_t next_stamp = 0;
  CellClock shared;
  jit::ScreenView view;  // the view of `shared` for compiled code
  CellClock global;
  bool stale = true;  // `global` is of an interval before this one
  bool begun = false;
  std::array<Arrivals, 16> barriers;
};

class ScreenThread final : public Observer {
  friend class Screen;

 public:
  ScreenThread(Screen& screen, const LaunchState& launch);

  uint32_t interests() const override { return interests_; }
  bool stopped() const { return screen_.stopped(); }
  uint32_t shift() const { return screen_.shift(); }

  void BeginBlock(Block& block);
  // A barrier of the whole block, which all threads reached at one instruction.
  void NextInterval(Block& block);
  void Suspect(const char* why) { screen_.Suspect(why); }

  // -- compiled code
  // For the sites of memory instructions: what to give AccessRow for an access in the allocation
  // around [address, address + bytes); null: nothing. False: the launch is over.
  bool FindSite(uint64_t address, uint64_t bytes, bool write, void** region);
  // `lanes` lanes from `first_lane` on, `stride` bytes apart; null: shared memory.
  bool AccessRow(Warp& warp, void* region, uint64_t address, int64_t stride, uint32_t first_lane,
                 uint32_t lanes, uint32_t bytes, bool write);
  bool AccessLanes(Warp& warp, void* region, const uint64_t* address, uint32_t mask, uint32_t bytes,
                   AccessKind kind);

  // -- the interpreter
  bool OnMemoryAccess(WarpView& warp, const MemoryAccess& access) override;
  bool OnBadAccess(WarpView& warp, const MemoryAccess& access, uint32_t bad,
                   BadAccess why) override;
  void OnIndexArithmetic(WarpView& warp, const Instruction& in, uint32_t mask) override;
  void OnBarrier(WarpView& warp, const BarrierEvent& event) override;
  void OnWarpSync(WarpView& warp, const Instruction& in, uint32_t mask) override;
  // A barrier was released; engine.
  void OnReleased(Block& block, uint32_t barrier);

 private:
  using Region = Screen::Region;

  static void Show(ScreenBlock& block);

  bool BeginInterval(ScreenBlock& block);
  bool Cells(Region* region, ScreenBlock& block, size_t first, size_t count, uint32_t per_lane,
             uint32_t me, bool write);
  bool Lane(Region* region, ScreenBlock& block, uint64_t address, uint32_t me, uint32_t bytes,
            AccessKind kind);
  void Note(const Region& region, uint64_t begin, uint64_t end, bool write);
  bool LocalLane(WarpView& warp, int lane, uint64_t address, uint32_t bytes, bool write);
  void SaveBefore(Region& region, uint64_t address, uint64_t bytes);

  Screen& screen_;
  const LaunchState& launch_;
  uint32_t interests_ = 0;
  uint32_t next_stamp_ = 0;  // the next stamp of this thread's share
  uint32_t end_stamp_ = 0;
  std::array<Region*, 2> recent_{};       // read, written
  std::vector<ScreenFootprint> touched_;  // what this thread did to watched regions, by number
};

}  // namespace kernelsmith::vgpu
