// A PyTorch graph of core ATen operators, as docs/graph_format.md describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/result.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {

struct TensorMeta {
  Shape shape;
  DType dtype = DType::kFloat32;
  Shape strides;
};

// Result number `index` of nodes[node].
struct ValueRef {
  size_t node = 0;
  size_t index = 0;
  bool operator==(const ValueRef&) const = default;
};

// An argument of an operator.
struct Argument {
  struct None {
    bool operator==(const None&) const = default;
  };
  using List = std::vector<Argument>;
  std::variant<None, bool, int64_t, double, std::string, DType, ValueRef, List> value;

  bool is_none() const { return std::holds_alternative<None>(value); }
  bool operator==(const Argument&) const = default;
};

enum class NodeKind { kPlaceholder, kConstant, kOperator };
enum class PlaceholderRole { kInput, kParameter, kBuffer, kTangent };

enum class AtenOp : uint16_t;  // aten_ops.h

struct Node {
  NodeKind kind = NodeKind::kOperator;
  std::string name;
  std::vector<std::optional<TensorMeta>> outputs;  // one for placeholders and constants

  // kPlaceholder
  PlaceholderRole role = PlaceholderRole::kInput;
  int64_t role_index = 0;
  std::string origin;
  bool requires_grad = false;

  // kConstant
  HostTensor data;

  // kOperator
  std::string op;              // "aten.add.Tensor", for messages
  AtenOp aten = {};            // the same for code that decides; kUnknown in other kinds, too
  std::vector<Argument> args;  // by position in the operator's parameters, defaults filled in
  std::string where;
};

enum class OutputRole { kOutput, kGradient, kMutated };

struct GraphOutput {
  OutputRole role = OutputRole::kOutput;
  int64_t index = 0;  // kOutput
  size_t of = 0;      // kGradient, kMutated: the placeholder's node
  ValueRef value;
};

struct Graph {
  std::string file;  // for messages
  std::string name;
  bool backward = false;
  std::string torch_version;
  std::vector<Node> nodes;  // placeholders, then constants, then operators, each before its use
  std::vector<size_t> placeholders;
  std::vector<GraphOutput> outputs;

  const TensorMeta& meta(ValueRef ref) const { return *nodes[ref.node].outputs[ref.index]; }
  // The name of an output in files of expected values: "output.0", "gradient.x", "mutated.x".
  std::string OutputName(const GraphOutput& output) const;
};

// `constants` has the lifted tensors under their names.
Result<Graph> ParseGraph(std::string_view json, const std::string& file,
                         const TensorMap& constants = {});
// With the constants file that the graph names.
Result<Graph> ReadGraph(const std::filesystem::path& path);

// The value whose memory `value` lies in: through views (slices, permutations, expansions, ...) to
// where they start.
ValueRef StorageOf(const Graph& graph, ValueRef value);

// Every operator is known and gives the same each time; otherwise `unsupported`, naming it: "random
// operator ..." for those that draw numbers.
Status CheckOperators(const Graph& graph);

}  // namespace kernelsmith
