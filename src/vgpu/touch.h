// Which registers an instruction reads and writes: what liveness is computed from, where registers
// get their places (registers.cc) and in the JIT.
#pragma once

#include <vector>

#include "vgpu/ir.h"

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
  Touch all = Touch::kUpdate;  // of the list
  Touch result = Touch::kWrite;
  size_t results = 0;  // with split: so many results, then sources
  bool split = false;
  switch (in.op) {
    case Op::kLoad:
    case Op::kUnpack:
    case Op::kWmmaLoad:
    case Op::kLdmatrix:
      all = Touch::kWrite;
      break;
    case Op::kStore:
    case Op::kPack:
    case Op::kWmmaStore:
    case Op::kStmatrix:
      all = Touch::kRead;
      break;
    case Op::kMma:
    case Op::kWmmaMma:
      split = true;
      results = in.width;
      break;
    case Op::kAddCarry:
    case Op::kSubCarry:
    case Op::kMadLoCarry:
    case Op::kMadHiCarry:
    case Op::kSetp:
    case Op::kLop3Pred:
    case Op::kShfl:
      break;
    default:
      // One result that is written last, from sources that were read before: all but these.
      if (in.op >= Op::kShfl || in.op == Op::kAtom || in.op == Op::kAtomVector) {
        result = Touch::kUpdate;
      }
      break;
  }
  for (size_t i = 0; i < in.list_count; ++i) {
    const Touch touch = split ? (i < results ? Touch::kWrite : Touch::kRead) : all;
    call(list[in.list_first + i], touch);
  }
  call(in.d, result);
  const bool maybe = (in.op == Op::kAddCarry || in.op == Op::kSubCarry ||
                      in.op == Op::kMadLoCarry || in.op == Op::kMadHiCarry) &&
                     !in.carry_out;
  call(in.d2, maybe ? Touch::kUpdate : result);
}

}  // namespace kernelsmith::vgpu
