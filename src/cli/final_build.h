// A winner's build with PyTorch's own headers, once, before it is handed over.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/session.h"
#include "compile/compile.h"

namespace kernelsmith {

// --final and --no-final. If neither is said, winners that somebody else wrote (a model, a file
// that was given) are built so. The built-in generator's text is ours, and the build takes minutes.
void AddFinalBuild(CLI::App& command, std::optional<bool>& choice);

// Compiles `candidate` as it was judged and with PyTorch's headers, and compares the kernels.
Result<RealComparison> FinalBuild(Session& session, const std::filesystem::path& candidate);

// One line, or one for each difference: a finding other_program.
std::string ToText(const RealComparison& comparison);
nlohmann::json ToJson(const RealComparison& comparison);

}  // namespace kernelsmith
