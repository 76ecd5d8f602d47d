// Slices write where, as often, and by the same blocks as the launches that they stand for.

#include "vgpu/slice.h"

#include <gtest/gtest.h>

#include "vgpu/testing.h"
#include "vgpu/testing/write_counter.h"

namespace kernelsmith::vgpu {
namespace {

constexpr uint32_t kElements = 4096;

class SliceTest : public testing::Test {
 protected:
  // Parameters: an output, an input, and a number. %r1: the thread's number in the grid, %rd2: the
  // place of its output.
  void Load(const std::string& body, const std::string& variables = "") {
    const Status loaded = gpu_.Load(
        variables +
        ".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 n) {\n"
        ".reg .b32 %r<24>; .reg .b64 %rd<16>; .reg .f32 %f<16>; .reg .pred %p<8>; .reg .b16 %h;\n"
        "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; ld.param.u32 %r0, [n];\n"
        "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
        "mad.lo.u32 %r1, %r3, %r4, %r2; mad.wide.u32 %rd2, %r1, 4, %rd0;\n"
        "mad.wide.u32 %rd3, %r1, 4, %rd1;\n" +
        body + "\nret; }\n");
    ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
    std::vector<uint32_t> numbers(kElements);
    for (uint32_t i = 0; i < kElements; ++i) numbers[i] = i * 2654435761u >> 22;
    input_ = gpu_.Buffer(numbers);
    output_ = gpu_.Buffer(std::vector<uint32_t>(kElements));
  }

  SliceRecord Launch(Engine engine, bool sliced, uint32_t n, uint32_t threads) {
    gpu_.gpu().options().settings.engine = engine;
    std::memset(gpu_.memory().HostAlias(output_, kElements * 4), 0, kElements * 4);
    SliceRecord record{.outputs = {{.address = output_, .bytes = kElements * 4}}};
    WriteCounter counter(record, 4);
    const std::vector<uint64_t> arguments{output_, input_, n};
    const auto result = gpu_.gpu().Launch({.module = &gpu_.module(),
                                           .entry = "k",
                                           .grid = {4, 1, 1},
                                           .block = {threads, 1, 1},
                                           .parameters = std::as_bytes(std::span(arguments)),
                                           .observer = sliced ? nullptr : &counter,
                                           .slice = sliced ? &record : nullptr});
    EXPECT_TRUE(result.ok());
    if (!result.ok()) return record;
    EXPECT_FALSE(result->fault) << result->fault->message;
    if (sliced && record.possible && engine == Engine::kJit) {
      EXPECT_TRUE(result->compiled) << result->fallback;
    }
    return record;
  }

  // The slice, on which both engines must agree with the launch itself.
  SliceRecord Slice(uint32_t n = 0, uint32_t threads = 64) {
    const SliceRecord expected = Launch(Engine::kInterpreter, false, n, threads);
    const SliceRecord interpreted = Launch(Engine::kInterpreter, true, n, threads);
    EXPECT_TRUE(interpreted.possible) << interpreted.why;
    EXPECT_EQ(DifferenceOf(expected, interpreted), "");
    const SliceRecord compiled = Launch(Engine::kJit, true, n, threads);
    EXPECT_TRUE(compiled.possible) << compiled.why;
    EXPECT_EQ(DifferenceOf(expected, compiled), "");
    EXPECT_EQ(compiled.stores, interpreted.stores);
    return compiled;
  }

  uint32_t Output(size_t i) { return gpu_.Read<uint32_t>(output_, i + 1)[i]; }

  TestGpu gpu_;
  uint64_t input_ = 0;
  uint64_t output_ = 0;
};

// A sum of n numbers from global memory.
constexpr char kSum[] =
    "mov.f32 %f0, 0f00000000; mov.u32 %r5, 0; setp.eq.u32 %p0, %r0, 0; @%p0 bra DONE;\n"
    "LOOP: ld.global.f32 %f1, [%rd3]; add.f32 %f0, %f0, %f1; add.s64 %rd3, %rd3, 4;\n"
    "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r0; @%p1 bra LOOP;\n"
    "DONE: st.global.f32 [%rd2], %f0;\n";

TEST_F(SliceTest, ComputationGoesAndLoopsStay) {
  Load(kSum);
  for (const uint32_t n : {0u, 1u, 2u, 17u}) {
    const SliceRecord slice = Slice(n);
    EXPECT_EQ(slice.back_edges[0], n == 0 ? 0 : uint64_t{n - 1} * 64);
    EXPECT_EQ(slice.outputs[0].writes[255], 1);
    EXPECT_EQ(slice.outputs[0].writes[256], 0);
    EXPECT_EQ(slice.outputs[0].last_block[200], 3u);
    EXPECT_FALSE(slice.stores);
    EXPECT_LT(slice.share, 1);
  }
  for (const uint32_t threads : {1u, 20u, 33u}) Slice(5, threads);
}

TEST_F(SliceTest, MemoryStaysAsItWas) {
  Load("mov.u32 %r5, 7; st.global.u32 [%rd2], %r5;\n");
  Slice();
  EXPECT_EQ(Output(3), 0u);
}

TEST_F(SliceTest, ALoadThatDecidesStays) {
  Load(
      "ld.global.u32 %r5, [%rd3]; and.b32 %r6, %r5, 3; setp.eq.u32 %p0, %r6, 0; @%p0 bra DONE;\n"
      "and.b32 %r7, %r5, 1023; mad.wide.u32 %rd4, %r7, 4, %rd0; st.global.u32 [%rd4], %r5;\n"
      "LOOP: sub.u32 %r6, %r6, 1; setp.ne.u32 %p1, %r6, 0; @%p1 bra LOOP;\n"
      "DONE:");
  EXPECT_FALSE(Slice().stores);
  Slice(0, 50);
}

TEST_F(SliceTest, SharedMemoryThatDecidesStaysWithItsBarriers) {
  Load(
      "ld.global.u32 %r5, [%rd3]; and.b32 %r5, %r5, 255; mov.u32 %r10, buffer;\n"
      "mad.lo.u32 %r6, %r2, 4, %r10; st.shared.u32 [%r6], %r5; bar.sync 0;\n"
      "xor.b32 %r7, %r2, 33; mad.lo.u32 %r6, %r7, 4, %r10; ld.shared.u32 %r8, [%r6];\n"
      "mad.wide.u32 %rd4, %r8, 4, %rd0; st.global.u32 [%rd4], %r1;\n",
      ".shared .align 4 .b8 buffer[4096];\n");
  Slice();
}

TEST_F(SliceTest, SharedMemoryThatDecidesNothingGoes) {
  Load(
      "ld.global.f32 %f1, [%rd3]; mov.u32 %r10, buffer; mad.lo.u32 %r6, %r2, 4, %r10;\n"
      "st.shared.f32 [%r6], %f1; bar.sync 0; xor.b32 %r7, %r2, 33;\n"
      "mad.lo.u32 %r6, %r7, 4, %r10; ld.shared.f32 %f2, [%r6]; st.global.f32 [%rd2], %f2;\n",
      ".shared .align 4 .b8 buffer[4096];\n");
  EXPECT_LT(Slice().share, 0.8);
}

TEST_F(SliceTest, GenericAddressesOfSharedMemory) {
  Load(
      "mov.u32 %r10, buffer; cvt.u64.u32 %rd4, %r10; cvta.shared.u64 %rd5, %rd4;\n"
      "setp.lt.u32 %p0, %r2, %r0; selp.b64 %rd6, %rd5, %rd2, %p0; st.u32 [%rd6], %r1;\n",
      ".shared .align 4 .b8 buffer[64];\n");
  const SliceRecord slice = Slice(40);
  EXPECT_EQ(slice.outputs[0].writes[39], 0);
  EXPECT_EQ(slice.outputs[0].writes[40], 1);
}

TEST_F(SliceTest, ABranchOverNothingThatMattersGoes) {
  Load(
      "ld.global.f32 %f1, [%rd3]; mov.f32 %f2, 0f00000000; setp.gt.f32 %p0, %f1, %f2;\n"
      "@%p0 bra HIGH; add.f32 %f1, %f1, %f1; bra DONE;\nHIGH: mul.f32 %f1, %f1, %f1;\n"
      "DONE: st.global.f32 [%rd2], %f1;\n");
  // What is left: the address, the mark and the end.
  EXPECT_LT(Slice().share, 0.6);
}

TEST_F(SliceTest, AtomicsAreMarksUnlessTheirResultDecides) {
  Load(
      "and.b32 %r5, %r1, 15; mad.wide.u32 %rd4, %r5, 4, %rd0; red.global.add.u32 [%rd4], %r1;\n"
      "atom.global.add.u32 %r6, [%rd4+64], %r1;\n");
  const SliceRecord slice = Slice();
  EXPECT_EQ(slice.outputs[0].writes[0], 16);
  EXPECT_EQ(slice.outputs[0].writes[16], 16);
  EXPECT_EQ(Output(0), 0u);
}

TEST_F(SliceTest, ATicketDecides) {
  Load(
      "atom.global.add.u32 %r6, [tickets], 1; and.b32 %r6, %r6, 1023;\n"
      "mad.wide.u32 %rd4, %r6, 4, %rd0; st.global.u32 [%rd4], %r1;\n",
      ".global .align 4 .u32 tickets;\n");
  const SliceRecord slice = Launch(Engine::kJit, true, 0, 64);
  ASSERT_TRUE(slice.possible) << slice.why;
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(slice.outputs[0].writes[i], 1);
  EXPECT_EQ(slice.outputs[0].writes[256], 0);
}

TEST_F(SliceTest, AKernelThatReadsWhatItWritesIsItsOwnSlice) {
  // The thread's neighbour says where to store.
  Load(
      "mul.lo.u32 %r5, %r2, 3; st.global.u32 [%rd2], %r5; bar.sync 0;\n"
      "xor.b32 %r6, %r1, 1; mad.wide.u32 %rd4, %r6, 4, %rd0; ld.global.u32 %r7, [%rd4];\n"
      "add.u32 %r7, %r7, 512; mad.wide.u32 %rd5, %r7, 4, %rd0; st.global.u32 [%rd5], %r1;\n");
  const SliceRecord slice = Slice();
  EXPECT_TRUE(slice.stores);
}

TEST_F(SliceTest, VectorsAndNarrowStoresTouchElements) {
  Load(
      "mad.wide.u32 %rd4, %r1, 16, %rd0; st.global.v4.u32 [%rd4], {%r1, %r1, %r1, %r1};\n"
      "mad.wide.u32 %rd5, %r1, 2, %rd0; cvt.u16.u32 %h, %r1; st.global.u16 [%rd5+8192], %h;\n"
      "st.global.u8 [%rd0+16380], %r1;\n");
  const SliceRecord slice = Slice();
  EXPECT_EQ(slice.outputs[0].writes[1023], 1);
  EXPECT_EQ(slice.outputs[0].writes[2048], 2);
  EXPECT_EQ(slice.outputs[0].writes[4095], 255);
}

TEST_F(SliceTest, FaultsAreThoseOfTheLaunch) {
  Load("mad.wide.u32 %rd4, %r1, 1024, %rd2; st.global.u32 [%rd4], %r1;\n");
  for (const Engine engine : {Engine::kInterpreter, Engine::kJit}) {
    gpu_.gpu().options().settings.engine = engine;
    SliceRecord record;
    const std::vector<uint64_t> arguments{output_, input_, 0};
    const auto result = gpu_.gpu().Launch({.module = &gpu_.module(),
                                           .entry = "k",
                                           .grid = {4, 1, 1},
                                           .block = {64, 1, 1},
                                           .parameters = std::as_bytes(std::span(arguments)),
                                           .slice = &record});
    ASSERT_TRUE(result.ok());
    ASSERT_TRUE(result->fault);
    EXPECT_EQ(result->fault->kind, FaultKind::kIllegalAddress);
  }
}

TEST_F(SliceTest, CallsCannotBeSliced) {
  const Status loaded = gpu_.Load(
      ".func f() { ret; }\n.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 n) {\n"
      "call f; ret; }\n");
  ASSERT_TRUE(loaded.ok());
  output_ = gpu_.Buffer(std::vector<uint32_t>(kElements));
  const SliceRecord slice = Launch(Engine::kJit, true, 0, 64);
  EXPECT_FALSE(slice.possible);
  EXPECT_EQ(slice.why, "it calls functions");
}

}  // namespace
}  // namespace kernelsmith::vgpu
