// Every other function of the runtime exists too, so that programs link and start; calling one says
// which it was.
//
// The arguments are not looked at, so one signature does for all: this file must not see CUDA's
// declarations.
#include <fmt/format.h>

#include "cudart/messages.h"
#include "cudart/unsupported.h"

namespace {

constexpr int kNotSupported = 801;  // cudaErrorNotSupported

int Refuse(const char* name) {
  kernelsmith::cudart::Say(fmt::format("{} is not supported", name));
  return kernelsmith::cudart::SetNotSupported(name, kNotSupported);
}

}  // namespace

extern "C" {

#define KS_UNSUPPORTED(name) \
  int name() { return Refuse(#name); }
#include "cudart/unsupported.def"
#undef KS_UNSUPPORTED

}  // extern "C"
