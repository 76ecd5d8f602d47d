// A first look at a kernel's code: can anything of the machine decide what it does, or come out of
// it? Nearly all kernels read no clock, and their pointers go into addresses and nowhere else;
// these need not be watched.
#pragma once

#include <cstdint>
#include <set>

#include "vgpu/ir.h"

namespace kernelsmith::checkers {

// False: values that differ between machines (special registers, addresses) are only the addresses
// of accesses, provided that no memory holds such values. `pointers`: the offsets of the parameters
// that are addresses.
bool MayDependOnEnvironment(const vgpu::Kernel& kernel, const std::set<uint32_t>& pointers);

}  // namespace kernelsmith::checkers
