// Softmax subtracts a row's maximum so that nothing overflows. A kernel with a wrong maximum is
// right in real numbers and on moderate values, so that only values beyond the exponential's range
// tell, and only those at the places that the kernel leaves out.
#pragma once

#include "graph/graph.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {

bool HasSoftmax(const Graph& graph);

// True if in every row of every softmax the largest value is beyond what exp can hold in float32:
// whoever computes the outputs right on these values subtracts a maximum, or something near it.
bool NeedsMaxima(const Graph& graph, const TensorMap& values);

}  // namespace kernelsmith
