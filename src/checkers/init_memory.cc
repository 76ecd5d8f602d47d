#include "checkers/init_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace kernelsmith::checkers {

namespace {

// The widest store: a 128-bit vector. What lies further behind a store's address is not its.
constexpr uint64_t kWidestStore = 16;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

}  // namespace

void ShadowFreer::operator()(uint8_t* start) const { ::munmap(start, bytes); }

const uint8_t* DefinedMemory::Shadow(uint64_t start) {
  const auto it = regions_.find(start);
  if (it == regions_.end()) return nullptr;
  Region& region = it->second;
  if (region.all_defined) return nullptr;
  // Looked for once: most memory is defined early and stays so.
  constexpr uint64_t kPiece = 4096;  // one look at the result each
  for (uint64_t at = 0; at < region.size; at += kPiece) {
    const uint64_t end = std::min(region.size, at + kPiece);
    uint8_t all = 0xff;
    for (uint64_t i = at; i < end; ++i) all &= region.defined.get()[i];
    if (all != 0xff) return region.defined.get();
  }
  region.all_defined = true;
  return nullptr;
}

void DefinedMemory::Add(uint64_t start, uint64_t size) {
  Remove(start);
  if (size == 0) return;
  void* made = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return;  // too large to watch
  if (size > kHugePage) ::madvise(made, size, MADV_HUGEPAGE);
  Region region{.start = start, .size = size, .defined = {}};
  region.defined = {static_cast<uint8_t*>(made), ShadowFreer{size}};
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
  target.all_defined = false;
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
