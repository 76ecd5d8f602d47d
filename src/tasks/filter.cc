#include "tasks/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "graph/aten_ops.h"
#include "graph/evaluate.h"
#include "graph/graph.h"
#include "support/json.h"
#include "support/rng.h"
#include "tasks/truncate.h"
#include "tensor/safetensors.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// More reductions than this say nothing new about a task.
constexpr size_t kMostTruncations = 8;
// Fresh symbols start here: beyond every input that GraphInputs numbers.
constexpr uint64_t kFreshInputs = uint64_t{1} << 40;

using Values = std::vector<double>;

Values Doubles(const HostTensor& tensor) {
  Values values(static_cast<size_t>(tensor.count()));
  for (int64_t i = 0; i < tensor.count(); ++i) values[static_cast<size_t>(i)] = tensor.at(i);
  return values;
}

template <typename T>
Values Doubles(const Tensor<T>& tensor) {
  Values values(static_cast<size_t>(tensor.count()));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    values[static_cast<size_t>(i)] = static_cast<double>(tensor[i]);
  }
  return values;
}

// Did a result change by more than rounding?
bool Moved(const Values& a, const Values& b) {
  double largest = 0;
  for (const double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return true;
    if (std::abs(a[i] - b[i]) > 1e-9 * largest) return true;
  }
  return false;
}

// The results of a graph by name, in float64.
using Outputs = std::map<std::string, Values>;

Result<Outputs> Run(const Graph& graph, const TensorMap& values) {
  KS_TRY(const std::vector<Tensor<double>> inputs, GraphInputs<double>(graph, values));
  KS_TRY(const std::vector<Tensor<double>> results, Evaluate<double>(graph, inputs));
  Outputs outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs[graph.OutputName(graph.outputs[i])] = Doubles(results[i]);
  }
  return outputs;
}

// 128 bits: equal hashes of different values are out of the question.
class ShadowHash {
 public:
  void Add(uint64_t value) {
    a_ = (a_ ^ value) * 0x9E3779B97F4A7C15u;
    a_ ^= a_ >> 29;
    b_ = (b_ + value) * 0xD1B54A32D192ED03u;
    b_ ^= b_ >> 32;
  }
  std::string Text() const { return fmt::format(" {:016x}{:016x}", a_, b_); }

 private:
  uint64_t a_ = 1, b_ = 2;
};

class Filter {
 public:
  Filter(const TaskGraph& signature, const CaseTensors& sample, const CaseTensors& other,
         const AcceptsOutput& accepts, uint64_t seed)
      : signature_(signature), sample_(sample), other_(other), accepts_(accepts), seed_(seed) {}

  Result<TaskReport> Run();

 private:
  // Is `got` accepted for every result?
  bool Accepted(const Outputs& got) const;
  void Control(const std::string& name, const Outputs& got);
  void SimpleControls();
  Status IgnoredInputs();
  Status Truncations(const json& document);
  void Scales();
  Status Algebra();
  // One draw: node values by shadow, and the influence of each placeholder.
  struct Draw {
    std::vector<std::string> keys;  // a key for each node's first result; empty: not comparable
    std::vector<bool> constant;     // every element is a rational constant
    std::vector<std::optional<bool>> influence;  // by placeholder; nothing: not shown
  };
  Result<Draw> DrawSymbols(const TensorMap& values, uint64_t seed);
  void Redundancy(const Draw& one, const Draw& two);

  const TaskGraph& signature_;
  const CaseTensors& sample_;
  const CaseTensors& other_;
  const AcceptsOutput& accepts_;
  const uint64_t seed_;
  Graph graph_;
  TensorMap constants_;
  std::vector<std::string> results_;
  Outputs exact_;
  Outputs magnitude_;
  TaskReport report_;
};

bool Filter::Accepted(const Outputs& got) const {
  for (const std::string& name : results_) {
    const HostTensor& torch = sample_.values.at(name);
    const Values torch_values = Doubles(torch);
    const auto magnitude = magnitude_.find(name);
    OutputUnderTest output;
    output.name = name;
    output.dtype = torch.dtype;
    output.shape = torch.shape;
    output.got = got.at(name);
    output.exact = exact_.at(name);
    output.torch = torch_values;
    if (magnitude != magnitude_.end()) output.magnitude = magnitude->second;
    if (!accepts_(output)) return false;
  }
  return true;
}

void Filter::Control(const std::string& name, const Outputs& got) {
  const bool refuted = !Accepted(got);
  report_.controls.push_back({name, refuted});
  if (!refuted) {
    report_.findings.push_back(
        {FindingKind::kControlPasses, fmt::format("a kernel that returns '{}' passes", name)});
  }
}

void Filter::SimpleControls() {
  Outputs zeros, constant, shuffled, input;
  Rng rng(seed_);
  bool can_shuffle = false, has_input = false;
  for (const std::string& name : results_) {
    const Values& exact = exact_.at(name);
    zeros[name] = Values(exact.size(), 0.0);
    const double mean =
        exact.empty() ? 0 : std::accumulate(exact.begin(), exact.end(), 0.0) / double(exact.size());
    constant[name] = Values(exact.size(), mean);
    Values mixed = exact;
    for (size_t i = mixed.size(); i > 1; --i) std::swap(mixed[i - 1], mixed[rng.Below(i)]);
    can_shuffle |= mixed != exact;
    shuffled[name] = std::move(mixed);
    // The first argument of the result's size; a result without one stays right.
    input[name] = exact;
    for (const TensorSpec& spec : signature_.tensors) {
      const auto found = sample_.values.find(spec.name);
      if (found == sample_.values.end() || size_t(found->second.count()) != exact.size()) continue;
      input[name] = Doubles(found->second);
      has_input = true;
      break;
    }
  }
  Control("zeros", zeros);
  const bool one_element = std::all_of(results_.begin(), results_.end(), [&](const auto& name) {
    return exact_.at(name).size() <= 1;
  });
  // The mean of a single number is the number.
  if (!one_element) Control("its own mean everywhere", constant);
  if (can_shuffle) Control("the right values shuffled", shuffled);
  if (has_input) Control("an argument as it is", input);
}

Status Filter::IgnoredInputs() {
  for (const size_t node : graph_.placeholders) {
    const std::string& name = graph_.nodes[node].name;
    const auto replacement = other_.values.find(name);
    if (replacement == other_.values.end()) continue;
    TensorMap values = sample_.values;
    values[name] = replacement->second;
    KS_TRY(const Outputs got, kernelsmith::Run(graph_, values));
    // Where the exact result does not change, nothing was ignored: the algebra speaks about that.
    bool changed = false;
    for (const std::string& result : results_) changed |= got.at(result) != exact_.at(result);
    if (changed) Control(name + " ignored", got);
  }
  return {};
}

Status Filter::Truncations(const json& document) {
  for (const TruncatedGraph& truncated : TruncateReductions(document, kMostTruncations)) {
    const Result<Graph> graph =
        ParseGraph(truncated.document.dump(), signature_.file.string(), constants_);
    if (!graph.ok()) return graph.error();
    KS_TRY(const Outputs got, kernelsmith::Run(*graph, sample_.values));
    bool changed = false;
    for (const std::string& result : results_) changed |= got.at(result) != exact_.at(result);
    if (changed) Control(truncated.name, got);
  }
  return {};
}

void Filter::Scales() {
  for (const std::string& name : results_) {
    const Values& exact = exact_.at(name);
    const auto second = other_.expected.find(name);
    OutputScale scale{.name = name};
    double squares = 0, differences = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      const double value = exact[i];
      scale.smallest = i == 0 ? value : std::min(scale.smallest, value);
      scale.largest = i == 0 ? value : std::max(scale.largest, value);
      squares += value * value;
      if (second != other_.expected.end()) {
        const double difference = value - second->second.at(static_cast<int64_t>(i));
        differences += difference * difference;
      }
    }
    if (!exact.empty()) scale.rms = std::sqrt(squares / double(exact.size()));
    if (squares > 0) scale.change = std::sqrt(differences / squares);
    report_.scales.push_back(scale);
  }
}

bool SameShadow(const Shadow& x, const Shadow& y) { return Algebra::Current().Same(x, y); }

Result<Filter::Draw> Filter::DrawSymbols(const TensorMap& values, uint64_t seed) {
  const kernelsmith::Algebra algebra(seed);
  const AlgebraScope scope(&algebra);
  KS_TRY(std::vector<Tensor<Symbolic>> inputs, GraphInputs<Symbolic>(graph_, values));
  Draw draw;
  draw.keys.resize(graph_.nodes.size());
  draw.constant.resize(graph_.nodes.size());
  const auto describe = [&](size_t node, const Tensor<Symbolic>& tensor) {
    if (!IsFloat(tensor.dtype) || tensor.count() == 0) return;
    ShadowHash hash;
    bool constant = true;
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const Shadow& s = tensor[i].s;
      if (s.has(kTaints) || !s.has(kHasParts) || !std::isfinite(tensor[i].v)) return;
      constant &= s.has(kRational);
      hash.Add(s.has(kHasP) ? s.p : 0);
      hash.Add(s.has(kHasQ) ? s.q : 0);
      hash.Add(s.has(kHasLog) ? s.a : 0);
      hash.Add(s.has(kHasLog) ? s.den : 0);
    }
    draw.keys[node] = FormatShape(tensor.shape) + hash.Text();
    draw.constant[node] = constant;
  };
  for (size_t i = 0; i < inputs.size(); ++i) describe(graph_.placeholders[i], inputs[i]);
  EvaluateOptions<Symbolic> options;
  options.observe = [&](size_t node, const std::vector<Tensor<Symbolic>>& results) {
    if (!results.empty() && results[0].defined()) describe(node, results[0]);
  };
  KS_TRY(const std::vector<Tensor<Symbolic>> base, Evaluate<Symbolic>(graph_, inputs, options));

  draw.influence.resize(inputs.size());
  for (size_t p = 0; p < inputs.size(); ++p) {
    std::vector<Tensor<Symbolic>> changed = inputs;
    if (!IsFloat(inputs[p].dtype)) continue;
    // Other symbols under the same floats: every decision falls as before.
    Tensor<Symbolic> fresh(inputs[p].dtype, inputs[p].shape);
    for (int64_t i = 0; i < fresh.count(); ++i) {
      fresh[i] = SymbolicInput(inputs[p][i].v, kFreshInputs + static_cast<uint64_t>(i));
    }
    changed[p] = fresh;
    KS_TRY(const std::vector<Tensor<Symbolic>> got, Evaluate<Symbolic>(graph_, changed));
    bool different = false, unsure = false;
    for (size_t o = 0; o < got.size() && !different; ++o) {
      for (int64_t i = 0; i < got[o].count() && !different; ++i) {
        const Symbolic &x = got[o][i], &y = base[o][i];
        if (x.s.has(kHasParts) && y.s.has(kHasParts) && !SameShadow(x.s, y.s)) {
          // A taint makes a mismatch doubtful as a proof of inequality, not of influence: the parts
          // changed because this placeholder's symbols did.
          different = true;
        } else if (!x.s.has(kHasParts) && std::isfinite(x.v)) {
          unsure = true;
        }
      }
    }
    if (different || !unsure) draw.influence[p] = different;
  }
  return draw;
}

void Filter::Redundancy(const Draw& one, const Draw& two) {
  std::vector<bool> from_input(graph_.nodes.size(), false);
  for (const size_t node : graph_.placeholders) from_input[node] = true;
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (node.kind == NodeKind::kOperator) {
      const auto visit = [&](const auto& self, const Argument& argument) -> void {
        if (const auto* ref = std::get_if<ValueRef>(&argument.value)) {
          if (from_input[ref->node]) from_input[i] = true;
        } else if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
          for (const Argument& item : *list) self(self, item);
        }
      };
      for (const Argument& argument : node.args) visit(visit, argument);
    }
    if (one.keys[i].empty() || two.keys[i].empty()) continue;
    const std::string where = node.where.empty() ? "" : " (" + node.where + ")";
    const bool trivial = node.kind != NodeKind::kOperator || OperatorOf(node.aten).facts.trivial;
    // Other inputs under another algebra, and still the same field elements.
    if ((one.constant[i] && two.constant[i]) || one.keys[i] == two.keys[i]) {
      if (!trivial && from_input[i]) {
        report_.findings.push_back(
            {FindingKind::kConstantWork,
             fmt::format("{}{} gives the same numbers for every input", node.op, where)});
      }
      continue;
    }
    const auto [found, is_new] = first.emplace(one.keys[i] + "|" + two.keys[i], i);
    if (is_new || trivial) continue;
    const Node& earlier = graph_.nodes[found->second];
    const std::string before =
        earlier.kind == NodeKind::kPlaceholder
            ? fmt::format("the argument {}", earlier.name)
            : fmt::format("{}{}", earlier.op,
                          earlier.where.empty() ? "" : " (" + earlier.where + ")");
    report_.findings.push_back({FindingKind::kDuplicateWork,
                                fmt::format("{}{} computes {} again", node.op, where, before)});
  }
}

Status Filter::Algebra() {
  const Result<Draw> one = DrawSymbols(sample_.values, seed_);
  const Result<Draw> two = one.ok() ? DrawSymbols(other_.values, seed_ + 1) : one;
  if (!one.ok() || !two.ok()) {
    report_.algebra_missing = (one.ok() ? two : one).error().message();
    return {};
  }
  bool any_influence = false;
  for (size_t p = 0; p < graph_.placeholders.size(); ++p) {
    const Node& node = graph_.nodes[graph_.placeholders[p]];
    // Integers and decisions (an argmax) have no symbols: there a changed value must change a
    // result.
    bool numeric = false;
    if (const auto replacement = other_.values.find(node.name);
        replacement != other_.values.end()) {
      TensorMap values = sample_.values;
      values[node.name] = replacement->second;
      KS_TRY(const Outputs got, kernelsmith::Run(graph_, values));
      for (const std::string& result : results_)
        numeric |= Moved(got.at(result), exact_.at(result));
    }
    const std::optional<bool> first = one->influence[p], second = two->influence[p];
    if (first.value_or(false) || second.value_or(false) || numeric) {
      report_.depends_on.push_back(node.name);
      any_influence = true;
    } else if (!IsFloat(node.outputs[0]->dtype) || (first.has_value() && second.has_value())) {
      if (graph_.backward && node.role != PlaceholderRole::kTangent) {
        report_.not_needed.push_back(node.name);
        continue;
      }
      const char* const what = node.role == PlaceholderRole::kInput       ? "input"
                               : node.role == PlaceholderRole::kTangent   ? "gradient"
                               : node.role == PlaceholderRole::kParameter ? "parameter"
                                                                          : "buffer";
      report_.findings.push_back(
          {FindingKind::kIndependent, fmt::format("no result depends on the {} {}", what,
                                                  node.origin.empty() ? node.name : node.origin)});
    } else {
      report_.inconclusive.push_back(node.name);
    }
  }
  if (!any_influence && report_.inconclusive.empty()) {
    report_.findings.push_back(
        {FindingKind::kConstantResult, "the results are the same for every input"});
  }
  // PyTorch's own derivative formulas repeat work on their own account: no fault of the task.
  if (!graph_.backward) Redundancy(*one, *two);
  return {};
}

Result<TaskReport> Filter::Run() {
  KS_TRY(graph_, ReadGraph(signature_.file));
  KS_RETURN_IF_ERROR(CheckOperators(graph_));
  const std::filesystem::path constants =
      std::filesystem::path(signature_.file).replace_extension(".constants.safetensors");
  if (std::filesystem::exists(constants)) {
    KS_TRY(Safetensors read, ReadSafetensors(constants));
    constants_ = std::move(read.tensors);
  }
  results_ = signature_.AllResults();
  KS_TRY(exact_, kernelsmith::Run(graph_, sample_.values));
  for (const std::string& name : results_) {
    if (!exact_.contains(name) || !sample_.values.contains(name)) {
      return InternalError("the graph does not give the result " + name);
    }
  }
  KS_TRY(const std::vector<Tensor<Bounded>> bounded_inputs,
         GraphInputs<Bounded>(graph_, sample_.values));
  KS_TRY(const std::vector<Tensor<Bounded>> bounded, Evaluate<Bounded>(graph_, bounded_inputs));
  for (size_t i = 0; i < bounded.size(); ++i) {
    Values scale(static_cast<size_t>(bounded[i].count()));
    for (int64_t j = 0; j < bounded[i].count(); ++j) scale[size_t(j)] = bounded[i][j].m;
    magnitude_[graph_.OutputName(graph_.outputs[i])] = std::move(scale);
  }
  DiskFileSystem files;
  KS_TRY(const std::string text, files.Read(signature_.file));
  KS_TRY(const json document, ParseJson(text, signature_.file.string()));
  Scales();
  SimpleControls();
  KS_RETURN_IF_ERROR(IgnoredInputs());
  KS_RETURN_IF_ERROR(Truncations(document));
  KS_RETURN_IF_ERROR(Algebra());
  return std::move(report_);
}

}  // namespace

bool TaskReport::weak() const {
  return std::any_of(findings.begin(), findings.end(), [](const TaskFinding& finding) {
    return finding.kind == FindingKind::kControlPasses ||
           finding.kind == FindingKind::kIndependent ||
           finding.kind == FindingKind::kConstantResult;
  });
}

bool TaskReport::redundant() const {
  return std::any_of(findings.begin(), findings.end(), [](const TaskFinding& finding) {
    return finding.kind == FindingKind::kConstantWork ||
           finding.kind == FindingKind::kDuplicateWork;
  });
}

Result<TaskReport> FilterTask(const TaskGraph& graph, const CaseTensors& sample,
                              const CaseTensors& other, const AcceptsOutput& accepts,
                              uint64_t seed) {
  return Filter(graph, sample, other, accepts, seed).Run();
}

}  // namespace kernelsmith
