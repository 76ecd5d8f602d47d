#include "tasks/signature.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace kernelsmith {
namespace {

using nlohmann::json;
using Kind = TaskArgument::Kind;

// Arguments nest as deep as a task nests its lists; a file that nests deeper is not ours.
constexpr int kMostNesting = 32;

Error Malformed(const std::string& what) {
  return InternalError("malformed graph from the PyTorch bridge: " + what);
}

Result<TaskArgument> ReadArgument(const std::string& name, const json& value, int depth = 0) {
  TaskArgument argument;
  argument.name = name;
  if (!value.is_object() || value.empty() || depth > kMostNesting) {
    return Malformed("argument " + name);
  }
  const std::string kind = value.begin().key();
  const json& inner = value.begin().value();
  if (kind == "tensor" && inner.is_string()) {
    argument.kind = Kind::kTensor;
    argument.text = inner.get<std::string>();
  } else if (kind == "int" && inner.is_number_integer()) {
    argument.kind = Kind::kInt;
    argument.integer = inner.get<int64_t>();
  } else if (kind == "float" && inner.is_number()) {
    argument.kind = Kind::kFloat;
    argument.number = inner.get<double>();
  } else if (kind == "float" && inner.is_string()) {
    argument.kind = Kind::kFloat;
    const double infinity = std::numeric_limits<double>::infinity();
    argument.number = inner == "inf" ? infinity : inner == "-inf" ? -infinity : std::nan("");
  } else if (kind == "bool" && inner.is_boolean()) {
    argument.kind = Kind::kBool;
    argument.flag = inner.get<bool>();
  } else if (kind == "none") {
    argument.kind = Kind::kNone;
  } else if ((kind == "string" || kind == "opaque") && inner.is_string()) {
    argument.kind = kind == "string" ? Kind::kString : Kind::kOpaque;
    argument.text = inner.get<std::string>();
  } else if (kind == "list" && inner.is_array()) {
    argument.kind = Kind::kList;
    for (const json& item : inner) {
      KS_TRY(TaskArgument element, ReadArgument("", item, depth + 1));
      argument.items.push_back(std::move(element));
    }
  } else if (kind == "dict" && inner.is_object()) {
    argument.kind = Kind::kDict;
    for (const auto& [key, item] : inner.items()) {
      KS_TRY(TaskArgument element, ReadArgument(key, item, depth + 1));
      argument.items.push_back(std::move(element));
    }
  } else {
    return Malformed("argument " + name);
  }
  return argument;
}

void CollectTensors(const TaskArgument& argument, std::vector<std::string>& names) {
  if (argument.kind == Kind::kTensor) names.push_back(argument.text);
  for (const TaskArgument& item : argument.items) CollectTensors(item, names);
}

std::string ArgumentText(const TaskArgument& argument,
                         const std::map<std::string, const TensorSpec*>& tensors) {
  switch (argument.kind) {
    case Kind::kTensor: {
      const auto found = tensors.find(argument.text);
      if (found == tensors.end()) return argument.text;
      return fmt::format("{}[{}]", found->second->dtype, fmt::join(found->second->shape, ", "));
    }
    case Kind::kInt:
      return fmt::format("{}", argument.integer);
    case Kind::kFloat:
      return fmt::format("{}", argument.number);
    case Kind::kBool:
      return argument.flag ? "true" : "false";
    case Kind::kNone:
      return "none";
    case Kind::kString:
      return fmt::format("\"{}\"", argument.text);
    case Kind::kOpaque:
      return fmt::format("<{}>", argument.text);
    case Kind::kList:
    case Kind::kDict: {
      std::vector<std::string> parts;
      for (const TaskArgument& item : argument.items) {
        const std::string text = ArgumentText(item, tensors);
        parts.push_back(item.name.empty() ? text : item.name + ": " + text);
      }
      return fmt::format("({})", fmt::join(parts, ", "));
    }
  }
  return "";
}

}  // namespace

Result<TensorSpec> ReadTensorSpec(const std::string& name, const json& meta) {
  TensorSpec spec;
  spec.name = name;
  try {
    spec.dtype = meta.at("dtype").get<std::string>();
    spec.shape = meta.at("shape").get<std::vector<int64_t>>();
    spec.strides = meta.at("strides").get<std::vector<int64_t>>();
  } catch (const json::exception&) {
    return Malformed("tensor " + name);
  }
  return spec;
}

Status ReadSignature(const json& document, TaskGraph& graph) {
  const auto call = document.find("call");
  if (call == document.end() || !call->is_object()) return Malformed("no call");
  std::vector<std::string> used;
  for (const json& entry : call->value("arguments", json::array())) {
    if (!entry.is_object() || !entry.contains("value")) return Malformed("argument");
    KS_TRY(TaskArgument argument, ReadArgument(entry.value("name", ""), entry["value"]));
    CollectTensors(argument, used);
    graph.arguments.push_back(std::move(argument));
  }
  try {
    graph.results = call->at("results").get<std::vector<std::string>>();
    graph.mutated = call->at("mutated").get<std::vector<std::string>>();
  } catch (const json::exception&) {
    return Malformed("results");
  }
  std::map<std::string, json> metas;
  for (const json& entry : document.value("placeholders", json::array())) {
    metas[entry.value("name", "")] = entry;
  }
  for (const json& entry : call->value("saved", json::array())) {
    metas[entry.value("name", "")] = entry;
  }
  std::set<std::string> seen;
  for (const std::string& name : used) {
    if (!seen.insert(name).second) continue;
    if (!metas.contains(name)) return Malformed("unknown tensor " + name);
    KS_TRY(TensorSpec spec, ReadTensorSpec(name, metas[name]));
    graph.tensors.push_back(std::move(spec));
  }
  return {};
}

std::string Describe(const TaskGraph& graph) {
  std::map<std::string, const TensorSpec*> tensors;
  for (const TensorSpec& spec : graph.tensors) tensors[spec.name] = &spec;
  std::vector<std::string> parts;
  for (const TaskArgument& argument : graph.arguments) {
    parts.push_back(argument.name + ": " + ArgumentText(argument, tensors));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace kernelsmith
