// torch::autograd::Function, for candidates that wrap their forward and backward passes into one.
// Nothing is differentiated here: apply() is the forward pass, and a backward pass is called by
// whoever wants it.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tensor.h"

namespace c10 {

// What AutogradContext::saved_data holds.
class IValue {
 public:
  IValue() = default;
  IValue(bool v) : value_(v) {}
  IValue(int v) : value_(static_cast<int64_t>(v)) {}
  IValue(int64_t v) : value_(v) {}
  IValue(double v) : value_(v) {}
  IValue(std::string v) : value_(std::move(v)) {}
  IValue(const char* v) : value_(std::string(v)) {}
  IValue(at::Tensor v) : value_(std::move(v)) {}
  IValue(std::vector<int64_t> v) : value_(std::move(v)) {}

  bool isNone() const { return value_.index() == 0; }
  bool isTensor() const { return std::holds_alternative<at::Tensor>(value_); }
  bool toBool() const { return Get<bool>("bool"); }
  int64_t toInt() const { return Get<int64_t>("int"); }
  double toDouble() const {
    if (const auto* integer = std::get_if<int64_t>(&value_)) return static_cast<double>(*integer);
    return Get<double>("double");
  }
  const std::string& toStringRef() const { return Get<std::string>("string"); }
  at::Tensor toTensor() const { return Get<at::Tensor>("tensor"); }
  std::vector<int64_t> toIntVector() const { return Get<std::vector<int64_t>>("int list"); }

 private:
  template <typename T>
  const T& Get(const char* what) const {
    const T* held = std::get_if<T>(&value_);
    TORCH_CHECK(held != nullptr, "IValue: expected ", what);
    return *held;
  }
  std::variant<std::monostate, bool, int64_t, double, std::string, at::Tensor, std::vector<int64_t>>
      value_;
};

}  // namespace c10

namespace torch {
using c10::IValue;
namespace autograd {

using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
using tensor_list = std::vector<at::Tensor>;

struct AutogradContext {
  void save_for_backward(variable_list tensors) { saved_ = std::move(tensors); }
  variable_list get_saved_variables() const { return saved_; }
  void mark_dirty(const variable_list&) {}
  void mark_non_differentiable(const variable_list&) {}
  void set_materialize_grads(bool) {}
  bool needs_input_grad(size_t) const { return false; }
  std::unordered_map<std::string, c10::IValue> saved_data;

 private:
  variable_list saved_;
};

template <typename T>
struct Function {
  template <typename... Arguments>
  static auto apply(Arguments&&... arguments) {
    AutogradContext context;
    return T::forward(&context, std::forward<Arguments>(arguments)...);
  }
};

}  // namespace autograd
}  // namespace torch
