// Whether a candidate has lambdas that run on the GPU.
#pragma once

#include <string_view>
#include <vector>

#include "compile/own_headers.h"

namespace kernelsmith {

// True if a lambda is marked __device__ or __host__. PyTorch's build lacks nvcc's flag for them, so
// whoever uses such a candidate has to pass it; that the flag was given can be seen by a macro, so
// no other candidate gets it, nor one that asks for the macro.
bool NeedsExtendedLambdas(std::string_view text, const std::vector<OwnHeader>& own_headers);

}  // namespace kernelsmith
