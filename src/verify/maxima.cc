#include "verify/maxima.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "graph/aten_ops.h"
#include "graph/evaluate.h"

namespace kernelsmith {
namespace {

// exp(88.8) is the largest in float32.
constexpr double kBeyondExp = 100;

bool IsSoftmax(const Node& node) { return OperatorOf(node.aten).facts.needs_maximum; }

// The axes that a softmax runs over: an integer or a list of them.
std::vector<bool> Axes(const Node& node, size_t rank) {
  std::vector<bool> over(rank);
  const auto mark = [&](const Argument& argument) {
    const auto* axis = std::get_if<int64_t>(&argument.value);
    if (axis == nullptr || rank == 0) return;
    over[static_cast<size_t>(*axis < 0 ? *axis + static_cast<int64_t>(rank) : *axis)] = true;
  };
  if (node.args.size() < 2) return over;
  if (const auto* list = std::get_if<Argument::List>(&node.args[1].value)) {
    for (const Argument& each : *list) mark(each);
  } else {
    mark(node.args[1]);
  }
  return over;
}

// The smallest of the rows' maxima.
double LowestMaximum(const Tensor<double>& input, const std::vector<bool>& over) {
  std::map<int64_t, double> maxima;  // the maximum of each row, by its number
  for (int64_t i = 0; i < input.count(); ++i) {
    int64_t rest = i;
    int64_t row = 0;
    int64_t stride = 1;
    for (size_t axis = input.shape.size(); axis-- > 0;) {
      const int64_t size = input.shape[axis];
      if (!over[axis]) {
        row += rest % size * stride;
        stride *= size;
      }
      rest /= size;
    }
    const auto [at, fresh] = maxima.emplace(row, input[i]);
    if (!fresh) at->second = std::max(at->second, input[i]);
  }
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& [row, maximum] : maxima) lowest = std::min(lowest, maximum);
  return lowest;
}

}  // namespace

bool HasSoftmax(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), IsSoftmax);
}

bool NeedsMaxima(const Graph& graph, const TensorMap& values) {
  std::map<size_t, std::vector<size_t>> users;  // the softmaxes that read each node
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!IsSoftmax(graph.nodes[n]) || graph.nodes[n].args.empty()) continue;
    if (const auto* input = std::get_if<ValueRef>(&graph.nodes[n].args[0].value)) {
      users[input->node].push_back(n);
    }
  }
  const auto inputs = GraphInputs<double>(graph, values);
  if (users.empty() || !inputs.ok()) return false;
  bool beyond = true;
  EvaluateOptions<double> watched;
  watched.observe = [&](size_t node, const std::vector<Tensor<double>>& results) {
    const auto found = users.find(node);
    if (found == users.end()) return;
    for (const size_t user : found->second) {
      const size_t which = std::get<ValueRef>(graph.nodes[user].args[0].value).index;
      const Tensor<double>& input = results[which];
      beyond &= LowestMaximum(input, Axes(graph.nodes[user], input.shape.size())) > kBeyondExp;
    }
  };
  return Evaluate<double>(graph, *inputs, watched).ok() && beyond;
}

}  // namespace kernelsmith
