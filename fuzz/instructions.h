// The instructions without memory or control flow that generated kernels consist of, as patterns.
#pragma once

#include <string_view>
#include <vector>

namespace kernelsmith::fuzz {

// In a pattern (a|b|) is one of a, b and nothing; $R $H $D $F $G $P are registers of 32, 16 and 64
// bits, f32, f64 and predicates; $r $h $d $f $g the same or an immediate; $8 a number below 256, $n
// one below 40; $R' is another register than those before.
struct PatternGroup {
  int weight;
  std::vector<std::string_view> patterns;
};

const std::vector<PatternGroup>& Arithmetic();
// Instructions of all lanes of a warp that are together; $M is their mask.
const std::vector<std::string_view>& WarpPatterns();
// Products of matrices, and their fragments in shared memory: 32 bytes of each thread's own at %i7,
// a kilobyte of the warp's own at %a2.
const std::vector<std::string_view>& MatrixPatterns();
const std::vector<std::string_view>& MatrixAccessPatterns();
// wgmma with one tile of b; %x4 and %x5 are the descriptors of a and b.
const std::vector<std::string_view>& WarpgroupPatterns();

}  // namespace kernelsmith::fuzz
