#include "plan/library.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "graph/evaluate.h"
#include "graph/graph.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

int64_t LoadInteger(DType dtype, const std::byte* data) {
  switch (dtype) {
    case DType::kInt64: {
      int64_t value = 0;
      std::memcpy(&value, data, sizeof value);
      return value;
    }
    default:
      return static_cast<int64_t>(LoadElement(dtype, data));
  }
}

// Calls `visit(offset of a, offset of b)` in elements, last dimension fastest.
template <typename Visit>
void ForEachElement(const Shape& shape, const Shape& a, const Shape& b, const Visit& visit) {
  const size_t rank = shape.size();
  for (const int64_t size : shape) {
    if (size == 0) return;
  }
  std::vector<int64_t> index(rank, 0);
  int64_t at_a = 0;
  int64_t at_b = 0;
  while (true) {
    visit(at_a, at_b);
    size_t d = rank;
    while (true) {
      if (d == 0) return;
      --d;
      at_a += a[d];
      at_b += b[d];
      if (++index[d] < shape[d]) break;
      at_a -= a[d] * shape[d];
      at_b -= b[d] * shape[d];
      index[d] = 0;
    }
  }
}

// Arguments of ours name tensors by number; the graph names nodes.
void NamePlaceholders(json& value) {
  if (value.is_object() && value.contains("tensor") && value["tensor"].is_number_integer()) {
    value = json{{"node", fmt::format("t{}", value["tensor"].get<int64_t>())}};
    return;
  }
  if (value.is_array()) {
    for (json& item : value) NamePlaceholders(item);
  }
}

json Meta(const TensorMemory& tensor) {
  return {{"shape", tensor.shape},
          {"dtype", std::string(DTypeName(tensor.dtype))},
          {"strides", RowMajorStrides(tensor.shape)}};
}

double ElementAt(const TensorMemory& t, int64_t b, int64_t i, int64_t j) {
  const int64_t at = b * t.strides[0] + i * t.strides[1] + j * t.strides[2];
  return LoadElement(t.dtype, t.data + at * SizeOf(t.dtype));
}

// Summed in double and rounded once: no order of summation is the right one.
Status RunGemm(const json& args, const std::vector<TensorMemory>& tensors,
               const std::vector<TensorMemory>& outputs) {
  if (args.size() != 5 || tensors.size() != 3 || outputs.size() != 1 || !args[3].is_number() ||
      !args[4].is_number()) {
    return InvalidInput("a product needs three matrices, alpha and beta");
  }
  const TensorMemory& a = tensors[0];
  const TensorMemory& b = tensors[1];
  const TensorMemory& c = outputs[0];
  if (a.shape.size() != 3 || b.shape.size() != 3 || c.shape.size() != 3 ||
      tensors[2].shape != c.shape || a.shape[0] != c.shape[0] || b.shape[0] != c.shape[0] ||
      a.shape[1] != c.shape[1] || b.shape[2] != c.shape[2] || a.shape[2] != b.shape[1]) {
    return InvalidInput("the matrices of a product do not fit together");
  }
  const auto alpha = args[3].get<double>();
  const auto beta = args[4].get<double>();
  for (int64_t batch = 0; batch < c.shape[0]; ++batch) {
    for (int64_t i = 0; i < c.shape[1]; ++i) {
      for (int64_t j = 0; j < c.shape[2]; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < a.shape[2]; ++p) {
          sum += ElementAt(a, batch, i, p) * ElementAt(b, batch, p, j);
        }
        sum *= alpha;
        // With beta 0 C is not read: it may hold anything.
        if (beta != 0) sum += beta * ElementAt(tensors[2], batch, i, j);
        const int64_t at = batch * c.strides[0] + i * c.strides[1] + j * c.strides[2];
        StoreElement(c.dtype, sum, c.data + at * SizeOf(c.dtype));
      }
    }
  }
  return {};
}

}  // namespace

void CopyElements(const TensorMemory& from, const TensorMemory& to) {
  const int64_t from_bytes = SizeOf(from.dtype);
  const int64_t to_bytes = SizeOf(to.dtype);
  if (from.dtype == to.dtype) {
    ForEachElement(from.shape, from.strides, to.strides, [&](int64_t a, int64_t b) {
      std::memcpy(to.data + b * to_bytes, from.data + a * from_bytes,
                  static_cast<size_t>(to_bytes));
    });
    return;
  }
  const bool integers = !IsFloat(from.dtype) && to.dtype == DType::kInt64;
  ForEachElement(from.shape, from.strides, to.strides, [&](int64_t a, int64_t b) {
    const std::byte* source = from.data + a * from_bytes;
    std::byte* target = to.data + b * to_bytes;
    if (integers) {
      const int64_t value = LoadInteger(from.dtype, source);
      std::memcpy(target, &value, sizeof value);
    } else {
      StoreElement(to.dtype, LoadElement(from.dtype, source), target);
    }
  });
}

Result<Graph> LibraryGraph(const std::string& op, const std::string& arguments,
                           const std::vector<TensorMemory>& tensors,
                           const std::vector<TensorMemory>& outputs) {
  json args = json::parse(arguments, nullptr, false);
  if (!args.is_array()) return InvalidInput("arguments of a library call must be a list");
  NamePlaceholders(args);
  json placeholders = json::array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    json meta = Meta(tensors[i]);
    meta["name"] = fmt::format("t{}", i);
    meta["role"] = "input";
    meta["index"] = i;
    placeholders.push_back(std::move(meta));
  }
  json node_outputs = json::array();
  json graph_outputs = json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    node_outputs.push_back(Meta(outputs[i]));
    graph_outputs.push_back(
        {{"role", "output"}, {"index", i}, {"value", {{"node", "result"}, {"index", i}}}});
  }
  const json document = {{"format", "kernelsmith-graph/1"},
                         {"name", op},
                         {"direction", "forward"},
                         {"torch", ""},
                         {"placeholders", placeholders},
                         {"nodes", json::array({{{"name", "result"},
                                                 {"op", op},
                                                 {"args", args},
                                                 {"kwargs", json::object()},
                                                 {"outputs", node_outputs}}})},
                         {"outputs", graph_outputs}};
  KS_TRY(Graph graph, ParseGraph(document.dump(), op));
  KS_RETURN_IF_ERROR(CheckOperators(graph));
  return graph;
}

Status RunLibrary(const std::string& op, const std::string& arguments,
                  const std::vector<TensorMemory>& tensors,
                  const std::vector<TensorMemory>& outputs) {
  if (op == kStridedCopy) {
    if (tensors.size() != 1 || outputs.size() != 1 || tensors[0].shape != outputs[0].shape) {
      return InvalidInput("a copy needs one tensor and one result of the same shape");
    }
    CopyElements(tensors[0], outputs[0]);
    return {};
  }
  if (op == kGemm) {
    const json args = json::parse(arguments, nullptr, false);
    if (!args.is_array()) return InvalidInput("arguments of a library call must be a list");
    return RunGemm(args, tensors, outputs);
  }
  KS_TRY(const Graph graph, LibraryGraph(op, arguments, tensors, outputs));
  std::vector<Tensor<double>> inputs;
  for (const TensorMemory& tensor : tensors) {
    Tensor<double> dense(tensor.dtype, tensor.shape);
    const int64_t bytes = SizeOf(tensor.dtype);
    ForEachElement(tensor.shape, tensor.strides, RowMajorStrides(tensor.shape),
                   [&](int64_t a, int64_t b) {
                     dense[b] = LoadElement(tensor.dtype, tensor.data + a * bytes);
                   });
    inputs.push_back(std::move(dense));
  }
  KS_TRY(const std::vector<Tensor<double>> results,
         Evaluate<double>(graph, inputs, {.round_to_dtype = true}));
  if (results.size() != outputs.size()) return InvalidInput("wrong number of results");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (results[i].shape != outputs[i].shape) {
      return InvalidInput(fmt::format("{} gives {}, not {}", op, FormatShape(results[i].shape),
                                      FormatShape(outputs[i].shape)));
    }
    const int64_t bytes = SizeOf(outputs[i].dtype);
    ForEachElement(outputs[i].shape, RowMajorStrides(outputs[i].shape), outputs[i].strides,
                   [&](int64_t a, int64_t b) {
                     StoreElement(outputs[i].dtype, results[i][a], outputs[i].data + b * bytes);
                   });
  }
  return {};
}

}  // namespace kernelsmith
