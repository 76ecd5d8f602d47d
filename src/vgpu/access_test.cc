// Kernels that touch memory: spaces, generic addresses, faults, atomics, printf, observers.

#include <gmock/gmock.h>

#include <numeric>

#include "vgpu/observer.h"
#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

constexpr char kCopy[] = R"(
.visible .entry copy(.param .u64 from, .param .u64 to)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.u32 %r2, [%rd4];
  st.u32 [%rd5], %r2;
  ret;
}
)";

Fault ExpectFault(TestGpu& gpu, const std::string& entry, Dim3 block,
                  const std::vector<uint64_t>& arguments, FaultKind kind) {
  const auto result = gpu.Launch(entry, {}, block, arguments);
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.ok() && result->fault.has_value());
  if (!result.ok() || !result->fault) return {};
  EXPECT_EQ(result->fault->kind, kind) << result->fault->message;
  return *result->fault;
}

TEST(Access, OutOfBoundsNamesThreadAddressAndLine) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(kCopy).ok());
  const uint64_t from = gpu.Buffer(std::vector<uint32_t>(64));
  const uint64_t to = gpu.Buffer(std::vector<uint32_t>(50));
  const Fault fault = ExpectFault(gpu, "copy", {64, 1, 1}, {from, to}, FaultKind::kIllegalAddress);
  EXPECT_EQ(fault.thread.x, 50u);
  EXPECT_EQ(fault.address, to + 200);
  EXPECT_EQ(fault.ptx.line, 16);
  EXPECT_NE(fault.message.find("0 bytes behind the end of an allocation of 200 bytes"),
            std::string::npos)
      << fault.message;
}

TEST(Access, NullFreedAndMisalignedAddressesAreFaults) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(kCopy).ok());
  const uint64_t from = gpu.Buffer(std::vector<uint32_t>(64));
  const uint64_t to = gpu.Buffer(std::vector<uint32_t>(65));
  ExpectFault(gpu, "copy", {32, 1, 1}, {0, to}, FaultKind::kIllegalAddress);
  ExpectFault(gpu, "copy", {32, 1, 1}, {~uint64_t{7}, to}, FaultKind::kIllegalAddress);
  ExpectFault(gpu, "copy", {32, 1, 1}, {from, to + 2}, FaultKind::kMisalignedAddress);
  ASSERT_TRUE(gpu.memory().Free(from).ok());
  const Fault freed = ExpectFault(gpu, "copy", {32, 1, 1}, {from, to}, FaultKind::kIllegalAddress);
  EXPECT_NE(freed.message.find("freed"), std::string::npos) << freed.message;
}

TEST(Access, HostStackIsNotAccessible) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(kCopy).ok());
  uint32_t local[32] = {};
  const uint64_t to = gpu.Buffer(std::vector<uint32_t>(32));
  ExpectFault(gpu, "copy", {32, 1, 1}, {reinterpret_cast<uint64_t>(local), to},
              FaultKind::kIllegalAddress);
  ASSERT_TRUE(gpu.memory().RegisterHostRange(local, sizeof local, "local").ok());
  std::iota(std::begin(local), std::end(local), 5);
  gpu.Run("copy", {}, {32, 1, 1}, {reinterpret_cast<uint64_t>(local), to});
  EXPECT_EQ(gpu.Read<uint32_t>(to, 32)[31], 36u);
}

TEST(Access, GenericAddressesOfEverySpace) {
  TestGpu gpu;
  const Status loaded = gpu.Load(R"(
.global .u32 g = 1;
.const .u32 c = 2;
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<16>;
  .shared .u32 s;
  .local .u32 l[4];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.u32 [s], 3;
  add.u32 %r2, %r1, 4;
  st.local.u32 [l+8], %r2;
  bar.sync 0;
  mov.u64 %rd2, g;
  cvta.global.u64 %rd2, %rd2;
  mov.u64 %rd3, c;
  cvta.const.u64 %rd3, %rd3;
  mov.u64 %rd4, s;
  cvta.shared.u64 %rd4, %rd4;
  mov.u64 %rd5, l;
  cvta.local.u64 %rd5, %rd5;
  // lanes choose among the four spaces
  and.b32 %r3, %r1, 3;
  setp.eq.u32 %p2, %r3, 0;
  setp.eq.u32 %p3, %r3, 1;
  setp.eq.u32 %p4, %r3, 2;
  add.s64 %rd5, %rd5, 8;
  selp.b64 %rd6, %rd4, %rd5, %p4;
  selp.b64 %rd6, %rd3, %rd6, %p3;
  selp.b64 %rd6, %rd2, %rd6, %p2;
  ld.u32 %r4, [%rd6];
  isspacep.shared %p5, %rd6;
  isspacep.local %p6, %rd6;
  isspacep.global %p7, %rd6;
  selp.u32 %r5, 100, 0, %p5;
  selp.u32 %r6, 200, 0, %p6;
  selp.u32 %r7, 400, 0, %p7;
  add.u32 %r4, %r4, %r5;
  add.u32 %r4, %r4, %r6;
  add.u32 %r4, %r4, %r7;
  mul.wide.u32 %rd7, %r1, 4;
  add.s64 %rd8, %rd1, %rd7;
  st.global.u32 [%rd8], %r4;
  ret;
}
)");
  ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
  const uint64_t out = gpu.Buffer(std::vector<uint32_t>(32));
  gpu.Run("k", {}, {32, 1, 1}, {out});
  const auto values = gpu.Read<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t expected[] = {401, 402, 103, 200 + i + 4};
    EXPECT_EQ(values[i], expected[i % 4]) << i;
  }
}

TEST(Access, SharedMemoryBeyondTheBlocksSizeIsAFault) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(R"(
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k()
{
  .reg .b32 %r<4>;
  mov.u32 %r1, dynamic;
  mov.u32 %r2, %tid.x;
  shl.b32 %r3, %r2, 2;
  add.u32 %r1, %r1, %r3;
  st.shared.u32 [%r1], %r2;
  ret;
}
)")
                  .ok());
  gpu.Run("k", {}, {32, 1, 1}, {}, 128);
  const auto result = gpu.Launch("k", {}, {32, 1, 1}, {}, 124);
  ASSERT_TRUE(result.ok() && result->fault.has_value());
  EXPECT_EQ(result->fault->thread.x, 31u);
}

TEST(Access, AtomicsOfAWholeGridAddUp) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  atom.global.add.u32 %r2, [%rd1], 1;
  red.global.max.u32 [%rd1+4], %r2;
  mov.f32 %f1, 0f3F000000;
  red.global.add.f32 [%rd1+8], %f1;
  atom.global.inc.u32 %r3, [%rd1+12], 9;
  red.global.xor.b32 [%rd1+16], %r1;
  ret;
}
)")
                  .ok());
  const uint64_t out = gpu.Buffer(std::vector<uint32_t>(5));
  gpu.Run("k", {37, 1, 1}, {96, 1, 1}, {out});
  const auto values = gpu.Read<uint32_t>(out, 5);
  EXPECT_EQ(values[0], 37u * 96);
  EXPECT_EQ(values[1], 37u * 96 - 1);
  EXPECT_EQ(gpu.Read<float>(out + 8, 1)[0], 37 * 96 * 0.5f);
  EXPECT_EQ(values[3], 37 * 96 % 10);  // counts 0..9 and wraps
  uint32_t x = 0;
  for (uint32_t i = 0; i < 96; ++i) x ^= i;
  EXPECT_EQ(values[4], x);  // 37 is odd
}

TEST(Access, PrintfFormats) {
  TestGpu gpu;
  std::string format;
  for (const char c : std::string("%d|%5.2f|%s|%llx|%c|%%|%-4u|")) {
    format += std::to_string(c) + ", ";
  }
  const Status loaded = gpu.Load(".global .align 1 .b8 format[] = {" + format + "0};\n" + R"(
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 word[4] = {97, 98, 99, 0};
.visible .entry k()
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  .local .align 8 .b8 buffer[48];
  mov.u64 %rd1, buffer;
  cvta.local.u64 %rd2, %rd1;
  st.local.u32 [buffer], -7;
  st.local.u64 [buffer+8], 0x400a000000000000;
  mov.u64 %rd3, word;
  st.local.u64 [buffer+16], %rd3;
  st.local.u64 [buffer+24], 0x123456789abcdef0;
  st.local.u32 [buffer+32], 90;
  st.local.u32 [buffer+36], 3000000000;
  mov.u64 %rd4, format;
  {
    .param .b64 p0;
    .param .b64 p1;
    .param .b32 p2;
    st.param.b64 [p0], %rd4;
    st.param.b64 [p1], %rd2;
    call.uni (p2), vprintf, (p0, p1);
  }
  ret;
}
)");
  ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
  gpu.Run("k", {}, {1, 1, 1}, {});
  EXPECT_EQ(gpu.printed(), "-7| 3.25|abc|123456789abcdef0|Z|%|3000000000|");
}

class Recorder final : public Observer {
 public:
  void OnBlockBegin(uint64_t) override { ++blocks; }
  void OnWarpBegin(WarpView&) override { ++warps; }
  void BeforeInstruction(WarpView&, const Instruction&, uint32_t) override { ++instructions; }
  bool OnMemoryAccess(WarpView& warp, const MemoryAccess& access) override {
    if (access.kind == AccessKind::kStore) {
      stores.push_back(access);
      last_value = warp.ReadOperand(access.instruction->b, 5);
    }
    return !skip;
  }
  int blocks = 0;
  int warps = 0;
  int instructions = 0;
  bool skip = false;
  uint64_t last_value = 0;
  std::vector<MemoryAccess> stores;
};

TEST(Access, ObserversSeeInstructionsAddressesAndValues) {
  TestGpu gpu;
  ASSERT_TRUE(gpu.Load(kCopy).ok());
  std::vector<uint32_t> values(40);
  std::iota(values.begin(), values.end(), 1000);
  const uint64_t from = gpu.Buffer(values);
  const uint64_t to = gpu.Buffer(std::vector<uint32_t>(40));
  Recorder recorder;
  auto result = gpu.Launch("copy", {}, {40, 1, 1}, {from, to}, 0, false, &recorder);
  ASSERT_TRUE(result.ok() && !result->fault);
  EXPECT_EQ(recorder.blocks, 1);
  EXPECT_EQ(recorder.warps, 2);
  EXPECT_EQ(recorder.instructions, 2 * 9);
  ASSERT_EQ(recorder.stores.size(), 2u);
  EXPECT_EQ(recorder.stores[0].address[5], to + 20);
  EXPECT_EQ(recorder.stores[1].mask, 0xffu);
  EXPECT_EQ(recorder.last_value, 1037u);
  recorder.skip = true;
  result = gpu.Launch("copy", {}, {40, 1, 1}, {0, 0}, 0, false, &recorder);
  EXPECT_TRUE(result.ok() && !result->fault) << "a checker that reports may go on";
}

}  // namespace
}  // namespace kernelsmith::vgpu
