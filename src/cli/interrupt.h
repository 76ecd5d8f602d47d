// Ctrl-C for commands that can end with what they have: the first one asks them to, a second one
// ends the program at once.
#pragma once

#include <atomic>

namespace kernelsmith {

class Interrupt {
 public:
  // From here on SIGINT and SIGTERM set the flag, until the end of this object. One at a time.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static const std::atomic<bool>& flag();
};

}  // namespace kernelsmith
