// extern "C" launchers of plain CUDA candidates: how the tracer learns their parameters.
#pragma once

#include <cuda_runtime.h>

#include "value.h"

namespace kernelsmith::light {

struct LauncherParameter {
  enum class Kind { kInput, kOutput, kInteger, kFloating, kStream };
  Kind kind = Kind::kInteger;
  // What a pointer points to; Undefined for void*.
  c10::ScalarType dtype = c10::ScalarType::Undefined;
};

struct LauncherValue {
  void* pointer = nullptr;
  int64_t integer = 0;
  double number = 0;
};

// `text` is the parameter list as the source has it. Defined in the tracer.
void RegisterLauncher(const char* name, const char* text, std::vector<LauncherParameter> parameters,
                      std::function<void(const std::vector<LauncherValue>&)> call);

template <typename T, typename = void>
struct PointeeType {
  static constexpr c10::ScalarType value = c10::ScalarType::Undefined;
};
template <typename T>
struct PointeeType<T, std::void_t<decltype(c10::CppTypeToScalarType<T>::value)>> {
  static constexpr c10::ScalarType value = c10::CppTypeToScalarType<T>::value;
};

template <typename T>
struct LauncherArgument {
  static constexpr bool kStream = std::is_same_v<T, cudaStream_t>;
  static LauncherParameter Describe() {
    using Kind = LauncherParameter::Kind;
    if constexpr (kStream) {
      return {Kind::kStream};
    } else if constexpr (std::is_pointer_v<T>) {
      using Pointee = std::remove_pointer_t<T>;
      return {std::is_const_v<Pointee> ? Kind::kInput : Kind::kOutput,
              PointeeType<std::remove_cv_t<Pointee>>::value};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {Kind::kFloating};
    } else {
      static_assert(std::is_integral_v<T>,
                    "a launcher takes pointers, integers, floats and a stream");
      return {Kind::kInteger};
    }
  }
  static T Get(const LauncherValue& value) {
    if constexpr (kStream) {
      return nullptr;
    } else if constexpr (std::is_pointer_v<T>) {
      return static_cast<T>(value.pointer);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(value.number);
    } else {
      return static_cast<T>(value.integer);
    }
  }
};

template <typename R, typename... A, size_t... I>
void CallLauncher(R (*function)(A...), const std::vector<LauncherValue>& values,
                  std::index_sequence<I...>) {
  static_cast<void>(function(LauncherArgument<A>::Get(values[I])...));
}

template <typename R, typename... A>
bool RegisterLauncherFunction(const char* name, const char* text, R (*function)(A...)) {
  RegisterLauncher(name, text, {LauncherArgument<A>::Describe()...},
                   [function](const std::vector<LauncherValue>& values) {
                     CallLauncher(function, values, std::index_sequence_for<A...>{});
                   });
  return true;
}

}  // namespace kernelsmith::light

#define KS_LAUNCHER(name, text)          \
  static const bool ks_launcher_##name = \
      ::kernelsmith::light::RegisterLauncherFunction(#name, text, &name);
