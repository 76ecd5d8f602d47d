// What is known of an instruction before it runs.
#pragma once

#include "counters/counters.h"
#include "vgpu/ir.h"

namespace kernelsmith::counters {

struct InstructionFacts {
  InstructionClass which = InstructionClass::kMove;
  bool generic = false;  // a memory instruction whose space only its addresses tell
  // No traffic: parameters and constants have a cache of their own, call parameters are registers.
  bool no_traffic = false;
  bool through_l1 = false;  // a load that L1 may serve
  // One access of many parts, which the handler tells one by one.
  bool gathered = false;
  bool conditional_branch = false;
  // What one lane does.
  uint8_t flops_fp32 = 0;
  uint8_t flops_fp64 = 0;
  uint8_t flops_fp16 = 0;
  uint8_t special = 0;
  // What the warp does.
  uint64_t flops_tensor = 0;
  bool tf32 = false;
  bool eight_bit = false;
  uint8_t issue = 1;  // machine instructions, about
  // A load's share of a wait: 1 / the number of loads that are waited for together.
  float wait = 0;
};

// The class of every instruction of the function.
std::vector<InstructionFacts> FactsOf(const vgpu::Function& function);
// Fills in `wait`.
void AddWaits(const vgpu::Function& function, std::vector<InstructionFacts>& facts);

}  // namespace kernelsmith::counters
