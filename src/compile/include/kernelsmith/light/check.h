// TORCH_CHECK and its relatives, c10::Error.
#pragma once

#include <cuda_runtime.h>

#include <exception>
#include <sstream>
#include <string>

namespace c10 {

class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& msg() const { return message_; }
  const char* what_without_backtrace() const noexcept { return what(); }

 private:
  std::string message_;
};
class IndexError : public Error {
  using Error::Error;
};
class ValueError : public Error {
  using Error::Error;
};
class TypeError : public Error {
  using Error::Error;
};
class NotImplementedError : public Error {
  using Error::Error;
};

template <typename... Args>
inline std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

namespace detail {
[[noreturn]] void FailCheck(const char* file, int line, const std::string& message);
void Warn(const std::string& message);
template <typename... Args>
inline std::string CheckMessage(const char* condition, const Args&... args) {
  if constexpr (sizeof...(args) == 0) {
    return std::string("Expected ") + condition + " to be true, but got false.";
  } else {
    return str(args...);
  }
}
void CudaCheck(cudaError_t error, const char* file, int line);
}  // namespace detail

}  // namespace c10

#define TORCH_CHECK(cond, ...)                                                     \
  do {                                                                             \
    if (!(cond)) {                                                                 \
      ::c10::detail::FailCheck(__FILE__, __LINE__,                                 \
                               ::c10::detail::CheckMessage(#cond, ##__VA_ARGS__)); \
    }                                                                              \
  } while (false)
#define TORCH_CHECK_WITH(type, cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_ARG(cond, argN, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_NOTNULL(p) TORCH_CHECK((p) != nullptr)
#define AT_ASSERT(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define AT_ASSERTM(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define AT_CHECK(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define AT_ERROR(...) ::c10::detail::FailCheck(__FILE__, __LINE__, ::c10::str(__VA_ARGS__))
#define TORCH_WARN(...) ::c10::detail::Warn(::c10::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...) TORCH_WARN(__VA_ARGS__)

#define TORCH_CUDABLAS_CHECK(expression) \
  TORCH_CHECK((expression) == 0, "CUDA error: cuBLAS failed when calling `" #expression "`")
