// What is known of an operation of the IR from the operation alone: the columns of ops.def, whose
// legend says what they mean, and the questions that are asked of them.
#pragma once

#include <cstdint>

#include "vgpu/ir.h"

namespace kernelsmith::vgpu {

// Columns of ops.def; k_ is what the table writes for "none".
enum class MemoryUse : uint8_t { k_, kRead, kWrite, kAtomic, kReduce, kCopy, kUpdate };
enum class AddressOperand : uint8_t { k_, kA, kB };
enum class Partners : uint8_t {
  k_,
  kActive,
  kShuffle,
  kVote,
  kMatch,
  kReduce,
  kElect,
  kWarpSync,
  kMatrix,
  kWarpgroup,
  kBlock,
  kCluster,
};
enum class Flow : uint8_t { k_, kBranch, kCall, kEnd, kTrap, kBarrier };
enum class ListUse : uint8_t { k_, kResults, kSources, kBoth, kSums, kMixed };
enum class IndexUse : uint8_t { k_, kCarries, kWraps };

// What a GPU pays for it. How much that is, counters/classify.cc says.
enum class Cost : uint8_t {
  kInteger,    // one integer instruction
  kWord,       // one for every 32 bits
  kMultiply,   // one, several for 64 bits
  kRemainder,  // a sequence
  kNoFlop,     // one instruction of the type, which counts as no arithmetic
  kFlop,       // one, which counts as one operation on every element
  kTwoFlops,
  kDivide,    // by type: a sequence of integer or float instructions
  kRoot,      // special function unit, with a sequence around it unless approximate
  kFunction,  // special function unit
  kMathCall,  // a function of libdevice
  kCompare,   // as kNoFlop, of the type that is compared
  kConvert,
  kMove,
  kRename,    // nothing: ptxas names another register instead
  kMemory,    // an access for each lane
  kCopy,      // global memory, in pieces that the handler tells one by one
  kFragment,  // an access of many parts, for a matrix
  kRows,      // an access of shared memory for the rows of a matrix
  kTexture,
  kSync,
  kWarp,
  kTensor,
  kControl,
};

// Does compiled code do it itself (jit/analysis_shapes.cc: IsNative), and for which types? Other
// instructions of the operation are done by their handlers, which compiled code calls.
enum class JitCode : uint8_t {
  kFlow,     // it ends a block of the control flow graph: the generator sees to it
  kHandler,  // never
  kAlways,
  kNumber,     // floats (single or in pairs) rounded to nearest, plain integers
  kExact,      // floats, plain integers
  kFloat,      // floats rounded to nearest
  kF32,        // f32 rounded to nearest
  kF32Approx,  // approximate f32
  kInt,        // plain integers: of 16, 32 or 64 bits, without saturation
  kInt32,      // those of 32 bits
  kIntTo32,    // those of 16 and 32 bits
  kTo64,       // whatever has at most 64 bits
  kOnly64,     // whatever has 64 bits
  kOwn,        // a rule of its own
};

struct OpFacts {
  enum Flags : uint8_t {
    kFloat = 1,
    kAnyNan = 2,
    kCarry = 4,
    kEarly = 8,
    kEffect = 16,
    kAsync = 32,
    kWaits = 64,
  };

  MemoryUse memory;
  AddressOperand address;
  Partners partners;
  Flow flow;
  ListUse list;
  IndexUse index;
  Cost cost;
  JitCode jit;
  uint8_t flags;

  static const OpFacts kTable[];
};

inline constexpr OpFacts OpFacts::kTable[] = {
#define KS_VGPU_OP(name, memory, address, partners, flow, list, index, cost, jit, flags) \
  {MemoryUse::k##memory,                                                                 \
   AddressOperand::k##address,                                                           \
   Partners::k##partners,                                                                \
   Flow::k##flow,                                                                        \
   ListUse::k##list,                                                                     \
   IndexUse::k##index,                                                                   \
   Cost::k##cost,                                                                        \
   JitCode::k##jit,                                                                      \
   flags},
#include "vgpu/ops.def"
};

constexpr const OpFacts& FactsOf(Op op) { return OpFacts::kTable[static_cast<size_t>(op)]; }

constexpr bool HasFlag(Op op, OpFacts::Flags flag) { return (FactsOf(op).flags & flag) != 0; }

// ---- memory

constexpr bool AccessesMemory(Op op) { return FactsOf(op).memory != MemoryUse::k_; }
constexpr bool ReadsMemory(Op op) {
  return AccessesMemory(op) && FactsOf(op).memory != MemoryUse::kWrite;
}
constexpr bool WritesMemory(Op op) {
  return AccessesMemory(op) && FactsOf(op).memory != MemoryUse::kRead;
}
// atom and red, of one element or several.
constexpr bool IsAtomic(Op op) {
  return FactsOf(op).memory == MemoryUse::kAtomic || FactsOf(op).memory == MemoryUse::kReduce;
}
// Each lane accesses memory where Instruction::address says: loads, stores, atomics.
constexpr bool IsLaneAccess(Op op) { return FactsOf(op).address == AddressOperand::kA; }
constexpr bool HasEffect(Op op) { return HasFlag(op, OpFacts::kEffect); }
constexpr bool IsAsync(Op op) { return HasFlag(op, OpFacts::kAsync); }

// ---- index arithmetic

// A wrapped index that goes in comes out as one.
constexpr bool CarriesIndex(Op op) { return FactsOf(op).index != IndexUse::k_; }
constexpr bool MayWrapIndex(Op op) { return FactsOf(op).index == IndexUse::kWraps; }

// ---- other threads

// Its result depends on what other lanes, warps or blocks do at it, or it waits for them.
constexpr bool IsCollective(Op op) { return FactsOf(op).partners != Partners::k_; }
// The lanes of a warp (or several warps) come together to do it.
constexpr bool MeetsLanes(Op op) {
  return FactsOf(op).partners >= Partners::kShuffle && FactsOf(op).partners <= Partners::kWarpgroup;
}
// One result for all lanes that come together, made of what each of them has.
constexpr bool CombinesLanes(Op op) {
  return FactsOf(op).partners >= Partners::kVote && FactsOf(op).partners <= Partners::kReduce;
}
// Part of a matrix in each lane of a warp.
constexpr bool IsMatrix(Op op) { return FactsOf(op).partners == Partners::kMatrix; }
constexpr bool AlwaysWaits(Op op) { return HasFlag(op, OpFacts::kWaits); }

// ---- arithmetic

// Of a float type, it makes a float from floats.
constexpr bool IsFloatArithmetic(Op op) { return HasFlag(op, OpFacts::kFloat); }
// The same, and where the result is a NaN it is the one that arithmetic makes.
constexpr bool MakesOneNan(Op op) {
  return IsFloatArithmetic(op) && !HasFlag(op, OpFacts::kAnyNan);
}

// A texture or a surface.
constexpr bool IsTexture(Op op) { return FactsOf(op).cost == Cost::kTexture; }
// It is about the blocks of a cluster.
constexpr bool IsAboutClusters(Op op) {
  return FactsOf(op).partners == Partners::kCluster || op == Op::kMapa || op == Op::kGetctarank;
}

// ---- control flow

// The scheduler executes it: it changes the pc or waits.
constexpr bool IsControl(Op op) { return FactsOf(op).flow != Flow::k_ || MeetsLanes(op); }
// A block of the control flow graph ends with it: all that is about flow, so that a warp can go on
// behind it with other lanes.
constexpr bool EndsBlock(Op op) { return FactsOf(op).flow != Flow::k_; }
// The next instruction need not come next: branches, ends, traps. Not calls, which come back.
constexpr bool LeavesSequence(Op op) {
  const Flow flow = FactsOf(op).flow;
  return flow == Flow::kBranch || flow == Flow::kEnd || flow == Flow::kTrap;
}
// The lane does not go on in this function.
constexpr bool EndsFunction(Op op) {
  return FactsOf(op).flow == Flow::kEnd || FactsOf(op).flow == Flow::kTrap;
}

}  // namespace kernelsmith::vgpu
