// What the checkers and the screen (screen.h) must know of each other.
#pragma once

#include <cstdint>

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

// The checkers, as the screen sees them.
class ScreenSource {
 public:
  virtual ~ScreenSource() = default;
  // One byte, 0xff where a value was written, for each of the allocation; null: all were.
  virtual const uint8_t* DefinedBytes(const Allocation& allocation) = 0;
  // A launch that nothing is to be said about wrote there.
  virtual void OnScreenedWrite(uint64_t address, uint64_t bytes) = 0;
};

}  // namespace kernelsmith::vgpu
