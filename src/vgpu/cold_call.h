// A call that changes no register but eax: for calls from compiled code on ways that are almost
// never taken. To the compiler they look like an instruction, so that nothing has to be kept out of
// registers because of them.
#pragma once

#include <cstdint>

#include "vgpu/jit/abi.h"

namespace kernelsmith::vgpu {

// What is called in the end.
using ColdFunction = uint32_t (*)(jit::BlockContext*, jit::WarpContext*, const jit::HandlerCall*,
                                  uint32_t mask);

extern "C" {
extern const ColdFunction kernelsmith_cold_function;
uint32_t kernelsmith_cold_call(jit::BlockContext*, jit::WarpContext*, const jit::HandlerCall*,
                               uint32_t mask);
}

}  // namespace kernelsmith::vgpu
