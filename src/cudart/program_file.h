// What an executable file says about how it was built, for `kernelsmith run`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith::cudart {

struct ProgramFile {
  bool script = false;              // begins with "#!": nothing else is known
  bool dynamic = false;             // uses the dynamic linker
  std::vector<std::string> needed;  // shared libraries, e.g. "libcudart.so.13"
  bool has_rpath = false;           // DT_RPATH, which goes before LD_LIBRARY_PATH
  bool has_device_code = false;     // a section of fat binaries
  bool has_kernels = false;         // in these; nvcc writes empty ones for files without
  bool imports_runtime = false;     // takes functions of CUDA's runtime from a shared library

  // The CUDA runtime is inside the program, out of our reach.
  bool has_static_runtime() const { return has_device_code && !imports_runtime; }
};

// `contents` of the file at `path`. An error if it is neither a script nor a 64-bit x86 ELF file
// that can be run.
Result<ProgramFile> InspectProgram(std::string_view contents, const std::string& path);

}  // namespace kernelsmith::cudart
