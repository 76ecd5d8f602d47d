// What nvcc prints, as diagnostics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"
#include "support/result.h"

namespace kernelsmith {

// Errors and warnings of cudafe++ and cicc ("k.cu(3): error: ..."), of the host compiler
// ("k.cu:3:5: error: ...") and of nvcc itself ("nvcc fatal   : ..."). `file` is the candidate's
// name and `text` its source, for carets.
std::vector<Diagnostic> ParseNvccMessages(std::string_view output, const std::string& file,
                                          std::string_view text);

// The error of a compilation that failed. kUnsupported if the first error is about an API of
// PyTorch that the light headers lack; its message then names the API.
Error CompilationError(std::vector<Diagnostic> diagnostics, std::string_view output);

}  // namespace kernelsmith
