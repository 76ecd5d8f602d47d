// The headers of a candidate's own that lie beside it. Compilers do not see the candidate's folder:
// what its quoted includes name is copied to where it is compiled.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

struct OwnHeader {
  std::string name;  // relative to the candidate's folder, without `..`
  std::string text;
};

// All files that `text`, the source of a candidate in `folder`, includes in quotes, and those that
// these include, sorted by name. Only files of C++ or CUDA by their suffix that are regular and lie
// beneath `folder`, links followed; what is not there is left to the compiler. Error
// (kUnsupported): they are too many or too large.
Result<std::vector<OwnHeader>> OwnHeaders(const std::filesystem::path& folder,
                                          std::string_view text);

}  // namespace kernelsmith
