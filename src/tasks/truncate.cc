#include "tasks/truncate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace kernelsmith {
namespace {

using nlohmann::json;

// Which argument of an operator is reduced along which axis, and what a missing element counts as.
struct Reduction {
  size_t argument = 0;
  int64_t axis = -1;
  double missing = 0;
};

// A reduction found in a graph, and the two nodes that cut its operand short.
struct Candidate {
  int64_t size;
  size_t position;
  size_t argument;
  json slice;
  json pad;
};

// The axis that an operator's argument names: a number or the first of a list; the last otherwise.
int64_t AxisArgument(const json& node, size_t index) {
  const json& args = node["args"];
  if (index >= args.size()) return -1;
  const json& value = args[index];
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_array() && !value.empty() && value[0].is_number_integer()) {
    return value[0].get<int64_t>();
  }
  return -1;
}

std::optional<Reduction> ReductionOf(const json& node) {
  const std::string op = node.value("op", "");
  const double infinity = std::numeric_limits<double>::infinity();
  if (op == "aten.mm.default") return Reduction{0, 1};
  if (op == "aten.bmm.default") return Reduction{0, 2};
  if (op == "aten.addmm.default") return Reduction{1, 1};
  if (op == "aten.baddbmm.default") return Reduction{1, 2};
  if (op == "aten.convolution.default") return Reduction{0, 1};
  if (op == "aten.sum.dim_IntList" || op == "aten.mean.dim") {
    return Reduction{0, AxisArgument(node, 1)};
  }
  if (op == "aten.sum.default" || op == "aten.mean.default") return Reduction{0, -1};
  if (op == "aten.amax.default") return Reduction{0, AxisArgument(node, 1), -infinity};
  if (op == "aten.amin.default") return Reduction{0, AxisArgument(node, 1), infinity};
  if (op == "aten._softmax.default" || op == "aten._log_softmax.default") {
    return Reduction{0, AxisArgument(node, 1), -infinity};
  }
  if (op == "aten.native_layer_norm.default" || op == "aten.native_group_norm.default") {
    return Reduction{0, -1};
  }
  if (op.starts_with("aten._native_batch_norm_legit")) return Reduction{0, 0};
  return std::nullopt;
}

}  // namespace

std::vector<TruncatedGraph> TruncateReductions(const json& document, size_t limit) {
  std::map<std::string, json> metas;
  for (const char* list : {"placeholders", "constants"}) {
    for (const json& entry : document.value(list, json::array())) {
      metas[entry.value("name", "")] = entry;
    }
  }
  for (const json& node : document.value("nodes", json::array())) {
    const json outputs = node.value("outputs", json::array());
    for (size_t i = 0; i < outputs.size(); ++i) {
      metas[fmt::format("{}#{}", node.value("name", ""), i)] = outputs[i];
      if (i == 0) metas[node.value("name", "")] = outputs[i];
    }
  }
  std::vector<Candidate> found;
  const json& nodes = document["nodes"];
  for (size_t position = 0; position < nodes.size(); ++position) {
    const json& node = nodes[position];
    const std::optional<Reduction> reduction = ReductionOf(node);
    if (!reduction || reduction->argument >= node["args"].size()) continue;
    const json operand = node["args"][reduction->argument];
    if (!operand.is_object() || !operand.contains("node")) continue;
    const int64_t index = operand.value("index", 0);
    const std::string name = operand["node"].get<std::string>();
    const auto meta = metas.find(index == 0 ? name : fmt::format("{}#{}", name, index));
    if (meta == metas.end() || !meta->second.is_object()) continue;
    std::vector<int64_t> shape = meta->second.value("shape", std::vector<int64_t>{});
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t axis = reduction->axis < 0 ? reduction->axis + rank : reduction->axis;
    if (axis < 0 || axis >= rank) continue;
    const int64_t size = shape[static_cast<size_t>(axis)];
    // A quarter: what one forgotten tile of four is.
    const int64_t lost = std::max<int64_t>(1, size / 4);
    if (size < 2) continue;

    std::vector<int64_t> kept = shape;
    kept[static_cast<size_t>(axis)] = size - lost;
    const auto strides = [](const std::vector<int64_t>& of) {
      std::vector<int64_t> result(of.size(), 1);
      for (size_t i = of.size(); i-- > 1;) result[i - 1] = result[i] * std::max<int64_t>(1, of[i]);
      return result;
    };
    const std::string dtype = meta->second.value("dtype", "float32");
    std::vector<int64_t> padding(2 * static_cast<size_t>(rank - axis), 0);
    padding.back() = lost;  // pairs from the last axis on; the axis itself comes last
    const json missing = std::isinf(reduction->missing)
                             ? json{{"float", reduction->missing > 0 ? "inf" : "-inf"}}
                             : json(reduction->missing);
    json slice = {{"name", "kept_part"},
                  {"op", "aten.slice.Tensor"},
                  {"args", {operand, axis, 0, size - lost}},
                  {"kwargs", json::object()},
                  {"outputs", {{{"shape", kept}, {"dtype", dtype}, {"strides", strides(kept)}}}}};
    json pad = {{"name", "cut_short"},
                {"op", "aten.constant_pad_nd.default"},
                {"args", {{{"node", "kept_part"}}, padding, missing}},
                {"kwargs", json::object()},
                {"outputs", {{{"shape", shape}, {"dtype", dtype}, {"strides", strides(shape)}}}}};
    found.push_back({size, position, reduction->argument, std::move(slice), std::move(pad)});
  }
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return a.size != b.size ? a.size > b.size : a.position < b.position;
  });
  if (found.size() > limit) found.resize(limit);
  std::vector<TruncatedGraph> result;
  for (Candidate& candidate : found) {
    TruncatedGraph truncated;
    truncated.document = document;
    json& list = truncated.document["nodes"];
    json& node = list[candidate.position];
    const std::string where = node.value("where", "");
    truncated.name = fmt::format("truncated {}{}", node.value("op", ""),
                                 where.empty() ? "" : " (" + where + ")");
    node["args"][candidate.argument] = {{"node", "cut_short"}};
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(candidate.position),
                {std::move(candidate.slice), std::move(candidate.pad)});
    result.push_back(std::move(truncated));
  }
  return result;
}

}  // namespace kernelsmith
