#include "checkers/vector_clock.h"

#include <algorithm>

namespace kernelsmith::checkers {

namespace {

constexpr int kBitsPerLevel = 4;
constexpr int kLevels = 32 / kBitsPerLevel;  // inner nodes; level 0 holds a block's clocks

uint32_t SlotOf(uint32_t block, int level) {
  return block >> (kBitsPerLevel * (level - 1)) & ((1u << kBitsPerLevel) - 1);
}

}  // namespace

struct VectorClock::Node {
  // Inner nodes: present slots in ascending order. Few blocks are known in most launches.
  std::vector<std::pair<uint32_t, NodePtr>> children;
  // Only in nodes of level 0.
  uint32_t all = 0;
  std::vector<std::pair<uint32_t, uint32_t>> threads;  // (thread, clock above `all`), ascending
};

VectorClock VectorClock::Of(uint32_t block, uint32_t all,
                            std::vector<std::pair<uint32_t, uint32_t>> threads) {
  auto leaf = std::make_shared<Node>();
  leaf->all = all;
  std::erase_if(threads, [&](const auto& entry) { return entry.second <= all; });
  leaf->threads = std::move(threads);
  NodePtr node = std::move(leaf);
  for (int level = 1; level <= kLevels; ++level) {
    auto parent = std::make_shared<Node>();
    parent->children.emplace_back(SlotOf(block, level), std::move(node));
    node = std::move(parent);
  }
  VectorClock result;
  result.root_ = std::move(node);
  return result;
}

VectorClock VectorClock::Of(uint32_t block, uint32_t all, uint32_t thread, uint32_t own) {
  return Of(block, all, {{thread, own}});
}

uint32_t VectorClock::ClockOf(uint32_t block, uint32_t thread) const {
  const Node* node = root_.get();
  for (int level = kLevels; level > 0 && node != nullptr; --level) {
    const uint32_t slot = SlotOf(block, level);
    const auto it = std::lower_bound(node->children.begin(), node->children.end(), slot,
                                     [](const auto& a, uint32_t b) { return a.first < b; });
    node = it != node->children.end() && it->first == slot ? it->second.get() : nullptr;
  }
  if (node == nullptr) return 0;
  const auto it = std::lower_bound(node->threads.begin(), node->threads.end(), thread,
                                   [](const auto& a, uint32_t b) { return a.first < b; });
  return it != node->threads.end() && it->first == thread ? it->second : node->all;
}

// Gives back `a` or `b` itself where it says all: later joins then end at once.
VectorClock::NodePtr VectorClock::JoinNodes(const NodePtr& a, const NodePtr& b, int level) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  auto joined = std::make_shared<Node>();
  bool is_a = true;
  bool is_b = true;
  if (level == 0) {
    joined->all = std::max(a->all, b->all);
    auto x = a->threads.begin();
    auto y = b->threads.begin();
    while (x != a->threads.end() || y != b->threads.end()) {
      std::pair<uint32_t, uint32_t> entry;
      if (y == b->threads.end() || (x != a->threads.end() && x->first < y->first)) {
        entry = *x++;
      } else if (x == a->threads.end() || y->first < x->first) {
        entry = *y++;
      } else {
        entry = {x->first, std::max(x->second, y->second)};
        ++x;
        ++y;
      }
      if (entry.second > joined->all) joined->threads.push_back(entry);
    }
    is_a = joined->all == a->all && joined->threads == a->threads;
    is_b = joined->all == b->all && joined->threads == b->threads;
  } else {
    auto x = a->children.begin();
    auto y = b->children.begin();
    while (x != a->children.end() || y != b->children.end()) {
      if (y == b->children.end() || (x != a->children.end() && x->first < y->first)) {
        joined->children.push_back(*x++);
        is_b = false;
      } else if (x == a->children.end() || y->first < x->first) {
        joined->children.push_back(*y++);
        is_a = false;
      } else {
        NodePtr child = JoinNodes(x->second, y->second, level - 1);
        is_a = is_a && child == x->second;
        is_b = is_b && child == y->second;
        joined->children.emplace_back(x->first, std::move(child));
        ++x;
        ++y;
      }
    }
  }
  return is_a ? a : is_b ? b : joined;
}

void VectorClock::Join(const VectorClock& other) { root_ = JoinNodes(root_, other.root_, kLevels); }

}  // namespace kernelsmith::checkers
