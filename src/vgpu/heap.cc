#include "vgpu/heap.h"

namespace kernelsmith::vgpu {

namespace {
// What malloc promises to align to, and the unit of sizes.
constexpr uint64_t kUnit = 16;
}  // namespace

uint64_t DeviceHeap::Allocate(uint64_t size) {
  std::lock_guard lock(mutex_);
  if (size > limit_) return 0;
  if (arena_ == 0) {
    auto arena = memory_.Allocate(limit_, AllocationKind::kHeap, "the heap of device malloc");
    if (!arena.ok()) return 0;
    arena_ = *arena;
    free_[arena_] = limit_ / kUnit * kUnit;
  }
  const uint64_t bytes = size == 0 ? kUnit : (size + kUnit - 1) / kUnit * kUnit;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const uint64_t address = it->first;
    const uint64_t rest = it->second - bytes;
    free_.erase(it);
    if (rest > 0) free_[address + bytes] = rest;
    used_[address] = bytes;
    asked_[address] = size;
    return address;
  }
  return 0;
}

bool DeviceHeap::Free(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto block = used_.find(address);
  if (block == used_.end()) return false;
  uint64_t start = address;
  uint64_t bytes = block->second;
  used_.erase(block);
  asked_.erase(address);
  auto next = free_.lower_bound(start);
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == start) {
      start = previous->first;
      bytes += previous->second;
      free_.erase(previous);
    }
  }
  if (next != free_.end() && start + bytes == next->first) {
    bytes += next->second;
    free_.erase(next);
  }
  free_[start] = bytes;
  return true;
}

bool DeviceHeap::SetLimit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (arena_ != 0) return bytes == limit_;
  limit_ = bytes;
  return true;
}

uint64_t DeviceHeap::SizeOf(uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto it = used_.find(address);
  return it == used_.end() ? 0 : it->second;
}

std::pair<uint64_t, uint64_t> DeviceHeap::BlockAt(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto it = asked_.upper_bound(address);
  if (it == asked_.begin()) return {0, 0};
  --it;
  if (address - it->first >= it->second) return {0, 0};
  return *it;
}

uint64_t DeviceHeap::blocks_in_use() const {
  std::lock_guard lock(mutex_);
  return used_.size();
}

}  // namespace kernelsmith::vgpu
