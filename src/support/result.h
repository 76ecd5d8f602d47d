// Result<T>: a value, or the error that prevented it. Bad input is always a Result; see check.h for
// our own bugs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/check.h"
#include "support/diagnostic.h"

namespace kernelsmith {

// Why something could not be done; the kind decides the exit code (exit_code.h).
enum class ErrorKind {
  kInvalidInput,  // malformed, unreadable, contradictory: the user must change something
  kUnsupported,   // well-formed, but more than we can do; names what
  kMissingTool,   // an outside program or library is not there
  kTimeout,       // a limit of time, memory or output was reached
  kInternal,      // our own bug, or a system call that failed for no reason of the user's
};

class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind) {
    diagnostics_.push_back({.message = std::move(message)});
  }
  Error(ErrorKind kind, Diagnostic diagnostic) : kind_(kind) {
    diagnostics_.push_back(std::move(diagnostic));
  }
  // `diagnostics` must not be empty.
  Error(ErrorKind kind, std::vector<Diagnostic> diagnostics)
      : kind_(kind), diagnostics_(std::move(diagnostics)) {
    KS_CHECK(!diagnostics_.empty());
  }

  ErrorKind kind() const { return kind_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  // The first diagnostic's message.
  const std::string& message() const { return diagnostics_.front().message; }
  // All diagnostics as a user sees them, one after the other.
  std::string Format(bool color = false) const;

 private:
  ErrorKind kind_;
  std::vector<Diagnostic> diagnostics_;
};

inline Error InvalidInput(std::string message) {
  return {ErrorKind::kInvalidInput, std::move(message)};
}
inline Error Unsupported(std::string message) {
  return {ErrorKind::kUnsupported, std::move(message)};
}
inline Error MissingTool(std::string message) {
  return {ErrorKind::kMissingTool, std::move(message)};
}
inline Error TimedOut(std::string message) { return {ErrorKind::kTimeout, std::move(message)}; }
inline Error InternalError(std::string message) {
  return {ErrorKind::kInternal, std::move(message)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  using Value = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    KS_CHECK(ok(), error().message());
    return std::get<0>(state_);
  }
  const T& value() const& {
    KS_CHECK(ok(), error().message());
    return std::get<0>(state_);
  }
  T&& value() && {
    KS_CHECK(ok(), error().message());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success or an error, for functions without a value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace kernelsmith

#define KS_CONCAT_INNER(a, b) a##b
#define KS_CONCAT(a, b) KS_CONCAT_INNER(a, b)

// KS_TRY(declaration, expression): declares the value, or returns the error from this function.
//   KS_TRY(const std::string text, ReadFile(path));
#define KS_TRY(declaration, ...)                               \
  auto KS_CONCAT(ks_result_, __LINE__) = (__VA_ARGS__);        \
  if (!KS_CONCAT(ks_result_, __LINE__).ok())                   \
    return std::move(KS_CONCAT(ks_result_, __LINE__)).error(); \
  declaration = *std::move(KS_CONCAT(ks_result_, __LINE__))

// KS_RETURN_IF_ERROR(expression): returns the error from this function, if it is one.
#define KS_RETURN_IF_ERROR(...)                               \
  do {                                                        \
    auto ks_status = (__VA_ARGS__);                           \
    if (!ks_status.ok()) return std::move(ks_status).error(); \
  } while (false)
