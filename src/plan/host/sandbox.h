// The walls around the candidate's host code.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "plan/host/system_call_filter.h"

namespace kernelsmith::host {

struct Walls {
  std::vector<std::string> names;  // those that stand: namespaces need a system that allows them
  CallFilter filter;
};

// No network, no new processes, no signals to others, no ptrace, and of the file system only
// `library`. `memory` is how many bytes of host memory may be added to what is in use. Without
// a filter of system calls the process ends. `without`: walls.h.
Walls EnterSandbox(const std::string& library, uint64_t memory,
                   const std::set<std::string>& without);

}  // namespace kernelsmith::host
