// A libdevice that leaves math functions visible. nvcc links libdevice's bitcode into a candidate
// and inlines it, so that expf becomes shifts and polynomials in which nobody recognises an
// exponential. Without a definition it stays a call in the PTX.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kernelsmith {

// `bitcode` (libdevice.10.bc) with the definitions of `names` renamed, so that calls of those
// names from outside find none. Everything else is still inlined, with nvcc's own precision flags.
//
// cicc reads bitcode of LLVM 7 alone, which no LLVM of today writes; so this changes the names in
// place. They stand in the module's symbol table as arrays of six-bit characters with their
// length in front. Error: the file has no such table.
Result<std::string> HideFunctions(std::string bitcode, std::span<const std::string_view> names);

}  // namespace kernelsmith
