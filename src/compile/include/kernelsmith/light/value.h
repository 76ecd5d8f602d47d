// What crosses the border between a candidate's functions and the tracer: Python's values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor.h"

namespace kernelsmith::light {

struct Value {
  enum class Kind { kNone, kTensor, kInt, kFloat, kBool, kString, kList, kTuple, kDict };
  Kind kind = Kind::kNone;
  at::Tensor tensor;
  int64_t integer = 0;
  double number = 0;
  bool flag = false;
  std::string text;
  std::vector<Value> items;        // of a list, tuple or dict
  std::vector<std::string> names;  // of a dict

  Value() = default;
  Value(at::Tensor t) : kind(t.defined() ? Kind::kTensor : Kind::kNone), tensor(std::move(t)) {}
  Value(bool v) : kind(Kind::kBool), flag(v) {}
  Value(double v) : kind(Kind::kFloat), number(v) {}
  Value(int64_t v) : kind(Kind::kInt), integer(v) {}
  Value(int v) : kind(Kind::kInt), integer(v) {}
  Value(std::string v) : kind(Kind::kString), text(std::move(v)) {}
  static Value List(std::vector<Value> items) {
    Value value;
    value.kind = Kind::kList;
    value.items = std::move(items);
    return value;
  }
  static Value Tuple(std::vector<Value> items) {
    Value value = List(std::move(items));
    value.kind = Kind::kTuple;
    return value;
  }
};

using Function = std::function<Value(std::vector<Value>& arguments)>;

struct ArgumentInfo {
  std::string name;
  std::string type;
  bool has_default = false;
  Value default_value;
};

// Makes a function callable from outside; defined in the tracer.
void RegisterFunction(const char* name, std::vector<ArgumentInfo> arguments, Function function);
// Runs `initialise` once the library is loaded, so that an exception in it can be reported.
void RegisterModule(const char* name, std::function<void()> initialise);

[[noreturn]] void WrongArgument(const char* wanted, const Value& got);

// -- from Python's values to C++ arguments
template <typename T, typename = void>
struct From;
template <typename T, typename = void>
struct To;

template <>
struct From<at::Tensor> {
  static constexpr const char* kName = "Tensor";
  static at::Tensor Get(const Value& v) {
    if (v.kind == Value::Kind::kNone) return {};
    if (v.kind != Value::Kind::kTensor) WrongArgument(kName, v);
    return v.tensor;
  }
};
template <>
struct From<bool> {
  static constexpr const char* kName = "bool";
  static bool Get(const Value& v) {
    if (v.kind != Value::Kind::kBool) WrongArgument(kName, v);
    return v.flag;
  }
};
template <typename T>
struct From<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static constexpr const char* kName = "int";
  static T Get(const Value& v) {
    if (v.kind == Value::Kind::kBool) return static_cast<T>(v.flag);
    if (v.kind != Value::Kind::kInt) WrongArgument(kName, v);
    if (static_cast<int64_t>(static_cast<T>(v.integer)) != v.integer) WrongArgument(kName, v);
    return static_cast<T>(v.integer);
  }
};
template <typename T>
struct From<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static constexpr const char* kName = "float";
  static T Get(const Value& v) {
    if (v.kind == Value::Kind::kInt) return static_cast<T>(v.integer);
    if (v.kind == Value::Kind::kBool) return static_cast<T>(v.flag);
    if (v.kind != Value::Kind::kFloat) WrongArgument(kName, v);
    return static_cast<T>(v.number);
  }
};
template <>
struct From<std::string> {
  static constexpr const char* kName = "str";
  static std::string Get(const Value& v) {
    if (v.kind != Value::Kind::kString) WrongArgument(kName, v);
    return v.text;
  }
};
template <>
struct From<c10::string_view> {
  static constexpr const char* kName = "str";
  static c10::string_view Get(const Value& v) {
    if (v.kind != Value::Kind::kString) WrongArgument(kName, v);
    return v.text;
  }
};
template <>
struct From<c10::Scalar> {
  static constexpr const char* kName = "number";
  static c10::Scalar Get(const Value& v) {
    switch (v.kind) {
      case Value::Kind::kInt:
        return v.integer;
      case Value::Kind::kFloat:
        return v.number;
      case Value::Kind::kBool:
        return v.flag;
      default:
        WrongArgument(kName, v);
    }
  }
};
template <>
struct From<Value> {
  static constexpr const char* kName = "object";
  static Value Get(const Value& v) { return v; }
};
template <typename T>
struct From<std::optional<T>> {
  static constexpr const char* kName = "optional";
  static std::optional<T> Get(const Value& v) {
    if (v.kind == Value::Kind::kNone) return std::nullopt;
    return From<T>::Get(v);
  }
};
template <typename T>
struct From<std::vector<T>> {
  static constexpr const char* kName = "list";
  static std::vector<T> Get(const Value& v) {
    if (v.kind != Value::Kind::kList && v.kind != Value::Kind::kTuple) WrongArgument(kName, v);
    std::vector<T> list;
    for (const Value& item : v.items) list.push_back(From<T>::Get(item));
    return list;
  }
};
template <typename T, size_t N>
struct From<std::array<T, N>> {
  static constexpr const char* kName = "list";
  static std::array<T, N> Get(const Value& v) {
    const std::vector<T> list = From<std::vector<T>>::Get(v);
    if (list.size() != N) WrongArgument(kName, v);
    std::array<T, N> array;
    for (size_t i = 0; i < N; ++i) array[i] = list[i];
    return array;
  }
};
template <typename... T>
struct From<std::tuple<T...>> {
  static constexpr const char* kName = "tuple";
  static std::tuple<T...> Get(const Value& v) {
    if (v.items.size() != sizeof...(T)) WrongArgument(kName, v);
    size_t i = 0;
    return std::tuple<T...>{From<T>::Get(v.items[i++])...};
  }
};
// The list that an ArrayRef parameter refers to must live as long as the call: Holder keeps it.
template <typename T>
struct Holder {
  explicit Holder(const Value& v) : value(From<T>::Get(v)) {}
  T& Get() { return value; }
  T value;
};
template <typename T>
struct Holder<c10::ArrayRef<T>> {
  explicit Holder(const Value& v) : value(From<std::vector<T>>::Get(v)) {}
  c10::ArrayRef<T> Get() { return value; }
  std::vector<T> value;
};
template <typename T>
struct From<c10::ArrayRef<T>> {
  static constexpr const char* kName = "list";
};
template <typename T>
struct Holder<std::optional<c10::ArrayRef<T>>> {
  explicit Holder(const Value& v) : value(From<std::optional<std::vector<T>>>::Get(v)) {}
  std::optional<c10::ArrayRef<T>> Get() {
    return value ? std::optional<c10::ArrayRef<T>>(*value) : std::nullopt;
  }
  std::optional<std::vector<T>> value;
};
template <typename T>
struct From<std::optional<c10::ArrayRef<T>>> {
  static constexpr const char* kName = "optional list";
};

// -- from C++ results to Python's values
template <>
struct To<at::Tensor> {
  static Value Make(const at::Tensor& t) { return t; }
};
template <>
struct To<Value> {
  static Value Make(const Value& v) { return v; }
};
template <>
struct To<bool> {
  static Value Make(bool v) { return v; }
};
template <typename T>
struct To<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static Value Make(T v) { return static_cast<int64_t>(v); }
};
template <typename T>
struct To<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static Value Make(T v) { return static_cast<double>(v); }
};
template <>
struct To<std::string> {
  static Value Make(const std::string& v) { return v; }
};
template <>
struct To<const char*> {
  static Value Make(const char* v) { return std::string(v); }
};
template <typename T>
struct To<std::optional<T>> {
  static Value Make(const std::optional<T>& v) { return v ? To<T>::Make(*v) : Value(); }
};
template <typename T>
struct To<std::vector<T>> {
  static Value Make(const std::vector<T>& list) {
    std::vector<Value> items;
    for (const T& item : list) items.push_back(To<T>::Make(item));
    return Value::List(std::move(items));
  }
};
template <typename T, size_t N>
struct To<std::array<T, N>> {
  static Value Make(const std::array<T, N>& list) {
    std::vector<Value> items;
    for (const T& item : list) items.push_back(To<T>::Make(item));
    return Value::List(std::move(items));
  }
};
template <typename... T>
struct To<std::tuple<T...>> {
  static Value Make(const std::tuple<T...>& tuple) {
    return std::apply(
        [](const T&... item) { return Value::Tuple({To<std::decay_t<T>>::Make(item)...}); }, tuple);
  }
};
template <typename A, typename B>
struct To<std::pair<A, B>> {
  static Value Make(const std::pair<A, B>& pair) {
    return Value::Tuple({To<A>::Make(pair.first), To<B>::Make(pair.second)});
  }
};
template <>
struct To<std::nullptr_t> {
  static Value Make(std::nullptr_t) { return {}; }
};

template <typename R, typename... A, size_t... I, typename F>
Value CallWith(F& function, std::vector<Value>& arguments, std::index_sequence<I...>) {
  std::tuple<Holder<std::decay_t<A>>...> held{Holder<std::decay_t<A>>(arguments[I])...};
  if constexpr (std::is_void_v<R>) {
    function(static_cast<A>(std::get<I>(held).Get())...);
    return {};
  } else {
    return To<std::decay_t<R>>::Make(function(static_cast<A>(std::get<I>(held).Get())...));
  }
}

template <typename R, typename... A, typename F>
void Register(const char* name, F function, std::vector<ArgumentInfo> named) {
  std::vector<ArgumentInfo> infos;
  size_t i = 0;
  const auto add = [&](const char* type) {
    ArgumentInfo info = i < named.size() ? named[i] : ArgumentInfo{};
    if (info.name.empty()) info.name = "arg" + std::to_string(i);
    info.type = type;
    infos.push_back(std::move(info));
    ++i;
  };
  (add(From<std::decay_t<A>>::kName), ...);
  static_cast<void>(add);
  RegisterFunction(name, std::move(infos),
                   [function](std::vector<Value>& arguments) mutable -> Value {
                     return CallWith<R, A...>(function, arguments, std::index_sequence_for<A...>{});
                   });
}

template <typename R, typename... A>
void RegisterAny(const char* name, R (*function)(A...), std::vector<ArgumentInfo> named) {
  Register<R, A...>(name, function, std::move(named));
}
template <typename C, typename R, typename... A, typename L>
void RegisterLambda(const char* name, L lambda, R (C::*)(A...) const,
                    std::vector<ArgumentInfo> named) {
  Register<R, A...>(name, std::move(lambda), std::move(named));
}
template <typename L, typename = decltype(&L::operator())>
void RegisterAny(const char* name, L lambda, std::vector<ArgumentInfo> named) {
  RegisterLambda(name, std::move(lambda), &L::operator(), std::move(named));
}

}  // namespace kernelsmith::light
