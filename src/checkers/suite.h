// All checkers together, chosen by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkers/checker.h"
#include "support/result.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::checkers {

struct CheckName {
  const char* name;
  const char* what;
};
// memory, init, index, leak, api, ...
const std::vector<CheckName>& AllChecks();

// "memory,race"; "all" or nothing: all of them. An error names what there is.
Result<std::vector<std::string>> ParseChecks(std::string_view list);

// Wide guard zones and a long quarantine, for a GPU whose memory is to be checked.
void SetMemoryOptions(vgpu::DeviceMemory::Options& options);

// `gpu` must outlive the list.
void AddCheckers(CheckerList& list, const std::vector<std::string>& checks, FindingSink& sink,
                 vgpu::VirtualGpu& gpu);

}  // namespace kernelsmith::checkers
