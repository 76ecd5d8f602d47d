// Undefined bits through matrix instructions. An element of d = a * b + c depends on one row of a,
// one column of b and one element of c, so rows that a kernel never uses may hold anything.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "checkers/init_registers.h"

namespace kernelsmith::checkers {

// wmma.load and wmma.store access memory once for each element of the fragment.
class MatrixAccesses {
 public:
  void Begin() {
    loaded_.clear();
    stored_ = 0;
  }
  // The next access of a wmma.load brought this.
  void Loaded(const vgpu::WarpView& warp, const vgpu::Instruction& in, const LoadedBits& bits);
  // What the next access of a wmma.store, or that of a stmatrix, puts into memory.
  void Store(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask, LoadedBits* bits);
  // After the instruction; `loaded` is what the access of an ldmatrix brought.
  void Propagate(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask,
                 const LoadedBits& loaded);

 private:
  std::vector<std::array<uint64_t, vgpu::kWarpSize>> loaded_;  // by register and element
  int stored_ = 0;                                             // accesses so far
};

}  // namespace kernelsmith::checkers
