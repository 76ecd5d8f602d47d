#include "algebra/equivalence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/aten_ops.h"
#include "graph/evaluate.h"

namespace kernelsmith {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMaxGraphDegree = 1 << 20;

// A bound on the degree of the graph's outputs as polynomials of its inputs; nothing where an
// operator may divide or is no polynomial at all.
std::optional<int64_t> PolynomialDegree(const Graph& graph) {
  std::vector<int64_t> degrees(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::kPlaceholder) {
      degrees[i] = node.outputs[0] && IsFloat(node.outputs[0]->dtype) ? 1 : 0;
      continue;
    }
    if (node.kind == NodeKind::kConstant) continue;
    int64_t largest = 0;
    int64_t total = 0;
    const auto visit = [&](auto&& self, const Argument& argument) -> void {
      if (const auto* ref = std::get_if<ValueRef>(&argument.value)) {
        largest = std::max(largest, degrees[ref->node]);
        total += degrees[ref->node];
      }
      if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
        for (const Argument& item : *list) self(self, item);
      }
    };
    for (const Argument& argument : node.args) visit(visit, argument);
    const auto* exponent =
        node.args.size() > 1 ? std::get_if<int64_t>(&node.args[1].value) : nullptr;
    switch (OperatorOf(node.aten).degree) {
      case Degree::kKeeps:
        degrees[i] = largest;
        break;
      case Degree::kMultiplies:
        degrees[i] = total;
        break;
      case Degree::kDivides:
        if (node.args.size() < 2 || std::holds_alternative<ValueRef>(node.args[1].value)) {
          return std::nullopt;
        }
        degrees[i] = largest;
        break;
      case Degree::kPower:
        if (exponent == nullptr || *exponent < 0) return std::nullopt;
        degrees[i] = largest * *exponent;
        break;
      case Degree::kUnbounded:
        return std::nullopt;
    }
    if (degrees[i] > kMaxGraphDegree) return std::nullopt;
  }
  return *std::max_element(degrees.begin(), degrees.end());
}

// What is known of one element after some draws.
struct Element {
  Equality state = Equality::kInconclusive;
  uint32_t reason = 0;
  bool no_reason = false;  // inconclusive since no part is in common
  ElementMismatch mismatch;
};

class Comparer {
 public:
  Comparer(const EquivalenceRequest& request, ObservableDevice& device)
      : request_(request), graph_(*request.graph), device_(device) {}

  Result<EquivalenceReport> Run() {
    const auto start = Clock::now();
    for (size_t i = 0; i < request_.draws.size() && !AllProved(); ++i) {
      KS_TRY(const bool done, Draw(i));
      if (!done) break;
    }
    Conclude();
    report_.duration = Clock::now() - start;
    return std::move(report_);
  }

 private:
  bool AllProved() const {
    if (report_.draws == 0) return false;
    for (const auto& output : elements_) {
      for (const Element& element : output) {
        if (element.state != Equality::kEqual) return false;
      }
    }
    return true;
  }

  // Numbers of the graph's placeholders in the algebra: as GraphInputs counts.
  std::map<std::string, uint64_t> Numbers(uint64_t* end) const {
    std::map<std::string, uint64_t> numbers;
    uint64_t next = 0;
    for (const size_t index : graph_.placeholders) {
      const Node& node = graph_.nodes[index];
      numbers[node.name] = next;
      next += static_cast<uint64_t>(ElementCount(node.outputs[0]->shape).value_or(0));
    }
    *end = next;
    return numbers;
  }

  // What is zero by a pattern is zero: a product of triangular matrices need not multiply the rest.
  void FixZeros(const TensorMap& values, const std::map<std::string, uint64_t>& numbers,
                Algebra& algebra) {
    for (const auto& [name, tensor] : values) {
      const auto number = numbers.find(name);
      if (number == numbers.end()) continue;
      const std::vector<int64_t> zeros = PatternOfZeros(tensor);
      for (const int64_t i : zeros) algebra.FixAtZero(number->second + static_cast<uint64_t>(i));
      const std::string assumed = fmt::format("the zeros of {} are where they were drawn", name);
      if (!zeros.empty() && std::find(report_.assumptions.begin(), report_.assumptions.end(),
                                      assumed) == report_.assumptions.end())
        report_.assumptions.push_back(assumed);
    }
  }

  // False: no further draw will do better.
  Result<bool> Draw(size_t number) {
    const EquivalenceDraw& draw = request_.draws[number];
    Algebra algebra(draw.seed, request_.decisions);
    const AlgebraScope scope(&algebra);
    uint64_t next = 0;
    const std::map<std::string, uint64_t> numbers = Numbers(&next);
    FixZeros(*draw.values, numbers, algebra);
    SymbolicRunRequest run_request{.plan = request_.plan,
                                   .ptx = request_.ptx,
                                   .ptx_name = request_.ptx_name,
                                   .inputs = draw.inputs,
                                   .poison_seed = draw.seed | 1};
    for (size_t i = 0; i < draw.inputs.size(); ++i) {
      const std::string& name =
          i < request_.input_names.size() ? request_.input_names[i] : draw.inputs[i]->name;
      const auto found = numbers.find(name);
      if (found != numbers.end()) {
        run_request.first_input.push_back(found->second);
      } else {
        run_request.first_input.push_back(next);
        next += static_cast<uint64_t>(draw.inputs[i]->tensor.count());
      }
    }
    KS_TRY(const SymbolicRun run, RunSymbolically(run_request, algebra, device_));
    report_.kernel_duration += run.duration;
    report_.lane_operations += run.lane_operations;
    report_.notes = run.notes;
    decisions_ += run.decisions;
    ++report_.draws;
    if (run.failure) {
      failure_ = run.failure->message;
      return false;
    }
    const auto start = Clock::now();
    KS_TRY(const std::vector<Tensor<Symbolic>> inputs, GraphInputs<Symbolic>(graph_, *draw.values));
    KS_TRY(const std::vector<Tensor<Symbolic>> expected, Evaluate<Symbolic>(graph_, inputs));
    report_.graph_duration += Clock::now() - start;
    size_t row = 0;
    for (size_t i = 0; i < request_.results.size(); ++i, ++row) {
      const Tensor<Symbolic>* wanted = Find(expected, request_.results[i]);
      if (wanted == nullptr || i >= run.outputs.size() || wanted->shape != run.outputs[i].shape) {
        failure_ = fmt::format("the candidate has no output like {}", request_.results[i]);
        return false;
      }
      Compare(row, request_.results[i], *wanted, run.outputs[i], run.degrees[i], number);
    }
    for (const std::string& name : request_.mutated) {
      const Tensor<Symbolic>* wanted = Find(expected, name);
      const Tensor<Symbolic>* got = nullptr;
      for (size_t i = 0; i < draw.inputs.size(); ++i) {
        const std::string& input =
            i < request_.input_names.size() ? request_.input_names[i] : draw.inputs[i]->name;
        if ("mutated." + input == name) got = &run.inputs[i];
      }
      if (wanted == nullptr || got == nullptr || wanted->shape != got->shape) {
        failure_ = fmt::format("the candidate has no input for {}", name);
        return false;
      }
      Compare(row++, name, *wanted, *got, {}, number);
    }
    return true;
  }

  const Tensor<Symbolic>* Find(const std::vector<Tensor<Symbolic>>& expected,
                               const std::string& name) const {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (graph_.OutputName(graph_.outputs[i]) == name) return &expected[i];
    }
    return nullptr;
  }

  void Compare(size_t row, const std::string& name, const Tensor<Symbolic>& wanted,
               const Tensor<Symbolic>& got, const std::vector<int64_t>& degrees, size_t draw) {
    if (row == elements_.size()) {
      elements_.emplace_back(static_cast<size_t>(wanted.count()));
      report_.outputs.push_back({.name = name, .shape = wanted.shape});
    }
    std::vector<Element>& elements = elements_[row];
    for (int64_t i = 0; i < wanted.count(); ++i) {
      Element& element = elements[static_cast<size_t>(i)];
      if (element.state == Equality::kDifferent) continue;  // one counterexample is enough
      const Comparison comparison = CompareElement(wanted[i], got[i], wanted.dtype);
      if (comparison.equality == Equality::kEqual) {
        element.state = Equality::kEqual;
        history_ |= (wanted[i].s.flags | got[i].s.flags) & kHistory;
        degree_ =
            std::max(degree_, degrees.empty() ? int64_t{1} << 40 : degrees[static_cast<size_t>(i)]);
        continue;
      }
      if (comparison.equality == Equality::kDifferent) {
        element.mismatch = {.index = i, .expected = wanted[i].v, .got = got[i].v, .draw = draw};
        element.state = Equality::kDifferent;
        continue;
      }
      element.reason |= comparison.reason;
      element.no_reason |= comparison.reason == 0;
    }
  }

  // Integers and booleans: by value, with the taints of the decisions that made them.
  static Comparison CompareElement(const Symbolic& wanted, const Symbolic& got, DType dtype) {
    if (IsFloat(dtype)) return CompareValues(wanted, got);
    const uint32_t ties = (wanted.s.flags | got.s.flags) & kNearTie;
    if (wanted.v == got.v) return {Equality::kEqual, 0};
    return {ties != 0 ? Equality::kInconclusive : Equality::kDifferent, ties};
  }

  void Conclude() {
    bool all_equal = report_.draws > 0 && failure_.empty();
    bool different = false;
    for (size_t row = 0; row < elements_.size(); ++row) {
      OutputEquivalence& output = report_.outputs[row];
      for (const Element& element : elements_[row]) {
        switch (element.state) {
          case Equality::kEqual:
            ++output.equal;
            break;
          case Equality::kDifferent:
            ++output.different;
            different = true;
            all_equal = false;
            if (output.mismatches.size() < OutputEquivalence::kMaxMismatches) {
              output.mismatches.push_back(element.mismatch);
            }
            break;
          case Equality::kInconclusive: {
            ++output.inconclusive;
            all_equal = false;
            UndecidedElements& same = output.reasons[DescribeReason(element.reason)];
            ++same.count;
            same.reason |= element.reason;
            break;
          }
        }
      }
    }
    if (!failure_.empty()) {
      report_.reason = failure_;
      return;
    }
    report_.verdict = all_equal   ? Equality::kEqual
                      : different ? Equality::kDifferent
                                  : Equality::kInconclusive;
    if (!all_equal) report_.reason = Reason(different);
    // The difference of n/d, as the kernel has it, and the graph's polynomial g vanishes at random
    // arguments with a chance of (deg n + deg d + deg g)/q at most, in each element.
    constexpr uint32_t kUnbounded =
        kTranscendental | kUninterpreted | kUnrecognised | kNonResidueP | kNonResidueQ;
    int64_t count = 0;
    for (const auto& output : elements_) count += static_cast<int64_t>(output.size());
    const std::optional<int64_t> graph_degree = PolynomialDegree(graph_);
    if (all_equal && graph_degree && (history_ & kUnbounded) == 0 && degree_ < (int64_t{1} << 29)) {
      const double bound = static_cast<double>(count) *
                           static_cast<double>(2 * degree_ + *graph_degree) /
                           static_cast<double>(kQ);
      if (bound < 1e-6) report_.bound = bound;
    }
    if (decisions_ > 0) {
      report_.assumptions.emplace_back(
          "comparisons, maxima and branches fell as they did for the drawn floats");
    }
    if ((history_ & kMaskedExp) != 0) {
      report_.assumptions.push_back(
          fmt::format("exp of an argument below {} counts as 0", kExpIsZeroBelow));
    }
    if ((history_ & kUninterpreted) != 0) {
      report_.assumptions.emplace_back(
          "functions without a rule (erf, sin, ...) agree where their arguments do");
    }
    if ((history_ & kUnrecognised) != 0) {
      report_.assumptions.emplace_back(
          "constants that are no simple numbers are what they are in float32");
    }
  }

  std::string Reason(bool different) const {
    for (const OutputEquivalence& output : report_.outputs) {
      if (different && output.different > 0) {
        return fmt::format("{} of {} elements of {} are another function of the inputs",
                           output.different, output.equal + output.different + output.inconclusive,
                           output.name);
      }
      if (!different && output.inconclusive > 0) {
        const auto& [words, elements] = *output.reasons.begin();
        std::string reason =
            fmt::format("{} of {} elements of {} are undecided: {}", output.inconclusive,
                        output.equal + output.different + output.inconclusive, output.name, words);
        if (!report_.notes.empty() && (elements.reason & kBitTrick) != 0) {
          reason += fmt::format(" ({})", report_.notes.front());
        }
        return reason;
      }
    }
    return "";
  }

  const EquivalenceRequest& request_;
  const Graph& graph_;
  ObservableDevice& device_;
  EquivalenceReport report_;
  std::vector<std::vector<Element>> elements_;
  uint32_t history_ = 0;
  uint64_t decisions_ = 0;
  int64_t degree_ = 0;  // the largest of a proved element
  std::string failure_;
};

}  // namespace

Result<EquivalenceReport> CompareWithGraph(const EquivalenceRequest& request,
                                           ObservableDevice& device) {
  return Comparer(request, device).Run();
}

}  // namespace kernelsmith
