// The heap of device malloc and free: one arena in device memory, its bookkeeping outside, so that
// a kernel that writes beyond a block can't break it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "vgpu/memory.h"

namespace kernelsmith::vgpu {

// Thread-safe.
class DeviceHeap {
 public:
  // The arena is allocated at the first Allocate.
  DeviceHeap(DeviceMemory& memory, uint64_t bytes) : memory_(memory), limit_(bytes) {}

  // 0 when there is no room, as malloc in a kernel.
  uint64_t Allocate(uint64_t size);
  // False: `address` is no block that is in use.
  bool Free(uint64_t address);
  // Takes effect while nothing is allocated; false otherwise.
  bool SetLimit(uint64_t bytes);
  uint64_t limit() const { return limit_; }
  // Size of the block in use that starts at `address`; 0 if there is none.
  uint64_t SizeOf(uint64_t address) const;
  uint64_t blocks_in_use() const;
  // Start of the block in use that contains `address`, and how many bytes were asked for; {0, 0} if
  // there is none.
  std::pair<uint64_t, uint64_t> BlockAt(uint64_t address) const;

 private:
  DeviceMemory& memory_;
  mutable std::mutex mutex_;
  uint64_t limit_;
  uint64_t arena_ = 0;
  std::map<uint64_t, uint64_t> used_;   // address -> bytes
  std::map<uint64_t, uint64_t> asked_;  // address -> bytes as asked for, of those in use
  std::map<uint64_t, uint64_t> free_;   // address -> bytes, merged
};

}  // namespace kernelsmith::vgpu
