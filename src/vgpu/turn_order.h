// Schedules: the orders in which blocks, warps and the lanes of an atomic take their turns. 0 is
// ascending, 1 descending (the order that differs most), every other number an order of its own, in
// which warps and blocks also take turns within loops that use atomics. All of them are orders that
// a GPU might take.
#pragma once

#include <cstdint>
#include <numeric>

namespace kernelsmith::vgpu {

// Steps of splitmix64: neighbouring schedules have nothing in common.
inline uint64_t MixSchedule(uint64_t schedule) {
  uint64_t x = schedule * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Whether warps and blocks interleave more finely than they would by themselves.
inline bool Interleaves(uint64_t schedule) { return schedule >= 2; }

// `count` things: i -> (i * step + first) mod count, which takes each once. Never the ascending
// order, except for schedule 0 or where there is only one thing.
struct TurnOrder {
  uint64_t count = 1;
  uint64_t step = 1;
  uint64_t first = 0;

  TurnOrder(uint64_t count, uint64_t schedule) : count(count) {
    if (schedule == 0 || count < 2) return;
    if (schedule == 1) {
      step = first = count - 1;
      return;
    }
    const uint64_t mixed = MixSchedule(schedule);
    step = static_cast<uint64_t>(static_cast<double>(count) * 0.618) + mixed % count;
    while (step % count == 0 || std::gcd(step, count) != 1) ++step;
    first = 1 + (mixed >> 32) % (count - 1);
  }
  uint64_t At(uint64_t i) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * step + first) % count);
  }
};

// The lane whose turn is the `turn`th of an atomic.
class LaneOrder {
 public:
  explicit LaneOrder(uint64_t schedule)
      : flip_(schedule == 0   ? 0
              : schedule == 1 ? 31
                              : 1 + static_cast<int>(MixSchedule(schedule) % 31)) {}
  int At(int turn) const { return turn ^ flip_; }

 private:
  int flip_;
};

}  // namespace kernelsmith::vgpu
