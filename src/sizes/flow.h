// The flow graph of a kernel's entry function: blocks, what is live at their beginnings, and loops
// as a tree. Kernels whose loops have several heads have none.
#pragma once

#include <cstdint>
#include <vector>

#include "support/result.h"
#include "vgpu/ir.h"

namespace kernelsmith::sizes {

struct Flow {
  static constexpr uint32_t kNone = ~0u;

  struct Block {
    uint32_t first = 0;
    uint32_t last = 0;  // one behind
    std::vector<uint32_t> next;
    std::vector<uint32_t> previous;
    std::vector<uint32_t> live;  // registers at its beginning, as offsets, in ascending order
    uint32_t order = kNone;      // in reverse postorder; kNone: nothing leads there
    uint32_t dominator = kNone;
    uint32_t loop = kNone;  // the innermost one that it is in
  };
  struct Loop {
    uint32_t head = 0;
    uint32_t outer = kNone;
    std::vector<bool> blocks;
    std::vector<uint32_t> written;  // registers that some block of it writes
  };

  std::vector<Block> blocks;
  std::vector<uint32_t> in_order;  // blocks in reverse postorder
  std::vector<Loop> loops;

  bool Dominates(uint32_t a, uint32_t b) const;
  // The loop with this head; kNone: there is none.
  uint32_t LoopAt(uint32_t head) const;
};

// kUnsupported: loops with several heads, indirect branches.
Result<Flow> MakeFlow(const vgpu::Function& function);

// Whether the instruction has a guard other than "always".
bool IsGuarded(const vgpu::Function& function, const vgpu::Instruction& in);

}  // namespace kernelsmith::sizes
