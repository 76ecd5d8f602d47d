#include "checkers/init_memory.h"

#include <cstring>
#include <vector>

namespace kernelsmith::checkers {

namespace {

// The widest store: a 128-bit vector. What lies further behind a store's address is not its.
constexpr uint64_t kWidestStore = 16;

}  // namespace

void DefinedMemory::Add(uint64_t start, uint64_t size) {
  Remove(start);
  if (size == 0) return;
  Region region{.start = start, .size = size, .defined = {}};
  region.defined.reset(static_cast<uint8_t*>(std::calloc(size, 1)));
  if (region.defined == nullptr) return;  // too large to watch
  regions_[start] = std::move(region);
  last_ = nullptr;
}

void DefinedMemory::Remove(uint64_t start) {
  const auto it = regions_.find(start);
  if (it == regions_.end()) return;
  ForgetOrigins(start, it->second.size);
  regions_.erase(it);
  last_ = nullptr;
}

Region* DefinedMemory::FindSlowly(uint64_t address, uint64_t bytes) {
  const auto it = regions_.upper_bound(address);
  if (it == regions_.begin()) return nullptr;
  Region& region = std::prev(it)->second;
  if (!region.Contains(address, bytes)) return nullptr;
  last_ = &region;
  return last_;
}

void DefinedMemory::SetDefined(uint64_t address, uint64_t bytes) {
  if (Region* region = Find(address, bytes)) std::memset(region->At(address), 0xff, bytes);
}

void DefinedMemory::Copy(Region& target, uint64_t to, Region& source, uint64_t from,
                         uint64_t bytes) {
  std::memmove(target.At(to), source.At(from), bytes);
  std::vector<std::pair<uint64_t, OriginPtr>> copied;
  for (auto it = stored_.lower_bound(from); it != stored_.end() && it->first < from + bytes; ++it) {
    copied.emplace_back(it->first - from + to, it->second);
  }
  for (auto& [address, origin] : copied) stored_[address] = std::move(origin);
}

void DefinedMemory::ForgetOrigins(uint64_t address, uint64_t bytes) {
  if (stored_.empty()) return;
  stored_.erase(stored_.lower_bound(address), stored_.lower_bound(address + bytes));
}

OriginPtr DefinedMemory::OriginIn(uint64_t address, uint64_t bytes) const {
  const auto it = stored_.lower_bound(address);
  return it != stored_.end() && it->first < address + bytes ? it->second : nullptr;
}

OriginPtr DefinedMemory::OriginOf(uint64_t address) const {
  const auto it = stored_.upper_bound(address);
  if (it == stored_.begin()) return nullptr;
  const auto& [start, origin] = *std::prev(it);
  return start + kWidestStore > address ? origin : nullptr;
}

}  // namespace kernelsmith::checkers
