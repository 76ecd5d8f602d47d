// A generated kernel: lines of PTX that can be taken out one unit at a time, the data it reads, and
// how it is launched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpu/fault.h"

namespace kernelsmith::fuzz {

// Lines of one unit only make sense together: an address and its access, a loop's counter and its
// branch. Units can be taken out in any combination; what is left still ends.
struct Line {
  std::string text;
  int unit = kStays;

  static constexpr int kStays = -1;
};

// Bytes of the output that atomics work on, and those each thread has for itself.
inline constexpr uint32_t kAtomicBytes = 256;
inline constexpr uint32_t kPrivateBytes = 64;
// Bytes of the module's variable `in`.
inline constexpr uint32_t kInputBytes = 4608;
inline constexpr uint32_t kMostThreads = 256;  // threads of a block

struct Program {
  uint64_t seed = 0;
  std::vector<Line> lines;
  std::vector<uint32_t> input;
  vgpu::Dim3 grid;
  vgpu::Dim3 block;
  bool clusters = false;  // blocks beside each other along x form pairs

  int units() const;
  // The module. Its kernel `k` has two parameters: the output's address and the number 5.
  // In lines, <slot N> is the place of the N-th result of a thread, 8 bytes each, <private> that
  // of its own bytes, <atomic> that of the words for atomics; what no line mentions takes no room.
  std::string Text() const;
  uint64_t output_bytes() const;
  // What `kernelsmith launch` needs beside the file.
  std::string LaunchOptions() const;
};

}  // namespace kernelsmith::fuzz
