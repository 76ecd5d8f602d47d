// Which bytes of global memory were given a value, and who stored undefined ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "checkers/finding.h"

namespace kernelsmith::checkers {

// Where undefined bits came from.
struct Origin {
  Place place;
  Space space = Space::kNone;  // kNone: a register
  bool shuffle = false;        // a shuffle read a lane that does not take part
};
using OriginPtr = std::shared_ptr<const Origin>;

struct ShadowFreer {
  uint64_t bytes = 0;
  void operator()(uint8_t* start) const;
};

// Global memory that began without a value. The shadow (1: defined) comes as zero pages that cost
// nothing until touched.
struct Region {
  uint64_t start = 0;
  uint64_t size = 0;
  std::unique_ptr<uint8_t, ShadowFreer> defined;
  bool all_defined = false;  // for sure

  bool Contains(uint64_t address, uint64_t bytes) const {
    return address - start < size && size - (address - start) >= bytes;
  }
  uint8_t* At(uint64_t address) { return defined.get() + (address - start); }
};

class DefinedMemory {
 public:
  void Add(uint64_t start, uint64_t size);
  void Remove(uint64_t start);
  // The region that holds all these bytes; null: none, they count as defined.
  Region* Find(uint64_t address, uint64_t bytes) {
    if (last_ != nullptr && last_->Contains(address, bytes)) return last_;
    return FindSlowly(address, bytes);
  }
  void SetDefined(uint64_t address, uint64_t bytes);
  // The shadow of the region that begins there; null: there is none, or all of it is defined.
  const uint8_t* Shadow(uint64_t start);
  // Moves shadow and origins along with the bytes.
  void Copy(Region& target, uint64_t to, Region& source, uint64_t from, uint64_t bytes);

  // Undefined bytes that kernels stored, by address of the store.
  void SetOrigin(uint64_t address, OriginPtr origin) { stored_[address] = std::move(origin); }
  void ForgetOrigins(uint64_t address, uint64_t bytes);
  // The place of a store into [address, address + bytes); null: none.
  OriginPtr OriginIn(uint64_t address, uint64_t bytes) const;
  // The place of the store that put the byte at `address` there.
  OriginPtr OriginOf(uint64_t address) const;

 private:
  Region* FindSlowly(uint64_t address, uint64_t bytes);

  std::map<uint64_t, Region> regions_;
  Region* last_ = nullptr;
  std::map<uint64_t, OriginPtr> stored_;
};

}  // namespace kernelsmith::checkers
