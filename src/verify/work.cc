#include "verify/work.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  for (const char* name : {"aten.mm.", "aten.bmm.", "aten.mv."}) {
    if (node.op.starts_with(name)) return last_size(0);
  }
  for (const char* name : {"aten.addmm.", "aten.baddbmm.", "aten.addmv."}) {
    if (node.op.starts_with(name)) return last_size(1);
  }
  if (node.op.starts_with("aten.convolution")) {
    // Elements of one filter. A transposed convolution's weight has them in the other order, which
    // is close enough; both gradients of a backward pass cost as much as the forward pass.
    const bool backward = node.op.starts_with("aten.convolution_backward");
    const size_t weight = backward ? 2 : 1;
    if (weight >= arguments.size() || arguments[weight]->shape.empty()) return 1;
    const auto filters = static_cast<uint64_t>(std::max<int64_t>(arguments[weight]->shape[0], 1));
    return Elements(*arguments[weight]) / filters * (backward ? 2 : 1);
  }
  return 1;
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

}  // namespace

uint64_t LongestSum(const Graph& graph) {
  uint64_t longest = 1;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kOperator) continue;
    const Traffic traffic = TrafficOf(graph, node);
    longest = std::max(longest, Terms(node, traffic.arguments));
    // What has a result that is smaller than an argument adds up, for all that its name tells: a
    // normalisation's mean is one. These have none, and sums as long as an axis; scattered
    // additions may all go to one place.
    longest = std::max(longest, traffic.largest / std::max<uint64_t>(traffic.smallest, 1));
    for (const char* word : {"cum", "softmax", "logsumexp"}) {
      if (node.op.find(word) == std::string::npos || traffic.arguments.empty()) continue;
      for (const int64_t size : traffic.arguments[0]->shape) {
        longest = std::max(longest, static_cast<uint64_t>(size));
      }
    }
    for (const char* word : {"scatter", "index_put", "index_add", "embedding_dense_backward"}) {
      if (node.op.find(word) != std::string::npos) longest = std::max(longest, traffic.largest);
    }
    // The gradient of a weight is a sum over all of the batch.
    if (node.op.starts_with("aten.convolution_backward")) {
      longest = std::max(longest, Elements(*traffic.arguments[0]));
    }
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
    const bool backward = node.op.starts_with("aten.convolution_backward");
    const uint64_t sums =
        backward && !traffic.arguments.empty() ? Elements(*traffic.arguments[0]) : traffic.written;
    work += terms > 1 ? sums * terms : traffic.read + traffic.written;
  }
  return work;
}

}  // namespace kernelsmith
