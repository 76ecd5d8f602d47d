#include "tasks/truncate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "graph/aten_ops.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// A reduction found in a graph, and the two nodes that cut its operand short.
struct Candidate {
  int64_t size;
  size_t position;
  size_t argument;
  json slice;
  json pad;
};

// The axis that the cut is along: its own number, or the argument `dim`, which is a number or a
// list whose first counts; the last axis otherwise.
int64_t AxisOf(const Operator& op, const json& args) {
  if (op.facts.cut.axis != Cut::kDim) return op.facts.cut.axis;
  const std::optional<size_t> dim = op.FindParameter("dim");
  if (!dim || *dim >= args.size()) return -1;
  const json& value = args[*dim];
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_array() && !value.empty() && value[0].is_number_integer()) {
    return value[0].get<int64_t>();
  }
  return -1;
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
    const Operator& op = OperatorOf(FindOperator(node.value("op", "")));
    const Cut& cut = op.facts.cut;
    if (!cut.possible() || cut.argument >= node["args"].size()) continue;
    const json operand = node["args"][cut.argument];
    if (!operand.is_object() || !operand.contains("node")) continue;
    const int64_t index = operand.value("index", 0);
    const std::string name = operand["node"].get<std::string>();
    const auto meta = metas.find(index == 0 ? name : fmt::format("{}#{}", name, index));
    if (meta == metas.end() || !meta->second.is_object()) continue;
    std::vector<int64_t> shape = meta->second.value("shape", std::vector<int64_t>{});
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t given = AxisOf(op, node["args"]);
    const int64_t axis = given < 0 ? given + rank : given;
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
    const json missing = std::isinf(cut.missing) ? json{{"float", cut.missing > 0 ? "inf" : "-inf"}}
                                                 : json(cut.missing);
    json slice = {{"name", "kept_part"},
                  {"op", OperatorOf(AtenOp::kSliceTensor).name},
                  {"args", {operand, axis, 0, size - lost}},
                  {"kwargs", json::object()},
                  {"outputs", {{{"shape", kept}, {"dtype", dtype}, {"strides", strides(kept)}}}}};
    json pad = {{"name", "cut_short"},
                {"op", OperatorOf(AtenOp::kConstantPadNd).name},
                {"args", {{{"node", "kept_part"}}, padding, missing}},
                {"kwargs", json::object()},
                {"outputs", {{{"shape", shape}, {"dtype", dtype}, {"strides", strides(shape)}}}}};
    found.push_back({size, position, cut.argument, std::move(slice), std::move(pad)});
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
