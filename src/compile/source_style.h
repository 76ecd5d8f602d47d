// What kind of candidate a source is, and what has to be added to it.
#pragma once

#include <string>
#include <string_view>

#include "compile/compile.h"
#include "support/result.h"

namespace kernelsmith {

struct SourceStyle {
  CandidateStyle style = CandidateStyle::kTorch;
  std::string suffix;  // to be compiled behind the source: registration of its function
};

// Torch extensions register their functions themselves; one without PYBIND11_MODULE gets its
// `forward` (or `backward`) registered. A plain CUDA candidate has an extern "C" launcher.
Result<SourceStyle> StyleOf(std::string_view text, const std::string& file);

// The source with comments and string literals blanked out, line ends kept.
std::string BlankComments(std::string_view text);

}  // namespace kernelsmith
