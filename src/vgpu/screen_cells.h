// The arithmetic of the screen's shadow cells: runs of cells that one instruction of a warp reads
// or writes. Compiled for several instruction sets of the host, like the handlers.
//
// A cell holds a stamp: who touched it last, and when. Stamps are handed out in runs of
// CellClock::stride, one run for each interval of a block between two barriers: `now + thread`.
#pragma once

#include <cstdint>

namespace kernelsmith::vgpu {

struct CellClock {
  uint32_t past = 0;       // stamps below are of earlier launches (blocks, in shared memory)
  uint32_t read_past = 0;  // the same for what may be read: 0 where the past may be undefined
  uint32_t first = 0;      // the stamp of the block's first interval
  uint32_t now = 0;        // the stamp of its present interval
  uint32_t stride = 0;     // a power of two, more than the block's threads and the stamps below
  uint32_t launch = 0;     // the stamp of a run that belongs to no block

  uint32_t several() const { return now + stride - 1; }  // several threads read in this interval
  uint32_t atomics() const { return now + stride - 2; }  // atomics in this interval
  uint32_t everybody() const { return launch + stride - 1; }  // the same, of several blocks
  uint32_t all_atomics() const { return launch + stride - 2; }
  // By `me`, or ordered before what it does now. One test for all: program order, barriers, and
  // that blocks are not ordered among each other.
  bool Past(uint32_t stamp, uint32_t me, uint32_t before) const {
    return stamp == me || stamp < before || stamp - first < now - first;
  }
  // What a cell of readers becomes when `me` reads.
  uint32_t Reader(uint32_t stamp, uint32_t me) const {
    if (Past(stamp, me, past)) return me;
    return stamp - now < stride ? several() : everybody();
  }
  bool IsAtomic(uint32_t stamp) const { return (stamp & (stride - 1)) == stride - 2; }

  static constexpr uint32_t kMost = 0xf0000000;  // stamps stay below
};

// `count` cells from `writes` and `reads` on; every thread has 1 << per_lane of them, the first is
// `me`. False: something is not in order. Read cells are brought up to date in any case.
struct CellCode {
  // Does each thread come back to what it wrote itself in this interval or, if it `reads`, to what
  // it has read? Then there is nothing new to see: whoever came between, unordered, was caught.
  bool (*known)(const uint32_t* writes, const uint32_t* reads, uint32_t count, uint32_t per_lane,
                uint32_t me, bool reading) = nullptr;
  bool (*read)(uint32_t* writes, uint32_t* reads, uint32_t count, uint32_t per_lane, uint32_t me,
               const CellClock& clock) = nullptr;
  bool (*write)(uint32_t* writes, const uint32_t* reads, uint32_t count, uint32_t per_lane,
                uint32_t me, const CellClock& clock) = nullptr;
};

namespace isa_base {
extern const CellCode kCellCode;
}
#if defined(__x86_64__)
namespace isa_avx2 {
extern const CellCode kCellCode;
}
namespace isa_avx512 {
extern const CellCode kCellCode;
}
#endif

}  // namespace kernelsmith::vgpu
