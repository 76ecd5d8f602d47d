// What the checkers and the screen (screen.h) must know of each other.
#pragma once

#include <cstdint>
#include <span>

#include "vgpu/memory.h"

namespace kernelsmith::vgpu {

// What a screen looks for.
struct ScreenChecks {
  bool bad_accesses = false;
  bool initialisation = false;
  bool races = false;
  bool synchronisation = false;
  bool index = false;
};

// What a launch did to one allocation of global memory: the bytes between the first and the last
// that it read, and the same for what it wrote. Not all between need be among them.
struct ScreenFootprint {
  uint64_t read_begin = ~uint64_t{0};
  uint64_t read_end = 0;
  uint64_t write_begin = ~uint64_t{0};
  uint64_t write_end = 0;

  bool Reads(uint64_t begin, uint64_t end) const { return read_begin < end && begin < read_end; }
  bool Touches(uint64_t begin, uint64_t end) const {
    return Reads(begin, end) || Writes(begin, end);
  }
  bool Writes(uint64_t begin, uint64_t end) const { return write_begin < end && begin < write_end; }
};

// The checkers, as the screen sees them.
class ScreenSource {
 public:
  virtual ~ScreenSource() = default;
  // One byte, 0xff where a value was written, for each of the allocation; null: all were.
  virtual const uint8_t* DefinedBytes(const Allocation& allocation) = 0;
  // Is a launch that did this in order with all others, and with what the host does? Asked once the
  // launch itself is beyond suspicion. False: it may not be.
  virtual bool IsInOrder(std::span<const ScreenFootprint> touched) = 0;
  // Does it matter which parts of an allocation a launch only reads? That costs cells for them.
  virtual bool WantsExactReads() const = 0;
  // A launch that nothing is to be said about wrote there.
  virtual void OnScreenedWrite(uint64_t address, uint64_t bytes) = 0;
};

}  // namespace kernelsmith::vgpu
