// CHECK: for our own bugs only. Input, however bad, must never reach a failing CHECK; it gets a
// Result with a diagnostic instead (result.h).
#pragma once

#include <string>
#include <string_view>

namespace kernelsmith {

// Prints "internal error: file:line: condition: message" and leaves with exit code 4.
[[noreturn]] void FailCheck(const char* file, int line, const char* condition,
                            std::string_view message = {});

}  // namespace kernelsmith

#define KS_CHECK(condition, ...)                                                           \
  do {                                                                                     \
    if (!(condition)) [[unlikely]] {                                                       \
      ::kernelsmith::FailCheck(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                      \
  } while (false)

#define KS_UNREACHABLE(...) \
  ::kernelsmith::FailCheck(__FILE__, __LINE__, "unreachable" __VA_OPT__(, ) __VA_ARGS__)
