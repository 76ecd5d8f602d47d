// PyTorch's own headers: where they are, what they decide, and the PTX that they give.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compile/build.h"
#include "compile/compile.h"

namespace kernelsmith {

struct RealHeaders {
  std::vector<std::filesystem::path> includes;  // in PyTorch's order, Python's at the end
};
// Error (kMissingTool): there is no PyTorch, or no header of Python.
Result<RealHeaders> FindRealHeaders(ToolFinder& tools, ProcessRunner& processes,
                                    const FileSystem& files);

// A candidate's files as they have to be compiled.
struct DecidedSource {
  std::string text;
  std::vector<OwnHeader> own_headers;
  bool changed = false;  // light headers would have decided otherwise
};

// Lets PyTorch's headers decide every conditional of `text` and its own headers that they decide in
// another way than the light ones do. Both passes of nvcc are asked. `suffix` stands behind the
// text. Error: kInvalidInput if PyTorch's headers refuse the source, kUnsupported if host and
// device pass do not agree or a header is used in several ways.
Result<DecidedSource> DecideConditionals(const Build& build, const RealHeaders& real,
                                         const std::vector<OwnHeader>& own_headers);

// How the kernels of two PTX modules of one source differ, in words, one a kernel: instructions are
// compared, names, lines and comments are not. Empty: they don't.
std::vector<std::string> KernelDifferences(const std::string& judged, const std::string& real);

}  // namespace kernelsmith
