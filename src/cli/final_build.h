// A winner's build with PyTorch's own headers, once, before it is handed over.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/session.h"
#include "compile/compile.h"

namespace kernelsmith {

// Compiles `candidate` as it was judged and with PyTorch's headers, and compares the kernels.
Result<RealComparison> FinalBuild(Session& session, const std::filesystem::path& candidate);

// One line, or one for each difference: a finding other_program.
std::string ToText(const RealComparison& comparison);
nlohmann::json ToJson(const RealComparison& comparison);

}  // namespace kernelsmith
