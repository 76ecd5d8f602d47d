// TORCH_LIBRARY: operators that register themselves by name instead of through pybind11.
#pragma once

#include "value.h"

namespace torch {

class Library {
 public:
  // A schema without an implementation says nothing that the function's own type does not.
  Library& def(const char*) { return *this; }
  template <typename F>
  Library& def(const char* schema, F&& function) {
    return impl(schema, std::forward<F>(function));
  }
  template <typename F>
  Library& impl(const char* name, F&& function) {
    const std::string text(name);
    const std::string bare = text.substr(0, text.find('('));
    const size_t colon = bare.rfind(':');
    kernelsmith::light::RegisterAny(
        (colon == std::string::npos ? bare : bare.substr(colon + 1)).c_str(),
        std::forward<F>(function), {});
    return *this;
  }
};

}  // namespace torch

#define TORCH_FN(f) f
#define KS_LIBRARY_INNER(id, variable)                     \
  static void ks_library_##id(::torch::Library& variable); \
  static const bool ks_library_registered_##id = [] {      \
    ::kernelsmith::light::RegisterModule("library", [] {   \
      ::torch::Library library;                            \
      ks_library_##id(library);                            \
    });                                                    \
    return true;                                           \
  }();                                                     \
  static void ks_library_##id(::torch::Library& variable)
#define KS_LIBRARY(id, variable) KS_LIBRARY_INNER(id, variable)
#define TORCH_LIBRARY(name, variable) KS_LIBRARY(__COUNTER__, variable)
#define TORCH_LIBRARY_IMPL(name, key, variable) KS_LIBRARY(__COUNTER__, variable)
#define TORCH_LIBRARY_FRAGMENT(name, variable) KS_LIBRARY(__COUNTER__, variable)
