#include "vgpu/block_interaction.h"

#include <gtest/gtest.h>

#include "vgpu/ir.h"
#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

constexpr const char* kHeader = ".version 8.4\n.target sm_90a\n.address_size 64\n";

// A kernel with this body; %d0 is the address of global memory.
std::string KernelOf(const std::string& body, const std::string& before = "") {
  return kHeader + before +
         ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n"
         ".reg .f32 %f<8>;\n.reg .b64 %d<8>;\n.shared .align 16 .b8 s[256];\n"
         "ld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\n" +
         body + "\nret;\n}\n";
}

BlockInteraction Of(const std::string& ptx, bool resident_together = false) {
  const auto result = InteractionIn(ptx, "k", resident_together);
  EXPECT_TRUE(result.ok()) << result.error().Format();
  return result.ok() ? *result : BlockInteraction{};
}

void ExpectIndependent(const BlockInteraction& blocks) {
  EXPECT_FALSE(blocks.blocks_wait);
  EXPECT_FALSE(blocks.blocks_share_memory);
  EXPECT_FALSE(blocks.order_of_blocks_shows);
  EXPECT_FALSE(blocks.order_of_threads_shows);
}

TEST(BlockInteraction, BlocksThatOnlyLoadAndStoreAreIndependent) {
  const BlockInteraction blocks =
      Of(KernelOf("ld.global.f32 %f0, [%d0];\nbar.sync 0;\nst.global.f32 [%d0], %f0;"));
  ExpectIndependent(blocks);
  EXPECT_FALSE(blocks.has_fences);
}

TEST(BlockInteraction, CommentsAndNamesSayNothing) {
  ExpectIndependent(
      Of(KernelOf("// atom.global.add.f32 %f0, [%d0], %f1;\n/* red.volatile .acquire */\n"
                  "/*\n.entry other(\n*/\nst.global.f32 [%d0], %f0;",
                  "// .func f\n.global .align 1 .b8 text[6] = {97, 116, 111, 109, 46, 0};\n")));
}

TEST(BlockInteraction, SumsOfFloatsShowTheOrder) {
  const std::string ptx = KernelOf("red.global.add.f32 [%d0], %f0;");
  const BlockInteraction blocks = Of(ptx);
  EXPECT_FALSE(blocks.blocks_wait);
  EXPECT_TRUE(blocks.blocks_share_memory);
  EXPECT_TRUE(blocks.order_of_blocks_shows);
  EXPECT_TRUE(blocks.order_of_threads_shows);
}

TEST(BlockInteraction, SumsOfIntegersShareMemoryInAnyOrder) {
  const BlockInteraction blocks = Of(KernelOf("red.global.add.u32 [%d0], %r0;"));
  EXPECT_FALSE(blocks.blocks_wait);
  EXPECT_TRUE(blocks.blocks_share_memory);
  EXPECT_FALSE(blocks.order_of_blocks_shows);
  EXPECT_FALSE(blocks.order_of_threads_shows);
}

TEST(BlockInteraction, OldValuesOfAtomicsShowTheOrder) {
  const BlockInteraction unread = Of(KernelOf("atom.global.add.u32 %r1, [%d0], %r0;"));
  EXPECT_TRUE(unread.blocks_share_memory);
  EXPECT_FALSE(unread.order_of_threads_shows);
  const BlockInteraction read =
      Of(KernelOf("atom.global.add.u32 %r1, [%d0], %r0;\nst.global.u32 [%d0+8], %r1;"));
  EXPECT_TRUE(read.order_of_threads_shows);
  EXPECT_FALSE(read.blocks_wait) << "not in a loop";
}

TEST(BlockInteraction, ReductionsOfCopiesAreLikeAtomics) {
  const auto reduce = [](const std::string& type) {
    return Of(KernelOf("mov.u32 %r1, s;\ncp.reduce.async.bulk.global.shared::cta.bulk_group.add." +
                       type + " [%d0], [%r1], 16;"));
  };
  EXPECT_TRUE(reduce("f32").order_of_threads_shows);
  EXPECT_TRUE(reduce("f32").blocks_share_memory);
  EXPECT_FALSE(reduce("u32").order_of_threads_shows);
  EXPECT_TRUE(reduce("u32").blocks_share_memory);
}

TEST(BlockInteraction, BarriersInSharedMemoryAreTheBlocksOwn) {
  const BlockInteraction blocks =
      Of(KernelOf("mbarrier.init.shared.b64 [s], 64;\nmbarrier.arrive.shared.b64 %d1, [s];"));
  ExpectIndependent(blocks);
  EXPECT_TRUE(blocks.has_fences);
}

TEST(BlockInteraction, ALoopAroundAFlagWaits) {
  const BlockInteraction blocks =
      Of(KernelOf("again: ld.volatile.global.u32 %r1, [%d0];\nsetp.eq.u32 %p0, %r1, 0;\n"
                  "@%p0 bra again;"));
  EXPECT_TRUE(blocks.blocks_wait);
  EXPECT_TRUE(blocks.blocks_share_memory);
  EXPECT_TRUE(blocks.order_of_blocks_shows);
}

TEST(BlockInteraction, WhatCalledFunctionsDoCounts) {
  const std::string function =
      ".func f(.param .u64 a)\n{\n.reg .b64 %d0;\n.reg .f32 %f0;\nld.param.u64 %d0, [a];\n"
      "mov.f32 %f0, 0f3F800000;\nred.global.add.f32 [%d0], %f0;\nret;\n}\n";
  const BlockInteraction blocks =
      Of(KernelOf("{\n.param .u64 a;\nst.param.u64 [a], %d0;\ncall f, (a);\n}", function));
  ASSERT_TRUE(blocks.order_of_threads_shows);
  EXPECT_EQ(blocks.order_of_threads_shows->function, 1u);
  // A function that nobody calls does not.
  ExpectIndependent(Of(KernelOf("st.global.f32 [%d0], %f0;", function)));
}

TEST(BlockInteraction, BlocksThatAreResidentTogetherMayWait) {
  const BlockInteraction blocks = Of(KernelOf("st.global.f32 [%d0], %f0;"), true);
  EXPECT_TRUE(blocks.blocks_wait);
  EXPECT_TRUE(blocks.blocks_share_memory);
  EXPECT_TRUE(blocks.order_of_blocks_shows);
  EXPECT_FALSE(blocks.order_of_threads_shows);
}

TEST(BlockInteraction, ThePlaceIsTheFirstInstruction) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(KernelOf("red.global.add.u32 [%d0], %r0;\nred.global.add.f32 [%d0+4], %f0;\n"
                                "red.global.add.f64 [%d0+8], 0d0000000000000000;")
                           .substr(std::string(kHeader).size()))
                  .ok());
  const auto kernel = gpu.module().Prepare("k");
  ASSERT_TRUE(kernel.ok()) << kernel.error().Format();
  const auto place = (*kernel)->interaction.order_of_threads_shows;
  ASSERT_TRUE(place);
  const Instruction& in = (*kernel)->functions[place->function]->code[place->instruction];
  EXPECT_EQ(in.op, Op::kRed);
  EXPECT_EQ(in.type, ptx::Type::kF32);
}

}  // namespace
}  // namespace kernelsmith::vgpu
