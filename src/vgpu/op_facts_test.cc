#include "vgpu/op_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kernelsmith::vgpu {
namespace {

std::vector<Op> AllOps() {
  return {
#define KS_VGPU_OP(name, ...) Op::k##name,
#include "vgpu/ops.def"
  };
}

// Names of the operations of which `holds` is true.
template <typename Question>
std::string Names(const Question& holds) {
  std::string names;
  for (const Op op : AllOps()) {
    if (holds(op)) names += std::string(names.empty() ? "" : " ") + NameOf(op);
  }
  return names;
}

TEST(OpFacts, AtomicsReadAndWriteMemoryAndHaveAnEffect) {
  EXPECT_EQ(Names(IsAtomic), "Atom Red AtomVector");
  for (const Op op : AllOps()) {
    if (!IsAtomic(op)) continue;
    EXPECT_TRUE(ReadsMemory(op) && WritesMemory(op) && IsLaneAccess(op)) << NameOf(op);
  }
}

TEST(OpFacts, WhatWritesMemoryHasAnEffect) {
  for (const Op op : AllOps()) {
    if (WritesMemory(op)) EXPECT_TRUE(HasEffect(op)) << NameOf(op);
  }
}

TEST(OpFacts, WhatHasAnAddressAccessesMemory) {
  for (const Op op : AllOps()) {
    if (FactsOf(op).address != AddressOperand::k_) EXPECT_TRUE(AccessesMemory(op)) << NameOf(op);
  }
}

TEST(OpFacts, TheGeneratorSeesToWhatEndsABlock) {
  for (const Op op : AllOps()) {
    EXPECT_EQ(FactsOf(op).jit == JitCode::kFlow, EndsBlock(op)) << NameOf(op);
    if (LeavesSequence(op) || EndsFunction(op)) EXPECT_TRUE(EndsBlock(op)) << NameOf(op);
  }
}

TEST(OpFacts, CostFollowsFromWhatItDoes) {
  for (const Op op : AllOps()) {
    const OpFacts& facts = FactsOf(op);
    // A wgmma reads shared memory, but is paid as arithmetic; an mbarrier as synchronisation.
    const bool pays_memory = facts.cost >= Cost::kMemory && facts.cost <= Cost::kTexture;
    const bool other = op == Op::kWgmma || op == Op::kMbarrier;
    EXPECT_EQ(pays_memory || other, AccessesMemory(op)) << NameOf(op);
    EXPECT_EQ(facts.cost == Cost::kMemory, IsLaneAccess(op)) << NameOf(op);
    if (facts.flow != Flow::k_) {
      EXPECT_EQ(facts.cost, op == Op::kBarrier ? Cost::kSync : Cost::kControl) << NameOf(op);
    }
    if (AlwaysWaits(op)) EXPECT_TRUE(facts.cost == Cost::kSync || IsAtomic(op)) << NameOf(op);
  }
}

TEST(OpFacts, ListsOfAccessesGoTheWayOfTheData) {
  for (const Op op : AllOps()) {
    const OpFacts& facts = FactsOf(op);
    if (facts.list == ListUse::kResults) EXPECT_FALSE(WritesMemory(op)) << NameOf(op);
    if (facts.list == ListUse::kSources && facts.memory != MemoryUse::kCopy) {
      EXPECT_FALSE(ReadsMemory(op)) << NameOf(op);
    }
  }
}

TEST(OpFacts, IndexArithmeticIsArithmeticOfTheLaneAlone) {
  EXPECT_EQ(Names(MayWrapIndex), "Add Sub MulLo MadLo Shl");
  for (const Op op : AllOps()) {
    if (MayWrapIndex(op)) EXPECT_TRUE(CarriesIndex(op)) << NameOf(op);
    if (!CarriesIndex(op)) continue;
    EXPECT_FALSE(AccessesMemory(op) || IsCollective(op) || IsControl(op)) << NameOf(op);
  }
}

TEST(OpFacts, CollectivesOfAWarpAreControl) {
  EXPECT_EQ(Names(CombinesLanes), "Vote MatchAny MatchAll Redux");
  EXPECT_EQ(Names(IsMatrix),
            "Mma WmmaLoad WmmaStore WmmaMma Ldmatrix Stmatrix Movmatrix MarkFragment");
  EXPECT_EQ(Names([](Op op) { return IsControl(op) && !MeetsLanes(op); }),
            "Bra BrxIdx Call Ret Exit Trap Barrier");
  EXPECT_EQ(Names([](Op op) { return IsCollective(op) && !IsControl(op); }),
            "ClusterArrive ClusterTest Activemask");
}

TEST(OpFacts, FloatArithmeticIsNoControl) {
  for (const Op op : AllOps()) {
    if (HasFlag(op, OpFacts::kAnyNan)) EXPECT_TRUE(HasFlag(op, OpFacts::kFloat)) << NameOf(op);
    if (!HasFlag(op, OpFacts::kFloat)) continue;
    EXPECT_FALSE(HasEffect(op) || AccessesMemory(op) || IsControl(op)) << NameOf(op);
  }
}

}  // namespace
}  // namespace kernelsmith::vgpu
