#include "candidate/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tensor/tensor.h"

namespace kernelsmith {
namespace {

Result<CallArgument> MakeArgument(const TaskArgument& argument, const TaskGraph& graph,
                                  const TensorMap& values) {
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
      const auto found = values.find(argument.text);
      if (found == values.end()) {
        return InternalError(fmt::format("the bridge gave no values for '{}'", argument.text));
      }
      CallArgument tensor = CallArgument::Tensor(argument.name, found->second);
      const auto spec =
          std::find_if(graph.tensors.begin(), graph.tensors.end(),
                       [&](const TensorSpec& each) { return each.name == argument.text; });
      if (spec != graph.tensors.end()) {
        tensor.strides = spec->strides;
        tensor.offset = spec->offset;
      }
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

// Everything but the values of tensors.
nlohmann::json Describe(const CallArgument& argument) {
  using Kind = CallArgument::Kind;
  nlohmann::json described = {{"kind", static_cast<int>(argument.kind)}, {"name", argument.name}};
  switch (argument.kind) {
    case Kind::kNone:
      break;
    case Kind::kTensor:
      described["dtype"] = std::string(DTypeName(argument.tensor.dtype));
      described["shape"] = argument.tensor.shape;
      described["strides"] =
          argument.strides.empty() ? RowMajorStrides(argument.tensor.shape) : argument.strides;
      described["offset"] = argument.offset;
      described["blank"] = IsBlank(argument);
      break;
    case Kind::kInt:
      described["value"] = argument.integer;
      break;
    case Kind::kFloat:
      described["value"] = fmt::format("{:a}", argument.number);  // NaN and -0 have text, too
      break;
    case Kind::kBool:
      described["value"] = argument.flag;
      break;
    case Kind::kString:
      described["value"] = argument.text;
      break;
    case Kind::kList:
      for (const CallArgument& item : argument.items) described["items"].push_back(Describe(item));
      break;
  }
  return described;
}

// The results in the order in which the candidate must return them.
std::vector<PlanTensor> ResultsOf(const TaskGraph& task, const Graph& graph) {
  std::vector<PlanTensor> results;
  for (const std::string& name : task.results) {
    for (const GraphOutput& output : graph.outputs) {
      if (graph.OutputName(output) != name) continue;
      const TensorMeta& meta = graph.meta(output.value);
      results.push_back(
          {.dtype = meta.dtype, .shape = meta.shape, .strides = RowMajorStrides(meta.shape)});
      break;
    }
  }
  return results;
}

}  // namespace

std::string CandidateCall::Identity() const {
  nlohmann::json identity = {{"function", function},
                             {"other_stream", other_stream},
                             {"arguments", nlohmann::json::array()}};
  for (const CallArgument& argument : arguments)
    identity["arguments"].push_back(Describe(argument));
  for (const PlanTensor& result : results) {
    identity["results"].push_back({std::string(DTypeName(result.dtype)), result.shape});
  }
  return identity.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool CandidateCall::HasBlankTensors() const {
  const std::vector<const CallArgument*> tensors = FlattenTensors(arguments);
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const CallArgument* tensor) { return IsBlank(*tensor); });
}

Result<std::vector<CallArgument>> MakeCallArguments(const TaskGraph& task,
                                                    const TensorMap& values) {
  std::vector<CallArgument> arguments;
  for (const TaskArgument& argument : task.arguments) {
    KS_TRY(CallArgument each, MakeArgument(argument, task, values));
    arguments.push_back(std::move(each));
  }
  return arguments;
}

Result<std::vector<CallArgument>> MakeCallArguments(const TaskGraph& task,
                                                    const CaseTensors& values) {
  return MakeCallArguments(task, values.values);
}

Result<CandidateCall> MakeCall(TaskDirection direction, const TaskGraph& task, const Graph& graph,
                               const CaseTensors& values) {
  CandidateCall call{.function = Name(direction)};
  KS_TRY(call.arguments, MakeCallArguments(task, values));
  call.results = ResultsOf(task, graph);
  return call;
}

Result<CandidateCall> MakeBlankCall(TaskDirection direction, const TaskGraph& task,
                                    const Graph& graph) {
  CaseTensors blank;
  for (const TensorSpec& spec : task.tensors) {
    const auto dtype = ParseDType(spec.dtype);
    if (!dtype) continue;
    blank.values[spec.name] = HostTensor{.dtype = *dtype, .shape = spec.shape, .bytes = {}};
  }
  return MakeCall(direction, task, graph, blank);
}

}  // namespace kernelsmith
