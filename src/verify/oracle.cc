#include "verify/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "field/bounded.h"
#include "field/symbolic.h"
#include "graph/aten_ops.h"
#include "graph/evaluate.h"
#include "graph/witness.h"
#include "support/check.h"
#include "verify/work.h"

namespace kernelsmith {
namespace {

template <typename T>
std::vector<double> ElementsAs(const HostTensor& tensor) {
  std::vector<double> elements(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < elements.size(); ++i) {
    T element;
    std::memcpy(&element, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    elements[i] = static_cast<double>(element);
  }
  return elements;
}

std::vector<double> Elements(const HostTensor& tensor) {
  if (tensor.dtype == DType::kFloat32) return ElementsAs<float>(tensor);
  if (tensor.dtype == DType::kFloat64) return ElementsAs<double>(tensor);
  std::vector<double> elements(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = tensor.at(static_cast<int64_t>(i));
  return elements;
}

// The smallest positive value, subnormals included.
double Smallest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-24;
    case DType::kBfloat16:
      return 0x1p-133;
    case DType::kFloat32:
      return 0x1p-149;
    case DType::kFloat64:
      return 0x1p-1074;
    default:
      return 0;
  }
}

// By output name; empty if the graph can't be evaluated here.
std::map<std::string, std::vector<double>> Magnitudes(const Graph& graph, const TensorMap& values) {
  std::map<std::string, std::vector<double>> magnitudes;
  const auto inputs = GraphInputs<Bounded>(graph, values);
  if (!inputs.ok()) return magnitudes;
  const auto results = Evaluate<Bounded>(graph, *inputs);
  if (!results.ok()) return magnitudes;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    std::vector<double>& row = magnitudes[graph.OutputName(graph.outputs[i])];
    const Tensor<Bounded>& tensor = (*results)[i];
    for (int64_t k = 0; k < tensor.count(); ++k) row.push_back(tensor[k].m);
  }
  return magnitudes;
}

// Looks for floats that become integers and are none: NaN, or out of range. What comes out is
// undefined, in PyTorch as in CUDA, so such inputs say nothing about a kernel.
class ConversionWatch {
 public:
  explicit ConversionWatch(const Graph& graph) : graph_(graph), largest_(graph.nodes.size()) {}

  void After(size_t node, const std::vector<Tensor<double>>& results) {
    const Node& n = graph_.nodes[node];
    if (OperatorOf(n.aten).facts.converts && n.outputs[0]) {
      const DType to = n.outputs[0]->dtype;
      if (const auto* from = n.args.empty() ? nullptr : std::get_if<ValueRef>(&n.args[0].value);
          from != nullptr && !IsFloat(to) && to != DType::kBool) {
        undefined_ |= largest_[from->node] >= (to == DType::kInt64 ? 0x1p63 : 0x1p31);
      }
    }
    for (size_t i = 0; i < results.size() && i < n.outputs.size(); ++i) {
      if (!n.outputs[i] || !IsFloat(n.outputs[i]->dtype)) continue;
      for (int64_t k = 0; k < results[i].count(); ++k) {
        const double size = std::abs(results[i][k]);
        // Written so that a NaN counts as the largest.
        if (!(size <= largest_[node])) {
          largest_[node] = std::isnan(size) ? std::numeric_limits<double>::infinity() : size;
        }
      }
    }
  }
  bool undefined() const { return undefined_; }

 private:
  const Graph& graph_;
  std::vector<double> largest_;  // magnitude of a node's floats
  bool undefined_ = false;
};

// Which result of an operator is a choice among equals; nothing: none is. A pool's gradient is no
// index, so whoever uses it uses numbers.
std::optional<size_t> ChosenResult(const Node& node) {
  const Chooses& chooses = OperatorOf(node.aten).facts.chooses;
  switch (chooses.kind) {
    case ChoiceKind::kNoChoice:
    case ChoiceKind::kPoolGradient:
      return std::nullopt;
    case ChoiceKind::kExtreme:
    case ChoiceKind::kOrder:
    case ChoiceKind::kPool:
    case ChoiceKind::kUnchecked:
      return chooses.result;
  }
  KS_UNREACHABLE();
}

bool Refers(const Argument& argument, ValueRef value) {
  if (const auto* ref = std::get_if<ValueRef>(&argument.value)) return *ref == value;
  if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
    return std::any_of(list->begin(), list->end(),
                       [&](const Argument& item) { return Refers(item, value); });
  }
  return false;
}

// The first of equal maxima or minima is the answer, says PyTorch's documentation.
bool FirstIsDocumented(const Graph& graph, const std::string& name) {
  for (const GraphOutput& output : graph.outputs) {
    if (graph.OutputName(output) != name) continue;
    const std::optional<Choice> choice = FindChoice(graph, output);
    return choice && choice->kind == ChoiceKind::kExtreme;
  }
  return false;
}

// The same for all choices that are used inside of the graph.
bool AllAreDocumented(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.kind != NodeKind::kOperator || !ChosenResult(node) ||
           OperatorOf(node.aten).facts.chooses.kind == ChoiceKind::kExtreme;
  });
}

// How far apart two values may be and still count as equals: not at all where the choice is among
// inputs, which have no rounding error.
double ChoiceEpsilon(const Graph& graph, const Choice& choice) {
  const Node& node = graph.nodes[choice.node];
  for (const Argument& argument : node.args) {
    const auto* ref = std::get_if<ValueRef>(&argument.value);
    if (ref == nullptr) continue;
    const Node& source = graph.nodes[StorageOf(graph, *ref).node];
    if (source.kind == NodeKind::kPlaceholder) return 0;
    return kLimit * kMagnitudeFactor * UnitRoundoff(graph.meta(*ref).dtype);
  }
  return 0;
}

// True if every element is one of the right answers.
bool ValidWitness(const Graph& graph, const std::string& name, const HostTensor& got,
                  const TensorMap& values) {
  for (const GraphOutput& output : graph.outputs) {
    if (graph.OutputName(output) != name) continue;
    const std::optional<Choice> choice = FindChoice(graph, output);
    if (!choice) return false;
    const auto inputs = GraphInputs<Bounded>(graph, values);
    if (!inputs.ok()) return false;
    const auto wrong = WrongChoices(graph, *choice, *inputs, got, ChoiceEpsilon(graph, *choice));
    return wrong.ok() && wrong->empty();
  }
  return false;
}

}  // namespace

double UnitRoundoff(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-11;
    case DType::kBfloat16:
      return 0x1p-8;
    case DType::kFloat32:
      return 0x1p-24;
    case DType::kFloat64:
      return 0x1p-53;
    default:
      return 0;
  }
}

OutputReference ExpectedOutput::Reference(double epsilon) const {
  return {.exact = exact,
          .torch = torch,
          .magnitude = magnitude,
          .row = shape.empty() ? 0 : static_cast<size_t>(shape.back()),
          .epsilon = IsFloat(dtype) ? std::max(UnitRoundoff(dtype), epsilon) : 0,
          .smallest = Smallest(dtype),
          .sum_length = static_cast<double>(sum_length),
          // Sums of half precision numbers are kept in float32.
          .sum_epsilon = dtype == DType::kFloat64 ? UnitRoundoff(dtype)
                         : IsFloat(dtype)         ? UnitRoundoff(DType::kFloat32)
                                                  : 0,
          .wide_sums = dtype == DType::kFloat16 || dtype == DType::kBfloat16};
}

Result<std::vector<ExpectedOutput>> ExpectedOutputs(const Graph& graph, const CaseTensors& values,
                                                    const std::vector<std::string>& names) {
  if (names.empty()) return std::vector<ExpectedOutput>();
  std::map<std::string, std::vector<double>> magnitudes = Magnitudes(graph, values.values);
  const auto sum_length = static_cast<int64_t>(LongestSum(graph));
  std::vector<ExpectedOutput> outputs;
  for (const std::string& name : names) {
    const auto torch = values.values.find(name);
    const auto exact = values.expected.find(name);
    if (torch == values.values.end() || exact == values.expected.end()) {
      return InternalError(fmt::format("the bridge gave no expected values for '{}'", name));
    }
    ExpectedOutput output{.name = name,
                          .dtype = torch->second.dtype,
                          .shape = torch->second.shape,
                          .exact = Elements(exact->second),
                          .torch = Elements(torch->second),
                          .magnitude = std::move(magnitudes[name]),
                          .sum_length = sum_length};
    if (output.exact.size() != output.torch.size()) {
      return InternalError(fmt::format("the bridge gave two sizes for '{}'", name));
    }
    if (output.magnitude.size() != output.exact.size()) output.magnitude.clear();
    outputs.push_back(std::move(output));
  }
  return outputs;
}

bool HasFiniteResults(const CaseTensors& values, const std::vector<std::string>& names) {
  const auto finite = [](const HostTensor& tensor) {
    const std::vector<double> elements = Elements(tensor);
    return std::all_of(elements.begin(), elements.end(),
                       [](double value) { return std::isfinite(value); });
  };
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto torch = values.values.find(name);
    const auto exact = values.expected.find(name);
    return torch != values.values.end() && exact != values.expected.end() &&
           finite(exact->second) && finite(torch->second);
  });
}

double RmsOfFinite(const std::vector<double>& values) {
  double squares = 0;
  size_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

double RmsOfFinite(const HostTensor& tensor) { return RmsOfFinite(Elements(tensor)); }

double ExpectedOutput::Rms() const { return RmsOfFinite(exact); }

Result<CaseTensors> EvaluateHere(const Graph& graph, TensorMap values) {
  KS_TRY(const std::vector<Tensor<double>> exact_inputs, GraphInputs<double>(graph, values));
  ConversionWatch watch(graph);
  EvaluateOptions<double> watched;
  watched.observe = [&](size_t node, const std::vector<Tensor<double>>& results) {
    watch.After(node, results);
  };
  KS_TRY(const std::vector<Tensor<double>> exact, Evaluate<double>(graph, exact_inputs, watched));
  if (watch.undefined()) {
    return Error(ErrorKind::kInvalidInput, "a float that no integer holds becomes an integer");
  }
  KS_TRY(const std::vector<Tensor<float>> inputs, GraphInputs<float>(graph, values));
  EvaluateOptions<float> rounded;
  rounded.round_to_dtype = true;
  KS_TRY(const std::vector<Tensor<float>> narrow, Evaluate<float>(graph, inputs, rounded));
  CaseTensors result{.values = std::move(values), .expected = {}};
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string name = graph.OutputName(graph.outputs[i]);
    const DType dtype = graph.meta(graph.outputs[i].value).dtype;
    result.values[name] = ToHost(narrow[i], dtype);
    result.expected[name] = ToHost(exact[i], IsFloat(dtype) ? DType::kFloat64 : dtype);
  }
  return result;
}

std::optional<std::vector<bool>> NearTies(const Graph& graph, const std::string& name,
                                          const TensorMap& values) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.OutputName(graph.outputs[i]) != name) continue;
    const DType dtype = graph.meta(graph.outputs[i].value).dtype;
    const Algebra algebra(1, dtype == DType::kFloat16    ? Precision::kFloat16
                             : dtype == DType::kBfloat16 ? Precision::kBfloat16
                                                         : Precision::kFloat32);
    const AlgebraScope scope(&algebra);
    const auto inputs = GraphInputs<Symbolic>(graph, values);
    if (!inputs.ok()) return std::nullopt;
    const auto results = Evaluate<Symbolic>(graph, *inputs);
    if (!results.ok()) return std::nullopt;
    const Tensor<Symbolic>& result = (*results)[i];
    std::vector<bool> ties(static_cast<size_t>(result.count()));
    for (int64_t k = 0; k < result.count(); ++k) {
      ties[static_cast<size_t>(k)] = result[k].s.has(kNearTie);
    }
    return ties;
  }
  return std::nullopt;
}

bool NothingIsRounded(const Graph& graph, const TensorMap& values) {
  const auto exact_inputs = GraphInputs<double>(graph, values);
  const auto inputs = GraphInputs<float>(graph, values);
  if (!exact_inputs.ok() || !inputs.ok()) return false;
  std::map<size_t, std::vector<Tensor<double>>> exact;
  EvaluateOptions<double> keep;
  keep.observe = [&](size_t node, const std::vector<Tensor<double>>& results) {
    exact[node] = results;
  };
  bool same = true;
  EvaluateOptions<float> compare;
  compare.round_to_dtype = true;
  compare.observe = [&](size_t node, const std::vector<Tensor<float>>& results) {
    const std::vector<Tensor<double>>& others = exact[node];
    for (size_t i = 0; i < results.size() && same; ++i) {
      for (int64_t k = 0; k < results[i].count() && same; ++k) {
        same = static_cast<double>(results[i][k]) == others[i][k];
      }
    }
  };
  return Evaluate<double>(graph, *exact_inputs, keep).ok() &&
         Evaluate<float>(graph, *inputs, compare).ok() && same;
}

bool ChoosesInside(const Graph& graph) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.kind != NodeKind::kOperator) continue;
    const std::optional<size_t> chosen = ChosenResult(node);
    if (!chosen) continue;
    for (const Node& user : graph.nodes) {
      if (user.kind != NodeKind::kOperator) continue;
      for (const Argument& argument : user.args) {
        if (Refers(argument, {n, *chosen})) return true;
      }
    }
  }
  return false;
}

bool HasOneAnswer(const Graph& graph, const std::string& name) {
  for (const GraphOutput& output : graph.outputs) {
    if (graph.OutputName(output) != name) continue;
    const std::optional<Choice> choice = FindChoice(graph, output);
    return !choice || choice->kind == ChoiceKind::kExtreme;
  }
  return false;
}

OutputJudgement JudgeOutput(const Graph& graph, const ExpectedOutput& expected,
                            const HostTensor& got, const TensorMap& values,
                            const JudgementOptions& options) {
  OutputJudgement judgement;
  const std::vector<double> elements = Elements(got);
  judgement.numbers = CompareNumbers(elements, expected.Reference(options.epsilon));
  judgement.allclose = AllClose(elements, expected.torch, options.rtol, options.atol);
  judgement.right = judgement.numbers.passed();
  if (judgement.right) return judgement;
  judgement.decided = NothingIsRounded(graph, values);
  const bool one_answer = judgement.decided && FirstIsDocumented(graph, expected.name);
  if (!one_answer && ValidWitness(graph, expected.name, got, values)) {
    judgement.right = true;
    judgement.numbers.wrong = 0;
    judgement.numbers.worst = 0;
    return judgement;
  }
  judgement.several_answers =
      ChoosesInside(graph) && !(judgement.decided && AllAreDocumented(graph));
  const double error = std::abs(judgement.numbers.got - judgement.numbers.expected);
  const double size =
      std::max({std::abs(judgement.numbers.expected), expected.Rms(), options.usual_rms});
  const double eps = std::max(UnitRoundoff(expected.dtype), options.epsilon);
  // Written so that a NaN is gross.
  judgement.gross = !(error <= std::max(1e-3, 32 * eps) * size);
  return judgement;
}

}  // namespace kernelsmith
