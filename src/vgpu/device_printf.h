// printf of kernels: the format and the arguments lie in device memory.
#pragma once

#include <cstdint>
#include <string>

namespace kernelsmith::vgpu {

class PrintfMemory {
 public:
  virtual ~PrintfMemory() = default;
  // False if the bytes at the generic address are not accessible.
  virtual bool Read(uint64_t address, void* to, uint64_t bytes) = 0;
};

struct PrintfResult {
  std::string text;
  int arguments = 0;  // what printf returns in a kernel: the number of arguments; -1 for no format
};

// Arguments are packed at their natural alignment, floats as doubles, as nvcc does for vprintf.
// Follows the host's printf in flags, width, precision (also '*') and length modifiers; %n and
// unknown conversions are printed as they are.
PrintfResult FormatDevicePrintf(PrintfMemory& memory, uint64_t format, uint64_t arguments);

// The string at `address`, cut at kMaxDeviceString; "(null)" for 0 and "(invalid)" where nothing is
// readable.
inline constexpr uint64_t kMaxDeviceString = 1 << 16;
std::string ReadDeviceString(PrintfMemory& memory, uint64_t address,
                             uint64_t limit = kMaxDeviceString);

}  // namespace kernelsmith::vgpu
