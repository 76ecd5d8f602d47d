// Which registers an instruction reads and writes: what liveness is computed from, where registers
// get their places (registers.cc) and in the JIT.
#pragma once

#include <vector>

#include "vgpu/op_facts.h"

namespace kernelsmith::vgpu {

// How an instruction touches an operand. kUpdate: reads it, or may leave it as it was.
enum class Touch { kRead, kWrite, kUpdate };

// Calls visit(operand, touch) for each register operand. What is not known for sure is kUpdate,
// which is always safe.
template <typename Visit>
void ForEachTouch(const Instruction& in, const std::vector<Operand>& list, bool guarded,
                  const Visit& visit) {
  const auto call = [&](Operand operand, Touch touch) {
    if (!operand.exists() || operand.base() != OperandBase::kRegister) return;
    visit(operand, guarded && touch == Touch::kWrite ? Touch::kUpdate : touch);
  };
  call(in.guard, Touch::kRead);
  for (const Operand operand : {in.a, in.b, in.c, in.e}) call(operand, Touch::kRead);
  for (size_t i = 0; i < in.list_count; ++i) {
    const auto touch = [&] {
      switch (FactsOf(in.op).list) {
        case ListUse::kResults:
          return Touch::kWrite;
        case ListUse::kSources:
          return Touch::kRead;
        case ListUse::kBoth:
          return i < in.width ? Touch::kWrite : Touch::kRead;
        case ListUse::kSums:
          return i < in.width ? Touch::kUpdate : Touch::kRead;
        case ListUse::kMixed:
        case ListUse::k_:
          break;
      }
      return Touch::kUpdate;
    };
    call(list[in.list_first + i], touch());
  }
  const Touch result = HasFlag(in.op, OpFacts::kEarly) ? Touch::kUpdate : Touch::kWrite;
  call(in.d, result);
  const bool maybe = HasFlag(in.op, OpFacts::kCarry) && !in.carry_out;
  call(in.d2, maybe ? Touch::kUpdate : result);
}

}  // namespace kernelsmith::vgpu
