// Registers and spills of kernels, as NVIDIA's assembler assigns them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "counters/counters.h"
#include "support/subprocess.h"
#include "support/tool_finder.h"

namespace kernelsmith::counters {

// What `ptxas -v` printed.
std::map<std::string, PtxasKernel> ParsePtxas(std::string_view text);

// Assembles PTX for the architecture that it names. Empty if there is no ptxas or it refuses.
std::map<std::string, PtxasKernel> RunPtxas(const std::filesystem::path& ptx, ToolFinder& tools,
                                            ProcessRunner& processes);

}  // namespace kernelsmith::counters
