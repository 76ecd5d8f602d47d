// Evaluates a graph in one scalar type:
//   double    the oracle: exact apart from rounding at 2^-53; roundings of the graph's own dtypes
//   do not happen float     as PyTorch computes, roughly; with round_to_dtype every result is
//   rounded to its dtype Bounded   doubles with the scale of their rounding error, for tolerances
//   c·eps·scale Symbolic  real algebra on random inputs (field/symbolic.h); an AlgebraScope must be
//   active
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "tensor/tensor.h"

namespace kernelsmith {

template <typename T>
struct EvaluateOptions {
  // Round every float result to its dtype, as PyTorch does (float and double only).
  bool round_to_dtype = false;
  // Called after each node with its results, in order.
  std::function<void(size_t node, const std::vector<Tensor<T>>& results)> observe;
};

// `inputs` in the order of graph.placeholders; the results in that of graph.outputs. Shapes and
// dtypes must be those of the graph.
template <typename T>
Result<std::vector<Tensor<T>>> Evaluate(const Graph& graph, const std::vector<Tensor<T>>& inputs,
                                        const EvaluateOptions<T>& options = {});

// The placeholders' values from a file's tensors, by name. Symbolic: floats become inputs of the
// algebra, numbered through all placeholders in order.
template <typename T>
Result<std::vector<Tensor<T>>> GraphInputs(const Graph& graph, const TensorMap& tensors);

}  // namespace kernelsmith
