// libFuzzer over PTX text. Besides crashes and hangs it looks for trees that do not print to text
// with the same tree.
//   ks_ptx_parser_fuzz <new folder> tests/ptx_syntax/corpus tests/ptx_syntax/malformed
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ptx/ptx.h"
#include "ptx/testing/dump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ptx = kernelsmith::ptx;
  const auto module =
      ptx::Parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
  if (!module.ok()) return 0;
  const auto again = ptx::Parse(ptx::Print(*module), "printed.ptx");
  if (!again.ok() || ptx::Dump(*module) != ptx::Dump(*again)) {
    std::fprintf(stderr, "does not round:\n%s\n%s\n", ptx::Print(*module).c_str(),
                 again.ok() ? "" : again.error().Format().c_str());
    std::abort();
  }
  return 0;
}
