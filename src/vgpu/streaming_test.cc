// Stores past the caches, on outputs of any size: what is stored must not depend on them.

#include "vgpu/streaming.h"

#include <gtest/gtest.h>

#include <numeric>

#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

constexpr uint32_t kCount = 4096;
constexpr uint32_t kUntouched = 0xfeedbeef;

// to[i] = from[i] + 1 for i < count.
constexpr char kAddOne[] = R"(
.visible .entry add_one(.param .u64 from, .param .u64 to, .param .u64 count)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  ld.param.u32 %r6, [count];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  setp.ge.u32 %p1, %r4, %r6;
  @%p1 bra END;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r5, [%rd4];
  add.u32 %r5, %r5, 1;
  st.global.u32 [%rd5], %r5;
END:
  ret;
}
)";

// Stores to[i] = i, then each thread adds what its neighbour of another warp stored.
constexpr char kReadsBack[] = R"(
.visible .entry reads_back(.param .u64 to)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 256, %r1;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd2, %rd1, %rd2;
  st.global.u32 [%rd2], %r3;
  bar.sync 0;
  xor.b32 %r4, %r1, 32;
  mad.lo.u32 %r4, %r2, 256, %r4;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd3, %rd1, %rd3;
  ld.global.u32 %r5, [%rd3];
  bar.sync 0;
  add.u32 %r5, %r5, %r3;
  st.global.u32 [%rd2], %r5;
  ret;
}
)";

constexpr char kCounts[] = R"(
.visible .entry counts(.param .u64 to, .param .u64 counter)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd3, [counter];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 256, %r1;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd2, %rd1, %rd2;
  st.global.u32 [%rd2], %r3;
  red.global.add.u32 [%rd3], 1;
  ret;
}
)";

// A GPU whose kernels store all outputs past the caches.
class StreamingKernels : public ::testing::Test {
 protected:
  StreamingKernels()
      : gpu_({.settings = {.engine = Engine::kJit, .threads = 2, .stream_bytes = 0}}) {}

  void Run(const std::string& entry, const std::vector<uint64_t>& arguments) {
    const LaunchResult result = gpu_.Run(entry, {kCount / 256, 1, 1}, {256, 1, 1}, arguments);
    EXPECT_TRUE(result.compiled) << result.fallback;
  }

  TestGpu gpu_;
};

TEST_F(StreamingKernels, OutputsAtAnyPlaceAndOfAnySize) {
  ASSERT_TRUE(gpu_.Load(kAddOne).ok());
  std::vector<uint32_t> values(kCount);
  std::iota(values.begin(), values.end(), 7u);
  const uint64_t from = gpu_.Buffer(values);
  // In words behind the start of the allocation, which is aligned to more than a cache line.
  for (const uint32_t shift : {0u, 1u, 4u, 8u, 16u, 31u}) {
    for (const uint32_t count : {kCount, kCount - 1, kCount - 33, 31u, 0u}) {
      const uint64_t to = gpu_.Buffer(std::vector<uint32_t>(kCount + 64, kUntouched));
      Run("add_one", {from, to + shift * 4, count});
      const auto memory = gpu_.Read<uint32_t>(to, kCount + 64);
      for (uint32_t i = 0; i < memory.size(); ++i) {
        const bool inside = i >= shift && i - shift < count;
        ASSERT_EQ(memory[i], inside ? i - shift + 8 : kUntouched)
            << "word " << i << " of an output of " << count << " behind " << shift;
      }
    }
  }
}

TEST_F(StreamingKernels, MayReadTheirOwnStores) {
  ASSERT_TRUE(gpu_.Load(kReadsBack).ok());
  const uint64_t to = gpu_.Buffer(std::vector<uint32_t>(kCount));
  for (int run = 0; run < 50; ++run) {
    Run("reads_back", {to});
    const auto memory = gpu_.Read<uint32_t>(to, kCount);
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(memory[i], i + (i ^ 32)) << i;
  }
}

TEST_F(StreamingKernels, InPlace) {
  ASSERT_TRUE(gpu_.Load(kAddOne).ok());
  const uint64_t data = gpu_.Buffer(std::vector<uint32_t>(kCount, 41));
  Run("add_one", {data, data, kCount});
  EXPECT_EQ(gpu_.Read<uint32_t>(data, kCount), std::vector<uint32_t>(kCount, 42));
}

TEST_F(StreamingKernels, WithAtomicsBesideThem) {
  ASSERT_TRUE(gpu_.Load(kCounts).ok());
  const uint64_t to = gpu_.Buffer(std::vector<uint32_t>(kCount));
  const uint64_t counter = gpu_.Buffer(std::vector<uint32_t>{0});
  Run("counts", {to, counter});
  EXPECT_EQ(gpu_.Read<uint32_t>(counter, 1)[0], kCount);
  EXPECT_EQ(gpu_.Read<uint32_t>(to, kCount)[kCount - 1], kCount - 1);
}

// ---- which sites

constexpr uint64_t kLarge = 1 << 20;
constexpr uint64_t kThreads = kLarge / 4;
constexpr MemoryWindow kOutput{.low = 1 << 30, .high = (1 << 30) + kLarge};

// A site that has just been filled with the output.
jit::Site Filled() { return {.low = kOutput.low, .limit = kLarge}; }

TEST(Streaming, StoresOfLargeOutputs) {
  std::vector<jit::Site> sites(1, Filled());
  Streaming(kThreads, kLarge).OnSite(sites, {.site = 0, .stored = 4}, kOutput);
  EXPECT_EQ(sites[0].cached, 0u);
}

TEST(Streaming, NotWhereTheAllocationOrWhatIsStoredIsSmall) {
  std::vector<jit::Site> sites(1, Filled());
  Streaming(kThreads + 1, kLarge + 1).OnSite(sites, {.site = 0, .stored = 4}, kOutput);
  EXPECT_EQ(sites[0].cached, 1u);
  Streaming(kThreads - 1, kLarge).OnSite(sites, {.site = 0, .stored = 4}, kOutput);
  EXPECT_EQ(sites[0].cached, 1u);
}

TEST(Streaming, NotWhereTheKernelReads) {
  std::vector<jit::Site> sites(3, Filled());
  Streaming streaming(kThreads, kLarge);
  streaming.OnSite(sites, {.site = 0, .stored = 4}, kOutput);
  ASSERT_EQ(sites[0].cached, 0u);
  streaming.OnSite(sites, {.site = 1, .reads = true}, kOutput);
  EXPECT_EQ(sites[0].cached, 1u) << "a load takes it back";
  streaming.OnSite(sites, {.site = 2, .stored = 4}, kOutput);
  EXPECT_EQ(sites[2].cached, 1u) << "and it stays so";
}

}  // namespace
}  // namespace kernelsmith::vgpu
