// Writes valid kernels at random: divergence of every kind, memory, exchanges between lanes and
// warps, arithmetic of every type.
//
// What a kernel computes depends on nothing but its data: threads touch their own memory, or memory
// that a barrier or the order of blocks and warps protects. So two engines must agree on all of it.
#pragma once

#include "program.h"

namespace kernelsmith::fuzz {

struct GeneratorOptions {
  int statements = 20;
};

// The same seed gives the same kernel. Grid and block are those of shape 0.
Program Generate(uint64_t seed, const GeneratorOptions& options = {});

// How a kernel is launched: `which` of them the seed chooses.
void SetShape(Program& program, int which);

}  // namespace kernelsmith::fuzz
