// When two candidates have the same device code under other names.
#pragma once

#include <string>
#include <string_view>

namespace kernelsmith {

// PTX without what does not matter to the GPU: comments, layout, source lines, debug sections, and
// the names of registers, labels, kernels and variables, which are numbered in the order they
// appear in. Names that the module does not define (`vprintf`, `__nv_expf`) stay. What is no PTX
// that we know comes back as it is.
std::string NormalisedPtx(std::string_view ptx);

// A hash of the normalised PTX and of `host`, which must say what the host does with it (its plan,
// or at least its source): the same kernel with another grid is another candidate.
std::string CandidateIdentity(std::string_view ptx, std::string_view host);

}  // namespace kernelsmith
