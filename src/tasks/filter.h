// The task filter: could a wrong kernel pass this task, and does the task do work that means
// nothing?
//
// Wrong answers that are easy to come by (negative controls) must be refused at the tolerance in
// use. Dependence on inputs and redundant work are decided by algebra: the graph is evaluated on
// symbolic values (src/field), so "the output does not depend on w" is a proof for the decisions
// (maxima, signs) of the draw, not a threshold.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "support/finding_kind.h"
#include "support/result.h"
#include "tasks/task.h"

namespace kernelsmith {

// One result of the task, as a kernel might return it.
struct OutputUnderTest {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::span<const double> got;
  std::span<const double> exact;      // the oracle in float64
  std::span<const double> torch;      // PyTorch in the task's dtype
  std::span<const double> magnitude;  // the graph on absolute values; may be empty
};
// Would the verifier take it for right? Comes from outside, because src/verify stands above us.
using AcceptsOutput = std::function<bool(const OutputUnderTest&)>;

struct NegativeControl {
  std::string name;  // "zeros", "x ignored", "truncated aten.mm.default (model.py:4)"
  bool refuted = false;
};

// A wrong answer is accepted (kControlPasses), an input or parameter has no influence
// (kIndependent), a result (kConstantResult) or a part of the work (kConstantWork) depends on
// nothing, values are computed twice (kDuplicateWork).
struct TaskFinding {
  FindingKind kind;
  std::string message;
};

struct OutputScale {
  std::string name;
  double rms = 0;
  double smallest = 0;
  double largest = 0;
  double change = 0;  // RMS of the difference between two seeds, relative to rms
};

struct TaskReport {
  std::vector<NegativeControl> controls;
  std::vector<TaskFinding> findings;
  std::vector<std::string> depends_on;  // proved, by placeholder
  // Without influence, as a backward's arguments may be: the gradient of a sum needs no terms.
  std::vector<std::string> not_needed;
  std::vector<std::string> inconclusive;  // placeholders for which neither was shown
  std::vector<OutputScale> scales;
  std::string algebra_missing;  // why there was no algebra; empty: there was

  // A wrong kernel can pass, or part of the task is without effect.
  bool weak() const;
  bool redundant() const;
};

// `sample` and `other` are two seeds of the same configuration.
Result<TaskReport> FilterTask(const TaskGraph& graph, const CaseTensors& sample,
                              const CaseTensors& other, const AcceptsOutput& accepts,
                              uint64_t seed);

}  // namespace kernelsmith
