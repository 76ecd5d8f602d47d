#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/aten_ops.h"
#include "graph/graph.h"
#include "support/file_system.h"
#include "tensor/safetensors.h"

namespace kernelsmith {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "kernelsmith-graph/1";
// Lists of lists occur; deeper nesting is no graph of PyTorch's.
constexpr int kMaxNesting = 4;

// Reads one file. Every method reports through Fail(), which says where in the graph.
class Importer {
 public:
  Importer(const std::string& file, const TensorMap& constants) : constants_(constants) {
    graph_.file = file;
  }

  Result<Graph> Run(const Json& json) {
    if (!json.is_object()) return Fail("expected a JSON object");
    KS_TRY(const std::string format, Text(json, "format"));
    if (format != kFormat)
      return Fail(fmt::format("expected format '{}', found '{}'", kFormat, format));
    graph_.name = json.value("name", Json("")).is_string() ? json.value("name", "") : "";
    graph_.torch_version = json.value("torch", Json("")).is_string() ? json.value("torch", "") : "";
    KS_TRY(const std::string direction, Text(json, "direction"));
    if (direction != "forward" && direction != "backward") {
      return Fail(fmt::format("expected direction 'forward' or 'backward', found '{}'", direction));
    }
    graph_.backward = direction == "backward";
    KS_TRY(const Json* const placeholders, Array(json, "placeholders"));
    for (const Json& entry : *placeholders) KS_RETURN_IF_ERROR(ReadPlaceholder(entry));
    if (json.contains("constants")) {
      KS_TRY(const Json* const constants, Array(json, "constants"));
      for (const Json& entry : *constants) KS_RETURN_IF_ERROR(ReadConstant(entry));
    }
    context_.clear();
    KS_TRY(const Json* const nodes, Array(json, "nodes"));
    for (const Json& entry : *nodes) KS_RETURN_IF_ERROR(ReadNode(entry));
    context_.clear();
    KS_TRY(const Json* const outputs, Array(json, "outputs"));
    for (const Json& entry : *outputs) KS_RETURN_IF_ERROR(ReadOutput(entry));
    return std::move(graph_);
  }

 private:
  Error Fail(const std::string& message) const {
    return {ErrorKind::kInvalidInput,
            Diagnostic{
                .where = {.file = graph_.file},
                .message = context_.empty() ? message : fmt::format("{}: {}", context_, message)}};
  }

  Result<std::string> Text(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string())
      return Fail(fmt::format("expected a string '{}'", key));
    return found->get<std::string>();
  }

  Result<const Json*> Array(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array())
      return Fail(fmt::format("expected a list '{}'", key));
    return &*found;
  }

  Result<int64_t> Integer(const Json& value) const {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() &&
         value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))) {
      return Fail("expected an integer");
    }
    return value.get<int64_t>();
  }

  Result<TensorMeta> Meta(const Json& object) const {
    if (!object.is_object()) return Fail("expected a tensor's shape and dtype");
    TensorMeta meta;
    KS_TRY(const Json* const shape, Array(object, "shape"));
    if (shape->size() > 64) return Fail("more than 64 dimensions");
    for (const Json& size : *shape) {
      KS_TRY(const int64_t value, Integer(size));
      meta.shape.push_back(value);
    }
    if (!ElementCount(meta.shape)) return Fail("a shape with a negative size or too many elements");
    KS_TRY(const std::string dtype, Text(object, "dtype"));
    const std::optional<DType> parsed = ParseDType(dtype);
    if (!parsed) {
      return Error(
          ErrorKind::kUnsupported,
          Diagnostic{.where = {.file = graph_.file},
                     .message = fmt::format("{}: dtype '{}' is not supported", context_, dtype)});
    }
    meta.dtype = *parsed;
    if (object.contains("strides")) {
      KS_TRY(const Json* const strides, Array(object, "strides"));
      for (const Json& stride : *strides) {
        KS_TRY(const int64_t value, Integer(stride));
        meta.strides.push_back(value);
      }
      if (meta.strides.size() != meta.shape.size())
        return Fail("shape and strides of different lengths");
    }
    return meta;
  }

  Status AddNode(Node node) {
    if (!by_name_.emplace(node.name, graph_.nodes.size()).second)
      return Fail("the name is used twice");
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status ReadPlaceholder(const Json& entry) {
    context_ = "placeholder";
    if (!entry.is_object()) return Fail("expected an object");
    Node node{.kind = NodeKind::kPlaceholder};
    KS_TRY(node.name, Text(entry, "name"));
    context_ = fmt::format("placeholder '{}'", node.name);
    KS_TRY(const std::string role, Text(entry, "role"));
    if (role == "input") {
      node.role = PlaceholderRole::kInput;
    } else if (role == "parameter") {
      node.role = PlaceholderRole::kParameter;
    } else if (role == "buffer") {
      node.role = PlaceholderRole::kBuffer;
    } else if (role == "tangent") {
      node.role = PlaceholderRole::kTangent;
    } else {
      return Fail(
          fmt::format("expected role input, parameter, buffer or tangent, found '{}'", role));
    }
    if (entry.contains("index")) {
      KS_TRY(node.role_index, Integer(entry["index"]));
    }
    if (entry.contains("origin") && entry["origin"].is_string())
      node.origin = entry["origin"].get<std::string>();
    node.requires_grad = entry.contains("requires_grad") && entry["requires_grad"] == Json(true);
    KS_TRY(TensorMeta meta, Meta(entry));
    node.outputs.emplace_back(std::move(meta));
    graph_.placeholders.push_back(graph_.nodes.size());
    return AddNode(std::move(node));
  }

  Status ReadConstant(const Json& entry) {
    context_ = "constant";
    if (!entry.is_object()) return Fail("expected an object");
    Node node{.kind = NodeKind::kConstant};
    KS_TRY(node.name, Text(entry, "name"));
    context_ = fmt::format("constant '{}'", node.name);
    KS_TRY(TensorMeta meta, Meta(entry));
    const auto data = constants_.find(node.name);
    if (data == constants_.end()) return Fail("no data in the constants file");
    if (data->second.shape != meta.shape || data->second.dtype != meta.dtype) {
      return Fail("the data has another shape or dtype");
    }
    node.data = data->second;
    node.outputs.emplace_back(std::move(meta));
    return AddNode(std::move(node));
  }

  Result<ValueRef> Reference(const Json& value) const {
    KS_TRY(const std::string name, Text(value, "node"));
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return Fail(fmt::format("no node '{}' before this one", name));
    ValueRef ref{.node = found->second};
    if (value.contains("index")) {
      KS_TRY(const int64_t index, Integer(value["index"]));
      if (index < 0) return Fail("a negative result index");
      ref.index = static_cast<size_t>(index);
    }
    const Node& node = graph_.nodes[ref.node];
    if (ref.index >= node.outputs.size() || !node.outputs[ref.index]) {
      return Fail(fmt::format("node '{}' has no result {}", name, ref.index));
    }
    return ref;
  }

  Result<Argument> ReadArgument(const Json& value, int nesting = 0) const {
    if (value.is_null()) return Argument{Argument::None{}};
    if (value.is_boolean()) return Argument{value.get<bool>()};
    if (value.is_number_integer()) {
      KS_TRY(const int64_t integer, Integer(value));
      return Argument{integer};
    }
    if (value.is_number_float()) return Argument{value.get<double>()};
    if (value.is_string()) return Argument{value.get<std::string>()};
    if (value.is_array()) {
      if (nesting >= kMaxNesting) return Fail("lists nested too deeply");
      Argument::List list;
      for (const Json& item : value) {
        KS_TRY(Argument argument, ReadArgument(item, nesting + 1));
        list.push_back(std::move(argument));
      }
      return Argument{std::move(list)};
    }
    if (value.contains("node")) {
      KS_TRY(const ValueRef ref, Reference(value));
      return Argument{ref};
    }
    if (value.contains("dtype")) {
      KS_TRY(const std::string name, Text(value, "dtype"));
      const std::optional<DType> dtype = ParseDType(name);
      if (!dtype) {
        return Error(
            ErrorKind::kUnsupported,
            Diagnostic{.where = {.file = graph_.file},
                       .message = fmt::format("{}: dtype '{}' is not supported", context_, name)});
      }
      return Argument{*dtype};
    }
    if (value.contains("float")) {
      KS_TRY(const std::string text, Text(value, "float"));
      if (text == "inf") return Argument{std::numeric_limits<double>::infinity()};
      if (text == "-inf") return Argument{-std::numeric_limits<double>::infinity()};
      if (text == "nan") return Argument{std::numeric_limits<double>::quiet_NaN()};
      return Fail(fmt::format("expected inf, -inf or nan, found '{}'", text));
    }
    for (const char* ignored : {"layout", "device", "memory_format"}) {
      if (value.contains(ignored)) return Argument{Argument::None{}};
    }
    return Fail("an argument of unknown kind");
  }

  // The arguments in the order of the operator's parameters, defaults filled in.
  Status BindArguments(const Json& entry, Node* node) const {
    KS_TRY(const Json* const args, Array(entry, "args"));
    std::vector<Argument> positional;
    for (const Json& value : *args) {
      KS_TRY(Argument argument, ReadArgument(value));
      positional.push_back(std::move(argument));
    }
    std::map<std::string, Argument> keywords;
    if (entry.contains("kwargs")) {
      if (!entry["kwargs"].is_object()) return Fail("expected an object 'kwargs'");
      for (const auto& [key, value] : entry["kwargs"].items()) {
        KS_TRY(Argument argument, ReadArgument(value));
        keywords.emplace(key, std::move(argument));
      }
    }
    const Operator& row = OperatorOf(node->aten);
    if (!row.evaluated()) {
      node->args = std::move(positional);
      return {};
    }
    const std::vector<Parameter>& parameters = row.parameters;
    if (positional.size() > parameters.size()) {
      return Fail(fmt::format("{} arguments where {} takes {}", positional.size(), node->op,
                              parameters.size()));
    }
    node->args = std::move(positional);
    for (size_t i = node->args.size(); i < parameters.size(); ++i) {
      const auto keyword = keywords.find(parameters[i].name);
      if (keyword != keywords.end()) {
        node->args.push_back(keyword->second);
        keywords.erase(keyword);
      } else if (parameters[i].fallback) {
        node->args.push_back(*parameters[i].fallback);
      } else {
        return Fail(fmt::format("{} needs an argument '{}'", node->op, parameters[i].name));
      }
    }
    if (!keywords.empty())
      return Fail(fmt::format("{} has no argument '{}'", node->op, keywords.begin()->first));
    return {};
  }

  Status ReadNode(const Json& entry) {
    context_ = "node";
    if (!entry.is_object()) return Fail("expected an object");
    Node node;
    KS_TRY(node.name, Text(entry, "name"));
    context_ = fmt::format("node '{}'", node.name);
    KS_TRY(node.op, Text(entry, "op"));
    node.aten = FindOperator(node.op);
    if (entry.contains("where") && entry["where"].is_string())
      node.where = entry["where"].get<std::string>();
    KS_RETURN_IF_ERROR(BindArguments(entry, &node));
    KS_TRY(const Json* const outputs, Array(entry, "outputs"));
    for (const Json& output : *outputs) {
      if (output.is_null()) {
        node.outputs.emplace_back(std::nullopt);
      } else {
        KS_TRY(TensorMeta meta, Meta(output));
        node.outputs.emplace_back(std::move(meta));
      }
    }
    return AddNode(std::move(node));
  }

  Status ReadOutput(const Json& entry) {
    context_ = "output";
    if (!entry.is_object()) return Fail("expected an object");
    GraphOutput output;
    KS_TRY(const std::string role, Text(entry, "role"));
    const auto value = entry.find("value");
    if (value == entry.end() || !value->is_object()) return Fail("expected a reference 'value'");
    KS_TRY(output.value, Reference(*value));
    if (role == "output") {
      if (!entry.contains("index")) return Fail("expected an integer 'index'");
      KS_TRY(output.index, Integer(entry["index"]));
    } else if (role == "gradient" || role == "mutated") {
      output.role = role == "gradient" ? OutputRole::kGradient : OutputRole::kMutated;
      KS_TRY(const std::string of, Text(entry, "of"));
      const auto found = by_name_.find(of);
      if (found == by_name_.end() || graph_.nodes[found->second].kind != NodeKind::kPlaceholder) {
        return Fail(fmt::format("'{}' is no placeholder", of));
      }
      output.of = found->second;
    } else {
      return Fail(fmt::format("expected role output, gradient or mutated, found '{}'", role));
    }
    graph_.outputs.push_back(output);
    return {};
  }

  Graph graph_;
  const TensorMap& constants_;
  std::map<std::string, size_t> by_name_;
  std::string context_;
};

// Where a JSON text stops being one.
Error SyntaxError(std::string_view text, const std::string& file) {
  size_t at = text.size();
  try {
    static_cast<void>(Json::parse(text));
  } catch (const Json::parse_error& error) {
    at = std::min<size_t>(text.size(), error.byte > 0 ? error.byte - 1 : 0);
  }
  Diagnostic diagnostic{.where = {.file = file, .line = 1, .column = 1},
                        .message = "expected a JSON document"};
  for (size_t i = 0; i < at; ++i) {
    if (text[i] == '\n') {
      ++diagnostic.where.line;
      diagnostic.where.column = 1;
    } else {
      ++diagnostic.where.column;
    }
  }
  return {ErrorKind::kInvalidInput, std::move(diagnostic)};
}

}  // namespace

std::string Graph::OutputName(const GraphOutput& output) const {
  switch (output.role) {
    case OutputRole::kOutput:
      return fmt::format("output.{}", output.index);
    case OutputRole::kGradient:
      return fmt::format("gradient.{}", nodes[output.of].name);
    case OutputRole::kMutated:
      return fmt::format("mutated.{}", nodes[output.of].name);
  }
  KS_UNREACHABLE();
}

Result<Graph> ParseGraph(std::string_view text, const std::string& file,
                         const TensorMap& constants) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return SyntaxError(text, file);
  return Importer(file, constants).Run(json);
}

Result<Graph> ReadGraph(const std::filesystem::path& path) {
  KS_TRY(const std::string text, DiskFileSystem().Read(path));
  TensorMap constants;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("constants_file") && json["constants_file"].is_string()) {
    const std::filesystem::path name = json["constants_file"].get<std::string>();
    if (name.has_parent_path()) {
      return InvalidInput(
          fmt::format("{}: constants_file must lie beside the graph", path.string()));
    }
    KS_TRY(Safetensors file, ReadSafetensors(path.parent_path() / name));
    constants = std::move(file.tensors);
  }
  return ParseGraph(text, path.string(), constants);
}

ValueRef StorageOf(const Graph& graph, ValueRef value) {
  while (OperatorOf(graph.nodes[value.node].aten).facts.view) {
    const auto* operand = std::get_if<ValueRef>(&graph.nodes[value.node].args[0].value);
    if (operand == nullptr) break;
    value = *operand;
  }
  return value;
}

Status CheckOperators(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kOperator) continue;
    const std::string place = node.where.empty() ? "" : fmt::format(" ({})", node.where);
    const Operator& row = OperatorOf(node.aten);
    if (row.evaluated()) continue;
    const char* const why = row.kind == OperatorClass::kRandom ? "random: " : "";
    return Error(ErrorKind::kUnsupported,
                 Diagnostic{.where = {.file = graph.file},
                            .message = fmt::format("{}operator {} of node '{}'{}", why, node.op,
                                                   node.name, place)});
  }
  return {};
}

}  // namespace kernelsmith
