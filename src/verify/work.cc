#include "verify/work.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/aten_ops.h"
#include "support/check.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {
namespace {

uint64_t Elements(const TensorMeta& meta) {
  return static_cast<uint64_t>(ElementCount(meta.shape).value_or(0));
}

// Tensors among the arguments, lists included.
void Collect(const Graph& graph, const Argument& argument, std::vector<const TensorMeta*>* found) {
  if (const auto* ref = std::get_if<ValueRef>(&argument.value)) {
    if (graph.nodes[ref->node].outputs[ref->index]) found->push_back(&graph.meta(*ref));
  } else if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
    for (const Argument& each : *list) Collect(graph, each, found);
  }
}

// Terms of each sum that the operator makes of one element of its result; 1: none.
uint64_t Terms(const Node& node, const std::vector<const TensorMeta*>& arguments) {
  const auto last_size = [&](size_t i) -> uint64_t {
    if (i >= arguments.size() || arguments[i]->shape.empty()) return 1;
    return static_cast<uint64_t>(arguments[i]->shape.back());
  };
  const Sums& sums = OperatorOf(node.aten).facts.sums;
  switch (sums.kind) {
    case SumKind::kProduct:
      return last_size(sums.argument);
    case SumKind::kFilter:
    case SumKind::kFilterGradients: {
      // Elements of one filter. A transposed convolution's weight has them in the other order,
      // which is close enough; both gradients of a backward pass cost as much as the forward pass.
      if (sums.argument >= arguments.size() || arguments[sums.argument]->shape.empty()) return 1;
      const TensorMeta& weight = *arguments[sums.argument];
      const auto filters = static_cast<uint64_t>(std::max<int64_t>(weight.shape[0], 1));
      return Elements(weight) / filters * (sums.kind == SumKind::kFilterGradients ? 2 : 1);
    }
    case SumKind::kNoSums:
    case SumKind::kAxis:
    case SumKind::kScattered:
      return 1;
  }
  KS_UNREACHABLE();
}

// What an operator reads and writes.
struct Traffic {
  std::vector<const TensorMeta*> arguments;
  uint64_t read = 0;
  uint64_t largest = 0;  // argument
  uint64_t written = 0;
  uint64_t smallest = 0;  // result
};

Traffic TrafficOf(const Graph& graph, const Node& node) {
  Traffic traffic;
  for (const Argument& argument : node.args) Collect(graph, argument, &traffic.arguments);
  for (const TensorMeta* each : traffic.arguments) {
    traffic.read += Elements(*each);
    traffic.largest = std::max(traffic.largest, Elements(*each));
  }
  traffic.smallest = std::numeric_limits<uint64_t>::max();
  for (const auto& output : node.outputs) {
    if (!output) continue;
    traffic.written += Elements(*output);
    traffic.smallest = std::min(traffic.smallest, Elements(*output));
  }
  return traffic;
}

// The longest sum that neither the terms of a result nor the shapes tell of.
uint64_t LongestInside(const Node& node, const Traffic& traffic) {
  uint64_t longest = 1;
  switch (OperatorOf(node.aten).facts.sums.kind) {
    case SumKind::kAxis:
      if (traffic.arguments.empty()) break;
      for (const int64_t size : traffic.arguments[0]->shape) {
        longest = std::max(longest, static_cast<uint64_t>(size));
      }
      break;
    case SumKind::kScattered:
      return traffic.largest;
    case SumKind::kFilterGradients:
      // The gradient of a weight is a sum over all of the batch.
      return Elements(*traffic.arguments[0]);
    case SumKind::kNoSums:
    case SumKind::kProduct:
    case SumKind::kFilter:
      break;
  }
  return longest;
}

}  // namespace

uint64_t LongestSum(const Graph& graph) {
  uint64_t longest = 1;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kOperator) continue;
    const Traffic traffic = TrafficOf(graph, node);
    longest = std::max(longest, Terms(node, traffic.arguments));
    // What has a result that is smaller than an argument adds up, for all that is known of it: a
    // normalisation's mean is one.
    longest = std::max(longest, traffic.largest / std::max<uint64_t>(traffic.smallest, 1));
    longest = std::max(longest, LongestInside(node, traffic));
  }
  return longest;
}

double LongSumRoundings(const Graph& graph) {
  return 2 * std::sqrt(static_cast<double>(LongestSum(graph)));
}

uint64_t GraphWork(const Graph& graph) {
  uint64_t work = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kOperator) continue;
    const Traffic traffic = TrafficOf(graph, node);
    const uint64_t terms = Terms(node, traffic.arguments);
    // A backward convolution makes its sums for every element of the gradient that comes in.
    const bool backward = OperatorOf(node.aten).facts.sums.kind == SumKind::kFilterGradients;
    const uint64_t sums =
        backward && !traffic.arguments.empty() ? Elements(*traffic.arguments[0]) : traffic.written;
    work += terms > 1 ? sums * terms : traffic.read + traffic.written;
  }
  return work;
}

}  // namespace kernelsmith
