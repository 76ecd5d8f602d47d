// Outputs of which several are right: positions of a largest element among equals, orders of
// equals, the position that takes a max pool's gradient. A candidate's answer is then checked as a
// witness instead of being compared.
#pragma once

#include <optional>
#include <vector>

#include "graph/aten_ops.h"
#include "graph/evaluate.h"
#include "graph/graph.h"

namespace kernelsmith {

struct Choice {
  ChoiceKind kind = ChoiceKind::kExtreme;
  size_t node = 0;  // the operator that chooses
};

// Whether an output is such a choice, as it is or seen through views and casts.
std::optional<Choice> FindChoice(const Graph& graph, const GraphOutput& output);

// The elements of `answer` (the output's shape) that no right choice has; empty: a valid witness.
// Values closer than `eps` times the scale of their rounding error count as equal: pass the unit
// roundoff of the task's dtype times a small factor, or 0 where the choice is among inputs and must
// be exact.
Result<std::vector<int64_t>> WrongChoices(const Graph& graph, const Choice& choice,
                                          const std::vector<Tensor<Bounded>>& inputs,
                                          const HostTensor& answer, double eps);

}  // namespace kernelsmith
