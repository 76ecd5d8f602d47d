#include "graph/evaluate.h"

#include <fmt/format.h>

#include <cmath>
#include <new>

#include "graph/aten_ops.h"
#include "graph/call.h"
#include "support/check.h"

namespace kernelsmith {

namespace {

template <typename T>
const ImplementationTable<T>& Implementations() {
  static const ImplementationTable<T> table = [] {
    ImplementationTable<T> all;
    all.rows.resize(AllOperators().size() + 1);
    AddPointwise(&all);
    AddReductions(&all);
    AddLayout(&all);
    AddLinear(&all);
    AddWindows(&all);
    AddNorms(&all);
    return all;
  }();
  return table;
}

// The largest integer up to which all are exact in T.
template <typename T>
constexpr double kExactIntegers = 0x1p53;
template <>
constexpr double kExactIntegers<float> = 0x1p24;

template <typename T>
T WrapInteger(const T& x, DType dtype) {
  const double value = Float(x);
  const double wrapped = RoundTo(dtype, value);
  if (wrapped == value) return x;
  return Select(x, Number<T>(wrapped), Number<T>(wrapped));  // keeps a near tie
}

// Brings a result into its dtype: integers wrap, floats are rounded if asked.
template <typename T>
void Finish(const TensorMeta& meta, bool round, Tensor<T>* result) {
  if (result->shape != meta.shape) {
    throw OperatorError(fmt::format("gives shape {} where the graph says {}",
                                    FormatShape(result->shape), FormatShape(meta.shape)));
  }
  result->dtype = meta.dtype;
  if (IsInteger(meta.dtype)) {
    bool changes = false;
    for (int64_t i = 0; i < result->count(); ++i) {
      const double value = Float((*result)[i]);
      if (std::fabs(value) > kExactIntegers<T>)
        throw OperatorError("an integer too large to be exact");
      changes |= RoundTo(meta.dtype, value) != value;
    }
    if (!changes) return;
    Tensor<T> wrapped(meta.dtype, meta.shape);
    for (int64_t i = 0; i < wrapped.count(); ++i)
      wrapped[i] = WrapInteger((*result)[i], meta.dtype);
    *result = wrapped;
    return;
  }
  if constexpr (Machine<T>) {
    if (!round || !IsFloat(meta.dtype) || meta.dtype == DType::kFloat64) return;
    Tensor<T> rounded(meta.dtype, meta.shape);
    ParallelFor(rounded.count(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        rounded[i] = static_cast<T>(RoundTo(meta.dtype, (*result)[i]));
    });
    *result = rounded;
  }
}

template <typename T>
Tensor<T> ConstantTensor(const HostTensor& data) {
  if constexpr (std::is_same_v<T, Symbolic>) {
    return SymbolicConstants(data);
  } else {
    return FromHost<T>(data);
  }
}

// The last node that uses each node's results; outputs are used by all.
std::vector<size_t> LastUses(const Graph& graph) {
  std::vector<size_t> last(graph.nodes.size(), 0);
  const auto visit = [&](auto&& self, const Argument& argument, size_t user) -> void {
    if (const auto* ref = std::get_if<ValueRef>(&argument.value)) last[ref->node] = user;
    if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (const Argument& item : *list) self(self, item, user);
    }
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    last[i] = i;
    for (const Argument& argument : graph.nodes[i].args) visit(visit, argument, i);
    if (graph.nodes[i].aten == AtenOp::kAsStrided) {
      const auto* operand = std::get_if<ValueRef>(&graph.nodes[i].args[0].value);
      if (operand != nullptr) last[StorageOf(graph, *operand).node] = i;
    }
  }
  for (const GraphOutput& output : graph.outputs) last[output.value.node] = graph.nodes.size();
  return last;
}

Error NodeError(const Graph& graph, const Node& node, std::string_view what, ErrorKind kind) {
  return {kind,
          Diagnostic{.where = {.file = graph.file},
                     .message = fmt::format("node '{}' ({}{}{}): {}", node.name, node.op,
                                            node.where.empty() ? "" : ", ", node.where, what)}};
}

template <typename T>
Result<Tensors<T>> RunNode(const Graph& graph, const Node& node,
                           const std::vector<Tensors<T>>& values, bool round) {
  const Implementation<T> implementation =
      Implementations<T>().rows[static_cast<size_t>(node.aten)];
  KS_CHECK(implementation != nullptr, node.op);
  try {
    Tensors<T> results = implementation(Call<T>(graph, node, values));
    if (results.size() < node.outputs.size()) {
      throw OperatorError("the graph names more results than the operator has");
    }
    results.resize(node.outputs.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (!node.outputs[i]) {
        results[i] = {};
        continue;
      }
      Require(results[i].defined(), "no result where the graph names one");
      Finish(*node.outputs[i], round, &results[i]);
    }
    return results;
  } catch (const OperatorError& error) {
    return NodeError(graph, node, error.what(), ErrorKind::kInvalidInput);
  } catch (const std::bad_alloc&) {
    return NodeError(graph, node, "not enough memory", ErrorKind::kTimeout);
  }
}

}  // namespace

template <typename T>
Result<std::vector<Tensor<T>>> Evaluate(const Graph& graph, const std::vector<Tensor<T>>& inputs,
                                        const EvaluateOptions<T>& options) {
  KS_RETURN_IF_ERROR(CheckOperators(graph));
  if (inputs.size() != graph.placeholders.size()) {
    return InvalidInput(fmt::format("{}: {} inputs where the graph has {} placeholders", graph.file,
                                    inputs.size(), graph.placeholders.size()));
  }
  std::vector<Tensors<T>> values(graph.nodes.size());
  const std::vector<size_t> last_uses = LastUses(graph);
  size_t next_input = 0;
  std::vector<std::vector<size_t>> dying(graph.nodes.size() + 1);
  for (size_t i = 0; i < last_uses.size(); ++i) dying[last_uses[i]].push_back(i);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::kPlaceholder) {
      const Tensor<T>& input = inputs[next_input++];
      if (input.shape != node.outputs[0]->shape) {
        return InvalidInput(fmt::format("{}: input '{}' has shape {} where the graph says {}",
                                        graph.file, node.name, FormatShape(input.shape),
                                        FormatShape(node.outputs[0]->shape)));
      }
      values[i] = {input.WithDType(node.outputs[0]->dtype)};
    } else if (node.kind == NodeKind::kConstant) {
      values[i] = {ConstantTensor<T>(node.data)};
    } else {
      KS_TRY(values[i], RunNode(graph, node, values, options.round_to_dtype));
    }
    if (options.observe) options.observe(i, values[i]);
    for (const size_t done : dying[i]) values[done].clear();
  }
  std::vector<Tensor<T>> outputs;
  for (const GraphOutput& output : graph.outputs)
    outputs.push_back(values[output.value.node][output.value.index]);
  return outputs;
}

template <typename T>
Result<std::vector<Tensor<T>>> GraphInputs(const Graph& graph, const TensorMap& tensors) {
  std::vector<Tensor<T>> inputs;
  uint64_t next_input = 0;
  for (const size_t index : graph.placeholders) {
    const Node& node = graph.nodes[index];
    const auto found = tensors.find(node.name);
    if (found == tensors.end())
      return InvalidInput(fmt::format("{}: no data for '{}'", graph.file, node.name));
    if (found->second.shape != node.outputs[0]->shape) {
      return InvalidInput(fmt::format("{}: data for '{}' has shape {} where the graph says {}",
                                      graph.file, node.name, FormatShape(found->second.shape),
                                      FormatShape(node.outputs[0]->shape)));
    }
    if constexpr (std::is_same_v<T, Symbolic>) {
      inputs.push_back(SymbolicInputs(found->second, next_input));
      next_input += static_cast<uint64_t>(found->second.count());
    } else {
      inputs.push_back(FromHost<T>(found->second));
    }
  }
  return inputs;
}

#define KS_INSTANTIATE(T)                                                                          \
  template Result<std::vector<Tensor<T>>> Evaluate<T>(const Graph&, const std::vector<Tensor<T>>&, \
                                                      const EvaluateOptions<T>&);                  \
  template Result<std::vector<Tensor<T>>> GraphInputs<T>(const Graph&, const TensorMap&);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
