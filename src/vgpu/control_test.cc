// Branches, divergence, calls, barriers and progress.

#include <numeric>

#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

// out[tid] for one block; the body leaves its result in %r9.
std::string Kernel(const std::string& declarations, const std::string& body,
                   const std::string& before = {}) {
  return before + R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
)" + declarations +
         R"(
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
)" + body +
         R"(
  st.global.u32 [%rd3], %r9;
  ret;
}
)";
}

std::vector<uint32_t> RunBlock(const std::string& text, uint32_t threads, uint32_t blocks = 1) {
  TestGpu gpu;
  const Status loaded = gpu.Load(text);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
  if (!loaded.ok()) return {};
  const uint64_t out = gpu.Buffer(std::vector<uint32_t>(threads, 0xdeadbeef));
  gpu.Run("k", {blocks, 1, 1}, {threads, 1, 1}, {out});
  return gpu.Read<uint32_t>(out, threads);
}

TEST(Control, StraightLine) {
  const auto out = RunBlock(Kernel("", "mad.lo.s32 %r9, %r1, 3, 7;"), 70);
  for (uint32_t i = 0; i < 70; ++i) EXPECT_EQ(out[i], 3 * i + 7);
}

TEST(Control, DivergentIfElseJoins) {
  const auto out = RunBlock(Kernel("", R"(
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra EVEN;
    mov.u32 %r3, 100;
    bra.uni JOIN;
  EVEN:
    mov.u32 %r3, 200;
  JOIN:
    activemask.b32 %r4;
    popc.b32 %r5, %r4;
    add.u32 %r9, %r3, %r5;
  )"),
                            32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], (i % 2 == 0 ? 200u : 100u) + 32);
}

TEST(Control, LoopsWithDifferentTripCountsMeetBehindTheLoop) {
  const auto out = RunBlock(Kernel("", R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
  LOOP:
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra DONE;
    add.u32 %r3, %r3, %r2;
    add.u32 %r2, %r2, 1;
    bra.uni LOOP;
  DONE:
    activemask.b32 %r4;
    popc.b32 %r5, %r4;
    shl.b32 %r5, %r5, 16;
    or.b32 %r9, %r3, %r5;
  )"),
                            32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i * (i - 1) / 2 % 65536 + (32u << 16)) << i;
}

TEST(Control, IndexedBranch) {
  const auto out = RunBlock(Kernel("", R"(
    and.b32 %r2, %r1, 3;
    brx.idx %r2, TARGETS;
    TARGETS: .branchtargets A, B, C, D;
  A: mov.u32 %r9, 10; bra JOIN;
  B: mov.u32 %r9, 20; bra JOIN;
  C: mov.u32 %r9, 30; bra JOIN;
  D: mov.u32 %r9, 40;
  JOIN:
  )"),
                            32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 10 * (i % 4 + 1));
}

constexpr char kFactorial[] = R"(
.func (.param .b32 result) factorial(.param .b32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra ONE;
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r2;
    call.uni (b), factorial, (a);
    ld.param.b32 %r3, [b];
  }
  mul.lo.u32 %r4, %r3, %r1;
  st.param.b32 [result], %r4;
  ret;
ONE:
  st.param.b32 [result], 1;
  ret;
}
)";

TEST(Control, DivergentRecursion) {
  const auto out = RunBlock(Kernel("", R"(
    rem.u32 %r2, %r1, 11;
    {
      .param .b32 a;
      .param .b32 b;
      st.param.b32 [a], %r2;
      call.uni (b), factorial, (a);
      ld.param.b32 %r9, [b];
    }
  )",
                                   kFactorial),
                            32);
  uint32_t factorial[11] = {1};
  for (uint32_t i = 1; i < 11; ++i) factorial[i] = factorial[i - 1] * i;
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], factorial[i % 11]) << i;
}

TEST(Control, IndirectCallsOfSeveralFunctions) {
  const std::string functions = R"(
.func (.param .b32 r) twice(.param .b32 x)
{
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [x];
  shl.b32 %r2, %r1, 1;
  st.param.b32 [r], %r2;
  ret;
}
.func (.param .b32 r) square(.param .b32 x)
{
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [x];
  mul.lo.u32 %r2, %r1, %r1;
  st.param.b32 [r], %r2;
  ret;
}
.global .align 8 .u64 table[2] = {twice, square};
)";
  const auto out = RunBlock(Kernel("", R"(
    and.b32 %r2, %r1, 1;
    mul.wide.u32 %rd4, %r2, 8;
    mov.u64 %rd5, table;
    add.s64 %rd6, %rd5, %rd4;
    ld.global.u64 %rd7, [%rd6];
    {
      .param .b32 a;
      .param .b32 b;
      st.param.b32 [a], %r1;
      prototype_0: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (b), %rd7, (a), prototype_0;
      ld.param.b32 %r9, [b];
    }
  )",
                                   functions),
                            32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 2 == 0 ? 2 * i : i * i) << i;
}

TEST(Control, SpinLockBetweenLanes) {
  const auto out = RunBlock(Kernel("", R"(
    mov.u64 %rd4, lock;
    mov.u64 %rd5, counter;
  SPIN:
    atom.global.cas.b32 %r2, [%rd4], 0, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra SPIN;
    ld.volatile.global.u32 %r3, [%rd5];
    add.u32 %r4, %r3, 1;
    st.volatile.global.u32 [%rd5], %r4;
    membar.gl;
    atom.global.exch.b32 %r5, [%rd4], 0;
    bar.sync 0;
    ld.volatile.global.u32 %r9, [%rd5];
  )",
                                   ".global .u32 lock;\n.global .u32 counter;\n"),
                            96);
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], 96u) << i;
}

TEST(Control, BlocksWaitForLaterBlocks) {
  // Every block but the last waits for the one behind it.
  const auto out = RunBlock(Kernel("", R"(
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %nctaid.x;
    add.u32 %r4, %r2, 1;
    setp.eq.u32 %p1, %r4, %r3;
    mov.u64 %rd4, flags;
    mul.wide.u32 %rd5, %r2, 4;
    add.s64 %rd6, %rd4, %rd5;
    mov.u32 %r6, 1;
    @%p1 bra READY;
  WAIT:
    ld.acquire.gpu.global.u32 %r6, [%rd6+4];
    setp.eq.u32 %p2, %r6, 0;
    @%p2 bra WAIT;
    add.u32 %r6, %r6, 1;
  READY:
    st.release.gpu.global.u32 [%rd6], %r6;
    mov.u32 %r9, %r6;
    setp.ne.u32 %p3, %r2, 0;
    @%p3 ret;
  )",
                                   ".global .u32 flags[101];\n"),
                            32, 100);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 100u) << i;
}

TEST(Control, BarrierWithExitedThreads) {
  const auto out = RunBlock(Kernel(".shared .u32 s[128];", R"(
    mov.u32 %r9, 5;
    setp.ge.u32 %p1, %r1, 64;
    @%p1 bra END;
    mov.u32 %r4, s;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r4, %r5;
    st.shared.u32 [%r6], %r1;
    bar.sync 0;
    xor.b32 %r5, %r5, 252;
    add.u32 %r6, %r4, %r5;
    ld.shared.u32 %r9, [%r6];
  END:
  )"),
                            128);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 63 - i);
  for (uint32_t i = 64; i < 128; ++i) EXPECT_EQ(out[i], 5u);
}

TEST(Control, BarrierReductions) {
  const auto out = RunBlock(Kernel("", R"(
    and.b32 %r2, %r1, 3;
    setp.eq.u32 %p1, %r2, 0;
    barrier.cta.red.popc.u32 %r3, 0, %p1;
    barrier.cta.red.and.pred %p2, 0, %p1;
    barrier.cta.red.or.pred %p3, 0, %p1;
    selp.u32 %r4, 1000, 0, %p2;
    selp.u32 %r5, 100000, 0, %p3;
    add.u32 %r9, %r3, %r4;
    add.u32 %r9, %r9, %r5;
  )"),
                            96);
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], 100024u);
}

TEST(Control, NamedBarriersOfProducersAndConsumers) {
  // Warp 1 produces, warp 0 consumes, four times over.
  const auto out = RunBlock(Kernel(".shared .u32 box[32];", R"(
    mov.u32 %r2, 0;
    mov.u32 %r9, 0;
    and.b32 %r3, %r1, 31;
    shl.b32 %r4, %r3, 2;
    mov.u32 %r5, box;
    add.u32 %r5, %r5, %r4;
    setp.ge.u32 %p1, %r1, 32;
  LOOP:
    @%p1 bra PRODUCE;
    bar.sync 1, 64;
    ld.shared.u32 %r6, [%r5];
    add.u32 %r9, %r9, %r6;
    bar.arrive 2, 64;
    bra NEXT;
  PRODUCE:
    add.u32 %r7, %r3, %r2;
    st.shared.u32 [%r5], %r7;
    bar.arrive 1, 64;
    bar.sync 2, 64;
  NEXT:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, 4;
    @%p2 bra LOOP;
  )"),
                            64);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 4 * i + 6);
}

TEST(Control, DeadlockIsAFaultThatSaysWhoWaits) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(Kernel("", R"(
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra FIRST;
    bar.sync 1, 64;
    bra END;
  FIRST:
    bar.sync 2, 64;
  END:
    mov.u32 %r9, 0;
  )"))
                  .ok());
  const uint64_t out = gpu.Buffer(std::vector<uint32_t>(64));
  const auto result = gpu.Launch("k", {}, {64, 1, 1}, {out});
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->fault.has_value());
  EXPECT_EQ(result->fault->kind, FaultKind::kDeadlock);
  EXPECT_NE(result->fault->message.find("bar.sync 2"), std::string::npos) << result->fault->message;
}

TEST(Control, WarpSyncInDifferentBranches) {
  const auto out = RunBlock(Kernel(".shared .u32 s[32];", R"(
    mov.u32 %r4, s;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r4, %r5;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    st.shared.u32 [%r6], %r1;
    bar.warp.sync -1;
    bra JOIN;
  LOW:
    st.shared.u32 [%r6], %r1;
    bar.warp.sync 0xffffffff;
  JOIN:
    xor.b32 %r5, %r5, 124;
    add.u32 %r6, %r4, %r5;
    ld.shared.u32 %r9, [%r6];
  )"),
                            32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 31 - i);
}

TEST(Control, ShuffleWaitsForItsMask) {
  // Lanes reach the shuffle at different times.
  const auto out = RunBlock(Kernel("", R"(
    mov.u32 %r2, 0;
  LOOP:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra LOOP;
    shfl.sync.bfly.b32 %r9|%p2, %r1, 1, 31, -1;
  )"),
                            32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i ^ 1);
}

// How a launch of the loaded kernel fails.
std::optional<FaultKind> FaultOf(TestGpu& gpu) {
  const uint64_t out = gpu.Buffer(std::vector<uint32_t>(64));
  const auto result = gpu.Launch("k", {4, 1, 1}, {64, 1, 1}, {out});
  EXPECT_TRUE(result.ok());
  if (!result.ok() || !result->fault) return std::nullopt;
  return result->fault->kind;
}

TEST(Control, EndlessSpinIsNoProgress) {
  VirtualGpu::Options options;
  options.watchdog = std::chrono::milliseconds(50);
  TestGpu gpu(std::move(options));
  ASSERT_TRUE(gpu.Load(Kernel("", R"(
  WAIT:
    ld.volatile.global.u32 %r2, [%rd1];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra WAIT;
    mov.u32 %r9, 0;
  )"))
                  .ok());
  EXPECT_EQ(FaultOf(gpu), FaultKind::kNoProgress);
}

// for (o = 16; o >= 0; o /= 2): o stays 0, what is added up becomes infinite, and nothing changes.
TEST(Control, LoopsThatChangeNothingAreEndless) {
  for (const Engine engine : {Engine::kInterpreter, Engine::kAuto}) {
    VirtualGpu::Options options;
    options.settings.engine = engine;
    TestGpu gpu(std::move(options));
    ASSERT_TRUE(gpu.Load(Kernel("", R"(
      mov.u32 %r2, 16;
      mov.u32 %r3, 1;
    AGAIN:
      shfl.sync.bfly.b32 %r4, %r3, %r2, 31, -1;
      max.u32 %r3, %r3, %r4;
      shr.s32 %r2, %r2, 1;
      setp.ge.s32 %p1, %r2, 0;
      @%p1 bra AGAIN;
      mov.u32 %r9, %r3;
    )"))
                    .ok());
    EXPECT_EQ(FaultOf(gpu), FaultKind::kEndlessLoop);
  }
}

// A counter that only goes up may come to its end some day: not within the time limit.
TEST(Control, ALaunchEndsWithItsTimeLimit) {
  VirtualGpu::Options options;
  options.time_limit = std::chrono::milliseconds(100);
  TestGpu gpu(std::move(options));
  ASSERT_TRUE(gpu.Load(Kernel("", R"(
      mov.u64 %rd2, 0;
    AGAIN:
      add.u64 %rd2, %rd2, 1;
      setp.ne.u64 %p1, %rd2, 0;
      @%p1 bra AGAIN;
      mov.u32 %r9, 0;
  )"))
                  .ok());
  EXPECT_EQ(FaultOf(gpu), FaultKind::kNoProgress);
}

// The interpreter gives a launch up to compiled code after some milliseconds: not while its blocks
// wait for blocks that have not begun.
TEST(Control, BlocksThatWaitForLaterOnesGetThemWhateverTheTime) {
  VirtualGpu::Options options;
  options.watchdog = std::chrono::milliseconds(3000);
  TestGpu gpu(std::move(options));
  ASSERT_TRUE(gpu.Load(Kernel("", R"(
    mov.u32 %r2, 0;
  WORK:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 40000;
    @%p1 bra WORK;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra WAITING;
    atom.global.add.u32 %r3, [%rd1+256], 1;
  WAITING:
    bar.sync 0;
  WAIT:
    ld.volatile.global.u32 %r4, [%rd1+256];
    setp.lt.u32 %p1, %r4, 8;
    @%p1 bra WAIT;
    mov.u32 %r9, %r4;
  )"))
                  .ok());
  const uint64_t out = gpu.Buffer(std::vector<uint32_t>(65));
  const auto result = gpu.Launch("k", {8, 1, 1}, {64, 1, 1}, {out});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->fault.has_value()) << result->fault->message;
  EXPECT_EQ(gpu.Read<uint32_t>(out, 64), std::vector<uint32_t>(64, 8));
}

TEST(Control, TrapNamesThread) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(Kernel("", R"(
    setp.eq.u32 %p1, %r1, 37;
    @%p1 trap;
    mov.u32 %r9, 0;
  )"))
                  .ok());
  const uint64_t out = gpu.Buffer(std::vector<uint32_t>(64));
  const auto result = gpu.Launch("k", {1, 1, 1}, {64, 1, 1}, {out});
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->fault.has_value());
  EXPECT_EQ(result->fault->kind, FaultKind::kTrap);
  EXPECT_EQ(result->fault->thread.x, 37u);
}

TEST(Control, UnsupportedInstructionIsNamedOnlyForTheKernelThatHasIt) {
  TestGpu gpu;
  const Status loaded = gpu.Load(R"(
.visible .entry good() { ret; }
.visible .entry bad(.param .u64 out)
{
  .reg .b64 %rd<4>;
  multimem.red.relaxed.sys.global.add.u32 [%rd1], 1;
  ret;
}
)");
  ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
  gpu.Run("good", {}, {}, {});
  const auto result = gpu.Launch("bad", {}, {}, {0});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind(), ErrorKind::kUnsupported);
  EXPECT_NE(result.error().Format().find("test.ptx:9"), std::string::npos)
      << result.error().Format();
  EXPECT_NE(result.error().message().find("multimem.red"), std::string::npos);
}

// Every block waits until as many as %nctaid.x have come: nobody ends before all have begun.
TEST(Control, BlocksBeyondWhatTheGpuHoldsAtATimeNeverBegin) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(Kernel("", R"(
    atom.global.add.u32 %r2, [%rd1+4096], 1;
    mov.u32 %r3, %nctaid.x;
  SPIN:
    ld.volatile.global.u32 %r4, [%rd1+4096];
    setp.lt.u32 %p1, %r4, %r3;
    @%p1 bra SPIN;
    mov.u32 %r9, %r4;)"))
                  .ok());
  const uint32_t held =
      gpu.gpu().options().multiprocessors *
      static_cast<uint32_t>(MaxResidentBlocksPerSm(DefaultGpuModel(), {.threads = 1}));
  for (const uint32_t blocks : {held, held + 1}) {
    const uint64_t out = gpu.Buffer(std::vector<uint32_t>(2048));
    const std::vector<uint64_t> arguments{out};
    const auto result = gpu.gpu().Launch({.module = &gpu.module(),
                                          .entry = "k",
                                          .grid = {blocks, 1, 1},
                                          .block = {1, 1, 1},
                                          .parameters = std::as_bytes(std::span(arguments)),
                                          .alone = true});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->fault.has_value(), blocks > held);
    if (result->fault) EXPECT_EQ(result->fault->kind, FaultKind::kDeadlock);
  }
}

}  // namespace
}  // namespace kernelsmith::vgpu
