// What happens before what in a launch, thread by thread.
//
// Lanes of a warp are threads like any others. Order comes from: the thread's own program; block
// barriers (bar.sync and its kin, with or without a thread count); bar.warp.sync among the lanes it
// names; and acquire/release. Shuffles, votes, matches and mma bring lanes together but order
// nothing.
//
// Release/acquire as in PTX's memory model: a release is a .release operation, or a fence and later
// a strong write or atomic by the same thread; an acquire is an .acquire operation, or a strong
// read and later a fence. A value carries what its writer released, atomics pass on what they
// found. Scopes narrower than the distance between the two threads order nothing. Two patterns go
// beyond the letter of the model because CUDA's own guide uses them and GPUs have always honoured
// them: a block barrier behind a strong read acquires for the whole block (the last-block
// reduction), and a fence of every thread followed by a barrier counts for the atomic that one
// thread then does.
//
// Clocks: one a block, moved by every synchronisation event. `full` is the clock of the last
// barrier of the whole block: what happened up to it is known to every thread, which is all that
// most kernels ever need. Everything else is kept for the threads that need it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "checkers/vector_clock.h"

namespace kernelsmith::checkers {

// Widths that matter here: one block, or more than that.
enum class SyncScope : uint8_t { kBlock, kDevice };

class LaunchOrder {
 public:
  struct Lane {
    VectorClock known;  // beyond what the block knows
    // What strong reads saw and no fence has made known yet, by the scope they can count for.
    std::array<VectorClock, 2> seen;
    // What the last fence of each scope made ready to be published.
    std::array<VectorClock, 2> ready;
  };
  struct Warp {
    uint32_t full = 0;  // clock of the last bar.warp.sync of all its lanes
    std::unique_ptr<std::array<Lane, 32>> lanes;
  };
  struct Barrier {
    std::vector<uint32_t> arrived;  // lanes of each warp
    std::vector<uint32_t> waiting;
    std::vector<std::pair<uint32_t, uint32_t>> clocks;  // (thread, clock) of arrivals
    bool only_sync = true;
  };
  struct Block {
    uint32_t number = 0;
    uint32_t now = 1;
    uint32_t full = 0;
    uint32_t stamp = 0;     // the shadow's stamp for (number, now); 0: none yet
    VectorClock known;      // what all its threads know of other blocks
    bool released = false;  // some thread has ready[]
    std::vector<Warp> warps;
    std::array<Barrier, 16> barriers;
  };

  explicit LaunchOrder(uint32_t threads_per_block) : threads_(threads_per_block) {}

  Block& BeginBlock(uint32_t number);
  void EndBlock(uint32_t number) { blocks_.erase(number); }
  Block& At(uint32_t number);

  // Does an access of `thread` of `block` at `clock` happen before what `reader` of `here` does
  // now?
  static bool Ordered(const Block& here, uint32_t reader, uint32_t block, uint32_t thread,
                      uint32_t clock);

  // Lanes of a warp arrive at a barrier; `waits`: they also wait for it.
  void Arrive(Block& block, uint32_t warp, uint32_t barrier, uint32_t lanes, bool waits);
  // `exited[w]`: lanes of each warp that no longer run; they count as arrived (PTX: exit).
  void Release(Block& block, uint32_t barrier, const std::vector<uint32_t>& live);
  // Lanes that named one another in bar.warp.sync; `live`: all that have not exited.
  void SyncLanes(Block& block, uint32_t warp, uint32_t lanes, uint32_t live);
  void Fence(Block& block, uint32_t warp, uint32_t lanes, SyncScope scope);

  // The parts of a strong access to the word at `key`. Shared memory has the block in its key.
  void StrongRead(Block& block, uint32_t thread, uint64_t key, SyncScope scope, bool acquire);
  void StrongWrite(Block& block, uint32_t thread, uint64_t key, SyncScope scope, bool release,
                   bool is_atomic);
  // barrier.cluster: what lanes publish by arriving (`release`: all they know; otherwise what they
  // made ready by fences), and what they learn when the phase has ended.
  void ClusterArrive(Block& block, uint32_t warp, uint32_t lanes, uint32_t cluster, uint32_t phase,
                     bool release);
  void ClusterEnded(Block& block, uint32_t warp, uint32_t lanes, uint32_t cluster, uint32_t phase);
  // All that threads of the block know of other blocks together.
  static VectorClock KnownOfOthers(const Block& block);
  // True while no thread ever released anything: strong accesses then order nothing.
  bool quiet() const { return words_.empty(); }

 private:
  // A word by which threads synchronise: what its present value carries.
  struct Word {
    VectorClock device;
    VectorClock block;  // released by threads of block `owner`, for any scope
    uint32_t owner = 0xffffffff;
  };

  static Lane& LaneOf(Block& block, uint32_t thread);
  static void Tick(Block& block) {
    ++block.now;
    block.stamp = 0;
  }
  VectorClock Snapshot(const Block& block, uint32_t thread) const;

  uint32_t threads_;
  std::map<uint32_t, Block> blocks_;
  Block* last_ = nullptr;
  std::unordered_map<uint64_t, Word> words_;
  std::map<std::pair<uint32_t, uint32_t>, VectorClock> phases_;  // by cluster and phase
};

}  // namespace kernelsmith::checkers
