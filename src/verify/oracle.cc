#include "verify/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "field/bounded.h"
#include "graph/evaluate.h"

namespace kernelsmith {
namespace {

std::vector<double> Elements(const HostTensor& tensor) {
  std::vector<double> elements(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = tensor.at(static_cast<int64_t>(i));
  return elements;
}

// Half a unit in the last place of 1.
double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-11;
    case DType::kBfloat16:
      return 0x1p-8;
    case DType::kFloat32:
      return 0x1p-24;
    case DType::kFloat64:
      return 0x1p-53;
    default:
      return 0;
  }
}

// The smallest positive value, subnormals included.
double Smallest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-24;
    case DType::kBfloat16:
      return 0x1p-133;
    case DType::kFloat32:
      return 0x1p-149;
    case DType::kFloat64:
      return 0x1p-1074;
    default:
      return 0;
  }
}

// By output name; empty if the graph can't be evaluated here.
std::map<std::string, std::vector<double>> Magnitudes(const Graph& graph, const TensorMap& values) {
  std::map<std::string, std::vector<double>> magnitudes;
  const auto inputs = GraphInputs<Bounded>(graph, values);
  if (!inputs.ok()) return magnitudes;
  const auto results = Evaluate<Bounded>(graph, *inputs);
  if (!results.ok()) return magnitudes;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    std::vector<double>& row = magnitudes[graph.OutputName(graph.outputs[i])];
    const Tensor<Bounded>& tensor = (*results)[i];
    for (int64_t k = 0; k < tensor.count(); ++k) row.push_back(tensor[k].m);
  }
  return magnitudes;
}

}  // namespace

OutputReference ExpectedOutput::Reference() const {
  return {.exact = exact,
          .torch = torch,
          .magnitude = magnitude,
          .row = shape.empty() ? 0 : static_cast<size_t>(shape.back()),
          .epsilon = Epsilon(dtype),
          .smallest = Smallest(dtype)};
}

Result<std::vector<ExpectedOutput>> ExpectedOutputs(const Graph& graph, const CaseTensors& values,
                                                    const std::vector<std::string>& names) {
  std::map<std::string, std::vector<double>> magnitudes = Magnitudes(graph, values.values);
  std::vector<ExpectedOutput> outputs;
  for (const std::string& name : names) {
    const auto torch = values.values.find(name);
    const auto exact = values.expected.find(name);
    if (torch == values.values.end() || exact == values.expected.end()) {
      return InternalError(fmt::format("the bridge gave no expected values for '{}'", name));
    }
    ExpectedOutput output{.name = name,
                          .dtype = torch->second.dtype,
                          .shape = torch->second.shape,
                          .exact = Elements(exact->second),
                          .torch = Elements(torch->second),
                          .magnitude = std::move(magnitudes[name])};
    if (output.exact.size() != output.torch.size()) {
      return InternalError(fmt::format("the bridge gave two sizes for '{}'", name));
    }
    if (output.magnitude.size() != output.exact.size()) output.magnitude.clear();
    outputs.push_back(std::move(output));
  }
  return outputs;
}

bool HasSeveralAnswers(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    for (const char* op : {"argmax", "argmin", "topk", "sort", "max_pool", "aten.max.dim",
                           "aten.min.dim", "mode", "median", "unique"}) {
      if (node.op.find(op) != std::string::npos) return true;
    }
    return false;
  });
}

}  // namespace kernelsmith
