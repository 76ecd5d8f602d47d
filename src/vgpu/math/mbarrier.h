// The mbarrier object: a 64-bit word in shared memory that counts arrivals and transaction bytes.
// PTX leaves its layout open; every operation is a pure function of the word, so that the engine
// can apply it with one compare-and-swap.
//
// bits 0 to 19   arrivals still missing in this phase
// bits 20 to 39  arrivals that a phase needs
// bits 40 to 62  transaction bytes still to come, two's complement
// bit 63         the parity of the phase
#pragma once

#include "vgpu/math/types.h"

namespace kernelsmith::vgpu::math {
inline namespace KS_MATH_ISA {

struct Mbarrier {
  static constexpr uint32_t kMaxCount = (1u << 20) - 1;

  uint32_t pending = 0;
  uint32_t expected = 0;
  int32_t bytes = 0;
  bool phase = false;

  static constexpr Mbarrier From(uint64_t word) {
    return {.pending = static_cast<uint32_t>(word) & kMaxCount,
            .expected = static_cast<uint32_t>(word >> 20) & kMaxCount,
            .bytes = static_cast<int32_t>(static_cast<int64_t>(word << 1) >> 41),
            .phase = (word >> 63) != 0};
  }
  constexpr uint64_t Word() const {
    return uint64_t{pending & kMaxCount} | uint64_t{expected & kMaxCount} << 20 |
           (static_cast<uint64_t>(bytes) & 0x7fffff) << 40 | uint64_t{phase} << 63;
  }
  // The phase ends when nothing is missing any more; the next one begins at once.
  constexpr Mbarrier Settled() const {
    if (pending != 0 || bytes != 0) return *this;
    return {.pending = expected, .expected = expected, .bytes = 0, .phase = !phase};
  }
};

constexpr uint64_t MbarrierInit(uint32_t count) {
  return Mbarrier{.pending = count & Mbarrier::kMaxCount, .expected = count & Mbarrier::kMaxCount}
      .Word();
}

// mbarrier.arrive{.expect_tx}, and with `drop` mbarrier.arrive_drop: the thread takes part no more.
// More arrivals than are missing is an error of the program; the count then stops at zero.
constexpr uint64_t MbarrierArrive(uint64_t word, uint32_t count, uint32_t expect_bytes, bool drop) {
  Mbarrier barrier = Mbarrier::From(word);
  barrier.bytes += static_cast<int32_t>(expect_bytes);
  if (drop) barrier.expected -= count < barrier.expected ? count : barrier.expected;
  barrier.pending -= count < barrier.pending ? count : barrier.pending;
  return barrier.Settled().Word();
}

// mbarrier.expect_tx
constexpr uint64_t MbarrierExpect(uint64_t word, uint32_t bytes) {
  Mbarrier barrier = Mbarrier::From(word);
  barrier.bytes += static_cast<int32_t>(bytes);
  return barrier.Word();
}

// mbarrier.complete_tx, and what an asynchronous copy does when its bytes have arrived.
constexpr uint64_t MbarrierComplete(uint64_t word, uint32_t bytes) {
  Mbarrier barrier = Mbarrier::From(word);
  barrier.bytes -= static_cast<int32_t>(bytes);
  return barrier.Settled().Word();
}

// test_wait and try_wait: has the phase of `state` (the word that an arrive returned) ended?
constexpr bool MbarrierEnded(uint64_t word, uint64_t state) { return (word ^ state) >> 63 != 0; }
// With .parity: has the latest phase of that parity ended?
constexpr bool MbarrierParityEnded(uint64_t word, uint32_t parity) {
  return (word >> 63) != (parity & 1);
}
constexpr uint32_t MbarrierPending(uint64_t state) { return Mbarrier::From(state).pending; }

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
