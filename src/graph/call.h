// What an operator's implementation sees: its arguments and the metas of its results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/aten_ops.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace kernelsmith {

template <typename T>
using Tensors = std::vector<Tensor<T>>;

template <typename T>
class Call {
 public:
  Call(const Graph& graph, const Node& node, const std::vector<Tensors<T>>& values)
      : graph_(graph), node_(node), values_(values) {}

  bool has(size_t i) const { return !arg(i).is_none(); }

  // A tensor, or a number as a tensor without dimensions.
  Tensor<T> tensor(size_t i) const {
    if (const auto* ref = std::get_if<ValueRef>(&arg(i).value)) return Lookup(*ref);
    return Tensor<T>(IsFloatNumber(i) ? DType::kFloat64 : DType::kInt64, {}, scalar(i));
  }
  // Undefined where the argument is None.
  Tensor<T> optional_tensor(size_t i) const { return has(i) ? tensor(i) : Tensor<T>(); }
  Tensors<T> tensors(size_t i) const {
    Tensors<T> result;
    for (const Argument& item : List(i)) {
      if (item.is_none()) {
        result.emplace_back();
      } else {
        const auto* ref = std::get_if<ValueRef>(&item.value);
        Require(ref != nullptr, "expected a list of tensors");
        result.push_back(Lookup(*ref));
      }
    }
    return result;
  }

  // A number as a constant of the program. A tensor without dimensions counts as one.
  T scalar(size_t i) const {
    if (const auto* ref = std::get_if<ValueRef>(&arg(i).value)) {
      const Tensor<T> value = Lookup(*ref);
      Require(value.count() == 1, "expected a number");
      return value[0];
    }
    if (IsFloatNumber(i)) return Constant<T>(number(i), Precision::kFloat64);
    return Number<T>(number(i));
  }
  double number(size_t i) const {
    const Argument& a = arg(i);
    if (const auto* value = std::get_if<double>(&a.value)) return *value;
    if (const auto* value = std::get_if<int64_t>(&a.value)) return static_cast<double>(*value);
    if (const auto* value = std::get_if<bool>(&a.value)) return *value ? 1 : 0;
    throw OperatorError("expected a number");
  }
  int64_t integer(size_t i) const { return AsInteger(arg(i)); }
  std::optional<int64_t> optional_integer(size_t i) const {
    return has(i) ? std::optional(integer(i)) : std::nullopt;
  }
  bool flag(size_t i) const {
    const auto* value = std::get_if<bool>(&arg(i).value);
    Require(value != nullptr, "expected true or false");
    return *value;
  }
  std::string text(size_t i) const {
    const auto* value = std::get_if<std::string>(&arg(i).value);
    Require(value != nullptr, "expected a string");
    return *value;
  }
  // A list of integers, or one.
  std::vector<int64_t> integers(size_t i) const {
    if (std::holds_alternative<int64_t>(arg(i).value)) return {integer(i)};
    std::vector<int64_t> result;
    for (const Argument& item : List(i)) result.push_back(AsInteger(item));
    return result;
  }
  std::vector<int64_t> optional_integers(size_t i) const {
    return has(i) ? integers(i) : std::vector<int64_t>{};
  }
  std::vector<bool> flags(size_t i) const {
    std::vector<bool> result;
    for (const Argument& item : List(i)) {
      const auto* value = std::get_if<bool>(&item.value);
      Require(value != nullptr, "expected a list of true and false");
      result.push_back(*value);
    }
    return result;
  }
  std::optional<DType> dtype(size_t i) const {
    if (!has(i)) return std::nullopt;
    const auto* value = std::get_if<DType>(&arg(i).value);
    Require(value != nullptr, "expected a dtype");
    return *value;
  }

  // The tensor whose memory a tensor lies in, and its strides there in PyTorch (empty where the
  // graph does not say).
  std::pair<Tensor<T>, Shape> storage(size_t i) const {
    const auto* ref = std::get_if<ValueRef>(&arg(i).value);
    Require(ref != nullptr, "expected a tensor");
    const ValueRef base = StorageOf(graph_, *ref);
    return {Lookup(base), graph_.meta(base).strides};
  }

  size_t argument_count() const { return node_.args.size(); }
  size_t result_count() const { return node_.outputs.size(); }
  const TensorMeta& result(size_t i = 0) const {
    Require(i < node_.outputs.size() && node_.outputs[i].has_value(),
            "fewer results than the operator gives");
    return *node_.outputs[i];
  }

 private:
  const Argument& arg(size_t i) const {
    Require(i < node_.args.size(), "too few arguments");
    return node_.args[i];
  }
  bool IsFloatNumber(size_t i) const { return std::holds_alternative<double>(arg(i).value); }
  const Argument::List& List(size_t i) const {
    const auto* list = std::get_if<Argument::List>(&arg(i).value);
    Require(list != nullptr, "expected a list");
    return *list;
  }
  static int64_t AsInteger(const Argument& a) {
    if (const auto* value = std::get_if<int64_t>(&a.value)) return *value;
    if (const auto* value = std::get_if<bool>(&a.value)) return *value ? 1 : 0;
    throw OperatorError("expected an integer");
  }
  Tensor<T> Lookup(ValueRef ref) const {
    const Tensors<T>& results = values_[ref.node];
    Require(ref.index < results.size() && results[ref.index].defined(),
            "an operand without a value");
    return results[ref.index];
  }

  const Graph& graph_;
  const Node& node_;
  const std::vector<Tensors<T>>& values_;
};

template <typename T>
using Implementation = Tensors<T> (*)(const Call<T>&);

// The implementations by AtenOp; one function a class of aten_ops.def adds those of its operators.
template <typename T>
struct ImplementationTable {
  std::vector<Implementation<T>> rows;
  void Add(AtenOp op, Implementation<T> implementation) {
    rows[static_cast<size_t>(op)] = implementation;
  }
};
template <typename T>
void AddPointwise(ImplementationTable<T>* table);
template <typename T>
void AddReductions(ImplementationTable<T>* table);
template <typename T>
void AddLayout(ImplementationTable<T>* table);
template <typename T>
void AddLinear(ImplementationTable<T>* table);
template <typename T>
void AddWindows(ImplementationTable<T>* table);
template <typename T>
void AddNorms(ImplementationTable<T>* table);

// x in `dtype`: float to integer truncates, to bool asks for not 0; from float to float nothing
// happens.
template <typename T>
Tensor<T> Convert(const Tensor<T>& x, DType dtype);

}  // namespace kernelsmith
