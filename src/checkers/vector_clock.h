// What a thread knows of the past of other blocks and threads: a vector clock of a launch.
//
// Clocks count the synchronisation events of a block; an access at clock c of thread t is known
// when the clock known of t is at least c. A launch may have millions of threads of which few ever
// synchronise other than by block barriers, so the vector is a tree over the blocks whose parts are
// shared between versions: taking a copy is free, and joining two versions costs what differs.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace kernelsmith::checkers {

class VectorClock {
 public:
  VectorClock() = default;
  // All threads of `block` up to the clock `all`, and the thread itself up to `own`.
  static VectorClock Of(uint32_t block, uint32_t all, uint32_t thread, uint32_t own);
  // Each of `threads` (ascending) up to its clock.
  static VectorClock Of(uint32_t block, uint32_t all,
                        std::vector<std::pair<uint32_t, uint32_t>> threads);

  bool empty() const { return root_ == nullptr; }
  uint32_t ClockOf(uint32_t block, uint32_t thread) const;
  void Join(const VectorClock& other);
  void Clear() { root_ = nullptr; }

 private:
  struct Node;
  using NodePtr = std::shared_ptr<const Node>;
  static NodePtr JoinNodes(const NodePtr& a, const NodePtr& b, int level);
  NodePtr root_;
};

}  // namespace kernelsmith::checkers
