// PYBIND11_MODULE and the part of pybind11 that extensions use.
#pragma once

#include "value.h"

namespace pybind11 {

using kernelsmith::light::Value;

class object {
 public:
  object() = default;
  object(Value value) : value_(std::move(value)) {}
  const Value& value() const { return value_; }
  bool is_none() const { return value_.kind == Value::Kind::kNone; }
  template <typename T>
  T cast() const {
    return kernelsmith::light::From<T>::Get(value_);
  }
  template <typename T>
  explicit operator T() const {
    return cast<T>();
  }

 protected:
  Value value_;
};
class none : public object {};
class sequence : public object {
 public:
  using object::object;
  size_t size() const { return value_.items.size(); }
  bool empty() const { return value_.items.empty(); }
  object operator[](size_t i) const {
    TORCH_CHECK(i < value_.items.size(), "index out of range");
    return object(value_.items[i]);
  }
  std::vector<object> items() const { return {value_.items.begin(), value_.items.end()}; }
};
class tuple : public sequence {
 public:
  tuple() : sequence(Value::Tuple({})) {}
  using sequence::sequence;
};
class list : public sequence {
 public:
  list() : sequence(Value::List({})) {}
  using sequence::sequence;
  template <typename T>
  void append(const T& item) {
    value_.items.push_back(kernelsmith::light::To<std::decay_t<T>>::Make(item));
  }
};
class dict : public object {
 public:
  dict() { value_.kind = Value::Kind::kDict; }
  using object::object;
};
template <typename... T>
inline tuple make_tuple(T&&... items) {
  return tuple(Value::Tuple({kernelsmith::light::To<std::decay_t<T>>::Make(items)...}));
}
template <typename T>
inline object cast(const T& value) {
  return object(kernelsmith::light::To<T>::Make(value));
}
inline size_t len(const sequence& s) { return s.size(); }

struct arg {
  explicit arg(const char* n) { info.name = n; }
  template <typename T>
  arg operator=(const T& value) const {
    arg copy = *this;
    copy.info.has_default = true;
    copy.info.default_value = kernelsmith::light::To<std::decay_t<T>>::Make(value);
    return copy;
  }
  arg operator=(const char* value) const { return *this = std::string(value); }
  arg operator=(std::nullopt_t) const {
    arg copy = *this;
    copy.info.has_default = true;
    return copy;
  }
  arg operator=(const none&) const { return *this = std::nullopt; }
  arg& none(bool = true) { return *this; }
  arg& noconvert(bool = true) { return *this; }
  kernelsmith::light::ArgumentInfo info;
};
namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals
struct kw_only {};
struct pos_only {};
enum class return_value_policy { automatic, copy, move, reference, take_ownership };
template <typename T>
struct call_guard {};
struct gil_scoped_release {
  gil_scoped_release() {}
  ~gil_scoped_release() {}
};
struct gil_scoped_acquire {
  gil_scoped_acquire() {}
  ~gil_scoped_acquire() {}
};

class module_ {
 public:
  template <typename F, typename... Extra>
  module_& def(const char* name, F&& function, const Extra&... extra) {
    std::vector<kernelsmith::light::ArgumentInfo> named;
    (Note(named, extra), ...);
    kernelsmith::light::RegisterAny(name, std::forward<F>(function), std::move(named));
    return *this;
  }
  struct Attribute {
    template <typename T>
    void operator=(const T&) {}
  };
  Attribute attr(const char*) { return {}; }
  Attribute doc() { return {}; }

 private:
  static void Note(std::vector<kernelsmith::light::ArgumentInfo>& named, const arg& a) {
    named.push_back(a.info);
  }
  template <typename T>
  static void Note(std::vector<kernelsmith::light::ArgumentInfo>&, const T&) {}
};
using module = module_;

}  // namespace pybind11

namespace kernelsmith::light {
template <typename T>
struct From<T, std::enable_if_t<std::is_base_of_v<pybind11::object, T>>> {
  static constexpr const char* kName = "object";
  static T Get(const Value& v) { return T(v); }
};
template <typename T>
struct To<T, std::enable_if_t<std::is_base_of_v<pybind11::object, T>>> {
  static Value Make(const T& v) { return v.value(); }
};
}  // namespace kernelsmith::light

#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME candidate
#endif
#define KS_JOIN_INNER(a, b) a##b
#define KS_JOIN(a, b) KS_JOIN_INNER(a, b)
#define PYBIND11_MODULE(name, variable, ...)                                 \
  static void KS_JOIN(ks_initialise_, name)(::pybind11::module_ & variable); \
  static const bool KS_JOIN(ks_registered_, name) = [] {                     \
    ::kernelsmith::light::RegisterModule("module", [] {                      \
      ::pybind11::module_ module;                                            \
      KS_JOIN(ks_initialise_, name)(module);                                 \
    });                                                                      \
    return true;                                                             \
  }();                                                                       \
  static void KS_JOIN(ks_initialise_, name)(::pybind11::module_ & variable)
