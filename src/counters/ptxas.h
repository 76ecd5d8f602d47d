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

struct PtxasAnswer {
  std::map<std::string, PtxasKernel> kernels;  // by name; empty if there is no ptxas or it refuses
  // Its first error about the code itself: no GPU runs this.
  std::string refusal;
};

// Assembles PTX for the architecture that it names.
PtxasAnswer RunPtxas(const std::filesystem::path& ptx, ToolFinder& tools, ProcessRunner& processes);

// The first error of what ptxas printed that is about the code and not about ptxas: one that is
// too old for the PTX refuses it, too.
std::string RefusalOf(std::string_view text);

}  // namespace kernelsmith::counters
