// Where the engine finds the compiler of kernels (jit/). By default it is a library that is loaded
// when the first kernel is compiled, so that nobody else pays for LLVM. The judge, `kernelsmith`
// itself, is linked with it instead and brings its own FindJitLibrary (cli/linked_jit.cc): a
// program that has no loader can't load a candidate's host code either.
#pragma once

#include <string>

#include "vgpu/jit/abi.h"

namespace kernelsmith::vgpu {

struct JitLibrary {
  jit::CompileFunction compile = nullptr;
  std::string why;  // there is none
};

// `given`: the file; empty: searched for. Defined alone in its file: a program that defines it
// leaves that file out.
JitLibrary FindJitLibrary(const std::string& given);

}  // namespace kernelsmith::vgpu
