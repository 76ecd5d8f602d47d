// The judge is linked with the compiler of kernels: see vgpu/jit_library.h.
#include "vgpu/jit_library.h"

extern "C" kernelsmith::vgpu::jit::CompiledKernel* kernelsmith_jit_compile(
    const kernelsmith::vgpu::jit::CompileRequest& request, std::string* why);

namespace kernelsmith::vgpu {

JitLibrary FindJitLibrary(const std::string&) { return {&kernelsmith_jit_compile, {}}; }

}  // namespace kernelsmith::vgpu
