#include "support/check.h"

#include <cstdio>
#include <cstdlib>

namespace kernelsmith {

void FailCheck(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "kernelsmith: internal error: %s:%d: %s%s%.*s\n", file, line, condition,
               message.empty() ? "" : ": ", static_cast<int>(message.size()), message.data());
  std::fflush(nullptr);
  // _Exit, not abort: the documented exit code for our own bugs is 4 (exit_code.h), and a core dump
  // of a process that maps a GPU's memory helps nobody. Sanitizer builds trap for their stack
  // trace.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  __builtin_trap();
#endif
#endif
  std::_Exit(4);
}

}  // namespace kernelsmith
