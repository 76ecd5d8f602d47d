#include "verify/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/tensor.h"

namespace kernelsmith {
namespace {

Result<CallArgument> MakeArgument(const TaskArgument& argument, const TaskGraph& graph,
                                  const CaseTensors& values) {
  switch (argument.kind) {
    case TaskArgument::Kind::kNone: {
      CallArgument none;
      none.name = argument.name;
      return none;
    }
    case TaskArgument::Kind::kInt:
      return CallArgument::Int(argument.name, argument.integer);
    case TaskArgument::Kind::kFloat:
      return CallArgument::Float(argument.name, argument.number);
    case TaskArgument::Kind::kBool:
      return CallArgument::Bool(argument.name, argument.flag);
    case TaskArgument::Kind::kString: {
      CallArgument text;
      text.kind = CallArgument::Kind::kString;
      text.name = argument.name;
      text.text = argument.text;
      return text;
    }
    case TaskArgument::Kind::kTensor: {
      const auto found = values.values.find(argument.text);
      if (found == values.values.end()) {
        return InternalError(fmt::format("the bridge gave no values for '{}'", argument.text));
      }
      CallArgument tensor = CallArgument::Tensor(argument.name, found->second);
      const auto spec =
          std::find_if(graph.tensors.begin(), graph.tensors.end(),
                       [&](const TensorSpec& each) { return each.name == argument.text; });
      if (spec != graph.tensors.end()) tensor.strides = spec->strides;
      return tensor;
    }
    case TaskArgument::Kind::kList: {
      CallArgument list;
      list.kind = CallArgument::Kind::kList;
      list.name = argument.name;
      for (const TaskArgument& item : argument.items) {
        KS_TRY(CallArgument each, MakeArgument(item, graph, values));
        list.items.push_back(std::move(each));
      }
      return list;
    }
    case TaskArgument::Kind::kDict:
    case TaskArgument::Kind::kOpaque:
      break;
  }
  return Unsupported(fmt::format("argument '{}' of type {} can't be given to a CUDA function",
                                 argument.name, argument.text.empty() ? "dict" : argument.text));
}

}  // namespace

Result<std::vector<CallArgument>> MakeCallArguments(const TaskGraph& graph,
                                                    const CaseTensors& values) {
  std::vector<CallArgument> arguments;
  for (const TaskArgument& argument : graph.arguments) {
    KS_TRY(CallArgument each, MakeArgument(argument, graph, values));
    arguments.push_back(std::move(each));
  }
  return arguments;
}

std::vector<PlanTensor> ResultsOf(const Graph& graph) {
  std::vector<PlanTensor> results;
  for (const GraphOutput& output : graph.outputs) {
    if (output.role == OutputRole::kMutated) continue;
    const TensorMeta& meta = graph.meta(output.value);
    results.push_back(
        {.dtype = meta.dtype, .shape = meta.shape, .strides = RowMajorStrides(meta.shape)});
  }
  return results;
}

}  // namespace kernelsmith
