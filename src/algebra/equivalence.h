// Is what a candidate computes the same real algebra as its task's graph, apart from rounding?
//
// The plan runs on a device with a symbolic shadow (shadow_observer.h); the graph is evaluated on
// the same shadows (graph/evaluate.h); outputs are compared element by element. Give it PTX with
// visible math (CandidateCompiler::CompileVisibleMath).
//
//   KS_TRY(EquivalenceReport report, CompareWithGraph({.graph = &graph, .plan = &plan, ...},
//   device)); if (report.proved()) ...
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/observable_device.h"
#include "field/symbolic.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace kernelsmith {

// ---- one run with shadows ----

// Elements that are no inputs of the algebra but constants.
inline constexpr uint64_t kNoInput = ~uint64_t{0};

struct SymbolicRunRequest {
  const Plan* plan = nullptr;
  std::string ptx;
  std::string ptx_name = "candidate.ptx";
  std::vector<const CallArgument*> inputs;  // flattened, as RunRequest's
  // For each input the number of its first element in the algebra, the others following row-major;
  // kNoInput: constants. Integers and booleans are constants in any case.
  std::vector<uint64_t> first_input;
  uint64_t poison_seed = 1;
};

struct SymbolicRun {
  // The run ended early: a kernel that failed, an operator without rules. Tensors are empty then.
  std::optional<RunOutcome::Failure> failure;
  std::vector<Tensor<Symbolic>> outputs;  // as the plan lists them
  std::vector<Tensor<Symbolic>> inputs;   // after the run
  std::vector<std::vector<bool>> unwritten;
  // Bounds on the degree of the outputs as rational functions of the inputs.
  std::vector<std::vector<int64_t>> degrees;
  // Instructions on bits of floats that no rule knows, with their source lines.
  std::vector<std::string> notes;
  uint64_t decisions = 0;        // decisions about floats that depend on inputs
  uint64_t lane_operations = 0;  // float operations on shadows
  std::chrono::nanoseconds duration{0};
};

// An error: the plan can't be run at all (as Device::Run).
Result<SymbolicRun> RunSymbolically(const SymbolicRunRequest& request, const Algebra& algebra,
                                    ObservableDevice& device);

// ---- comparison with a graph ----

// The data of one draw: floats for decisions, the seed for the fields.
struct EquivalenceDraw {
  std::vector<const CallArgument*> inputs;  // flattened
  const TensorMap* values = nullptr;  // the same tensors by the names of the graph's placeholders
  uint64_t seed = 0;
};

struct EquivalenceRequest {
  const Graph* graph = nullptr;
  const Plan* plan = nullptr;
  std::string ptx;  // PTX with visible math
  std::string ptx_name = "candidate.ptx";
  // The placeholder that each input is; empty: inputs are named as placeholders are. A name that is
  // no placeholder: the graph does not use that input.
  std::vector<std::string> input_names;
  // Output names of the graph (Graph::OutputName), as the plan lists its outputs.
  std::vector<std::string> results;
  // Outputs of the graph that are inputs changed in place: "mutated.running_mean".
  std::vector<std::string> mutated;
  // Tried in order until every element is proved. An element is proved when it is equal in one.
  std::vector<EquivalenceDraw> draws;
  Precision decisions = Precision::kFloat32;
};

struct ElementMismatch {
  int64_t index = 0;    // row-major
  double expected = 0;  // floats of that draw
  double got = 0;
  size_t draw = 0;
};

// Elements that are undecided for the same reason.
struct UndecidedElements {
  int64_t count = 0;
  uint32_t reason = 0;  // ShadowFlags
};

struct OutputEquivalence {
  std::string name;
  Shape shape;
  int64_t equal = 0;
  int64_t different = 0;     // in no draw equal, in one different beyond excuse
  int64_t inconclusive = 0;  // neither
  std::map<std::string, UndecidedElements> reasons;  // why inconclusive, in words
  std::vector<ElementMismatch> mismatches;  // the first kMaxMismatches elements that differ
  static constexpr size_t kMaxMismatches = 64;
};

struct EquivalenceReport {
  Equality verdict = Equality::kInconclusive;  // kEqual: every element of every output
  std::string reason;                          // one line, where not equal
  std::vector<OutputEquivalence> outputs;      // results, then mutated inputs
  size_t draws = 0;                            // draws that were run
  // The probability that unequal outputs pass as equal; nothing where no bound holds (exp, log,
  // roots, uninterpreted functions): the proof is then "heuristic".
  std::optional<double> bound;
  std::vector<std::string> assumptions;  // "exp of an argument below -80 counts as 0"
  std::vector<std::string> notes;        // the notes of SymbolicRun
  uint64_t lane_operations = 0;
  std::chrono::nanoseconds duration{0};
  std::chrono::nanoseconds kernel_duration{0};  // the part that kernels with their shadows took
  std::chrono::nanoseconds graph_duration{0};

  bool proved() const { return verdict == Equality::kEqual; }
};

Result<EquivalenceReport> CompareWithGraph(const EquivalenceRequest& request,
                                           ObservableDevice& device);

}  // namespace kernelsmith
