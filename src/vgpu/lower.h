// PTX syntax to kernel IR: the front door. Private to src/vgpu.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "support/result.h"
#include "vgpu/cpu.h"
#include "vgpu/ir.h"
#include "vgpu/linker.h"

namespace kernelsmith::vgpu {

// Where the shared variables of a kernel and of all it may call lie.
struct SharedLayout {
  std::unordered_map<const ptx::Variable*, uint32_t> offsets;
  uint32_t static_bytes = 0;
  uint32_t dynamic_offset = 0;  // where the unsized extern arrays begin
};
Result<SharedLayout> LayOutShared(const Linker& linker, FunctionRef entry);

// The kernel with every function it may call. What the engine lacks is an error that names the
// instruction and its line, unless only an indirect call could reach it.
Result<std::unique_ptr<Kernel>> LowerKernel(const Linker& linker, const DeviceMemory& memory,
                                            FunctionRef entry, CpuLevel cpu);

}  // namespace kernelsmith::vgpu
