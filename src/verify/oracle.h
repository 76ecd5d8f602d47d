// What the outputs of one case must be, and how far off they may be.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "tasks/task.h"
#include "verify/tolerance.h"

namespace kernelsmith {

// The expectation of one output, by name (output.0, gradient.weight, mutated.running_mean).
struct ExpectedOutput {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<double> exact;
  std::vector<double> torch;
  std::vector<double> magnitude;

  OutputReference Reference() const;
};

// The outputs that `names` lists, in that order. Magnitudes are there where src/graph knows all of
// the graph's operators; elsewhere the tolerance makes do with PyTorch's own error.
Result<std::vector<ExpectedOutput>> ExpectedOutputs(const Graph& graph, const CaseTensors& values,
                                                    const std::vector<std::string>& names);

// True if the graph chooses among equals (argmax, top-k, sort ...): integers that differ from
// PyTorch's may be right as well.
bool HasSeveralAnswers(const Graph& graph);

}  // namespace kernelsmith
