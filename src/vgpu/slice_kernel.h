// Makes the slice of a kernel: slice.h says what that is. Private to the engine.
#pragma once

#include <memory>
#include <string>

#include "vgpu/ir.h"

namespace kernelsmith::vgpu {

// Whether stores to global memory are made. kMarked: they are not, so nothing that is kept may read
// what they would have written; the engine watches for that.
enum class SliceStores : uint8_t { kMarked, kMade };

// Instruction::variant of a mark beside whose place the store itself is made.
inline constexpr uint8_t kMarkOfMade = 1;

struct KernelSlice {
  std::unique_ptr<Kernel> kernel;  // null: it can't be sliced
  std::string why;
  SliceStores stores = SliceStores::kMarked;
  bool uses_shared = false;  // some instruction accesses shared memory
  bool has_atomics = false;  // atomics change memory
  double share = 1;
};

// What is kept points to `kernel`, which must outlive the slice.
KernelSlice SliceKernel(const Kernel& kernel, SliceStores stores);

}  // namespace kernelsmith::vgpu
