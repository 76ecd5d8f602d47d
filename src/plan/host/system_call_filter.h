// Which system calls the child may make once the walls stand, as a program for the kernel.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace kernelsmith::host {

struct CallFilter {
  // Who holds it, the broker's supervisor, decides about calls that the filter does not allow.
  // Below 0: the filter could not be installed.
  int listener = -1;
  uint64_t loader_begin = 0;  // the code of the dynamic loader
  uint64_t loader_end = 0;
};

// Installs the filter for every thread of this process and of those to come, for ever. Nothing in
// this process sees or can change what becomes of a call that it does not allow. `without`:
// walls.h.
CallFilter InstallSystemCallFilter(const std::set<std::string>& without);

}  // namespace kernelsmith::host
