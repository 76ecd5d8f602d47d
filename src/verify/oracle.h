// What the outputs of one case must be, and how far off they may be.
#pragma once

#include <optional>
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
  int64_t sum_length = 1;  // terms of the graph's longest sum

  // `epsilon`: of the precision that is allowed; 0: the dtype's own.
  OutputReference Reference(double epsilon = 0) const;
  double Rms() const;  // the RMS of the finite elements
};

// The outputs that `names` lists, in that order. Magnitudes are there where src/graph knows all of
// the graph's operators; elsewhere the tolerance makes do with PyTorch's own error.
Result<std::vector<ExpectedOutput>> ExpectedOutputs(const Graph& graph, const CaseTensors& values,
                                                    const std::vector<std::string>& names);

// Whether all elements of these outputs are there and finite, in float64 and in the task's dtype.
bool HasFiniteResults(const CaseTensors& values, const std::vector<std::string>& names);
double RmsOfFinite(const HostTensor& tensor);

// The same question answered by src/graph instead of PyTorch, which saves a trip to another
// process: `values` has the placeholders; the results are added. kUnsupported names the operator.
Result<CaseTensors> EvaluateHere(const Graph& graph, TensorMap values);

// True if a choice among equals (the position of a maximum, say) is used inside the graph: outputs
// then depend on which of several right answers was taken.
bool ChoosesInside(const Graph& graph);

// False for the output `name` if it is a choice among equals of which PyTorch's documentation does
// not say which is taken.
bool HasOneAnswer(const Graph& graph, const std::string& name);

// What the candidate returned for one output, against what it must be.
struct OutputJudgement {
  NumericComparison numbers;
  bool allclose = false;
  bool right = false;
  bool several_answers = false;  // wrong, but another choice among equals might explain it
  // Wrong, and nothing was rounded on the way: ties that PyTorch documents have one answer.
  bool decided = false;
  // The worst error is more than rounding could ever make of values of this size.
  bool gross = false;
};

struct JudgementOptions {
  double epsilon = 0;  // the epsilon of the precision that is allowed; 0: the dtype's own
  double rtol = 1e-3;  // the usual check of kernel benchmarks, for the report alone
  double atol = 1e-3;
  double usual_rms = 0;  // the RMS of this output on the task's own inputs
};

// Shapes and dtypes must be equal. `values` has the placeholders, for outputs of which several are
// right.
OutputJudgement JudgeOutput(const Graph& graph, const ExpectedOutput& expected,
                            const HostTensor& got, const TensorMap& values,
                            const JudgementOptions& options);

// Elements of the output `name` that depend on a decision which rounding could have turned: the
// sign of a sum that cancels, a maximum of equals. There, right kernels may differ. Nothing: the
// graph can't tell.
std::optional<std::vector<bool>> NearTies(const Graph& graph, const std::string& name,
                                          const TensorMap& values);

// True if no operator of the graph rounds anything on these values: then decisions that rounding
// could turn elsewhere have one answer.
bool NothingIsRounded(const Graph& graph, const TensorMap& values);

// Half a unit in the last place of 1: 2^-24 for float32.
double UnitRoundoff(DType dtype);

}  // namespace kernelsmith
