#include "vgpu/screen_cells.h"

#include "vgpu/math/types.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

// With both numbers known the compiler makes straight vector code: whole warps, half ones (blocks
// 16 threads wide), and vectors of two and four words a lane.
template <uint32_t kCount, uint32_t kPerLane>
bool ReadFixed(uint32_t* __restrict writes, uint32_t* __restrict reads, uint32_t me,
               const CellClock& clock) {
  const uint32_t past = clock.past;
  const uint32_t read_past = clock.read_past;
  const uint32_t first = clock.first;
  const uint32_t now = clock.now;
  const uint32_t stride = clock.stride;
  const uint32_t before = now - first;
  const uint32_t several = clock.several();
  const uint32_t everybody = clock.everybody();
  uint32_t bad = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t mine = me + (i >> kPerLane);
    const uint32_t w = writes[i];
    const bool good = (w == mine) | (w < read_past) | (w - first < before);
    bad |= good ? 0u : 1u;
    const uint32_t r = reads[i];
    const bool old = (r == mine) | (r < past) | (r - first < before);
    const uint32_t many = r - now < stride ? several : everybody;
    reads[i] = old ? mine : many;
  }
  return bad == 0;
}

template <uint32_t kCount, uint32_t kPerLane>
bool WriteFixed(uint32_t* __restrict writes, const uint32_t* __restrict reads, uint32_t me,
                const CellClock& clock) {
  const uint32_t past = clock.past;
  const uint32_t first = clock.first;
  const uint32_t before = clock.now - first;
  uint32_t bad = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t mine = me + (i >> kPerLane);
    const uint32_t w = writes[i];
    const uint32_t r = reads[i];
    const bool good = ((w == mine) | (w < past) | (w - first < before)) &
                      ((r == mine) | (r < past) | (r - first < before));
    bad |= good ? 0u : 1u;
    writes[i] = mine;
  }
  return bad == 0;
}

template <uint32_t kCount, uint32_t kPerLane>
bool KnownFixed(const uint32_t* __restrict writes, const uint32_t* __restrict reads, uint32_t me,
                bool reading) {
  uint32_t other = 0;
  if (reading) {
    for (uint32_t i = 0; i < kCount; ++i) {
      const uint32_t mine = me + (i >> kPerLane);
      other |= ((writes[i] == mine) | (reads[i] == mine)) ? 0u : 1u;
    }
  } else {
    for (uint32_t i = 0; i < kCount; ++i) other |= writes[i] ^ (me + (i >> kPerLane));
  }
  return other == 0;
}

// Without a lock: a cell that another thread changes at the same time is not equal to `me`.
__attribute__((no_sanitize("thread"))) bool Known(const uint32_t* writes, const uint32_t* reads,
                                                  uint32_t count, uint32_t per_lane, uint32_t me,
                                                  bool reading) {
  // Most are not: the first tells.
  if (writes[0] != me && (!reading || reads[0] != me)) return false;
  if (per_lane == 0 && count == 32) return KnownFixed<32, 0>(writes, reads, me, reading);
  if (per_lane == 0 && count == 16) return KnownFixed<16, 0>(writes, reads, me, reading);
  if (per_lane == 1 && count == 64) return KnownFixed<64, 1>(writes, reads, me, reading);
  if (per_lane == 2 && count == 128) return KnownFixed<128, 2>(writes, reads, me, reading);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t mine = me + (i >> per_lane);
    if (writes[i] != mine && (!reading || reads[i] != mine)) return false;
  }
  return true;
}

bool Read(uint32_t* writes, uint32_t* reads, uint32_t count, uint32_t per_lane, uint32_t me,
          const CellClock& clock) {
  if (per_lane == 0 && count == 32) return ReadFixed<32, 0>(writes, reads, me, clock);
  if (per_lane == 0 && count == 16) return ReadFixed<16, 0>(writes, reads, me, clock);
  if (per_lane == 1 && count == 64) return ReadFixed<64, 1>(writes, reads, me, clock);
  if (per_lane == 2 && count == 128) return ReadFixed<128, 2>(writes, reads, me, clock);
  bool good = true;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t mine = me + (i >> per_lane);
    good &= clock.Past(writes[i], mine, clock.read_past);
    reads[i] = clock.Reader(reads[i], mine);
  }
  return good;
}

bool Write(uint32_t* writes, const uint32_t* reads, uint32_t count, uint32_t per_lane, uint32_t me,
           const CellClock& clock) {
  if (per_lane == 0 && count == 32) return WriteFixed<32, 0>(writes, reads, me, clock);
  if (per_lane == 0 && count == 16) return WriteFixed<16, 0>(writes, reads, me, clock);
  if (per_lane == 1 && count == 64) return WriteFixed<64, 1>(writes, reads, me, clock);
  if (per_lane == 2 && count == 128) return WriteFixed<128, 2>(writes, reads, me, clock);
  bool good = true;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t mine = me + (i >> per_lane);
    good &= clock.Past(writes[i], mine, clock.past) && clock.Past(reads[i], mine, clock.past);
    writes[i] = mine;
  }
  return good;
}

}  // namespace

const CellCode kCellCode{.known = Known, .read = Read, .write = Write};

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
