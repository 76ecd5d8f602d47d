#include "vgpu/shared_garbage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

// Threads 0 to 63 write what they find in shared memory; those from 64 on write their number there
// first.
constexpr const char* kKernel = R"(
.visible .entry k(.param .u64 out) {
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .shared .align 16 .b8 s[1024];
ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, s;
shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2;
setp.ge.u32 %p0, %r0, 64;
@%p0 st.shared.u32 [%r2], %r0;
ld.shared.u32 %r3, [%r2];
mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1;
st.global.u32 [%rd1], %r3;
ret;
}
)";

class SharedGarbageTest : public ::testing::TestWithParam<Engine> {
 protected:
  SharedGarbageTest() : gpu_(With(GetParam())) {
    const Status loaded = gpu_.Load(kKernel);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
    buffer_ = gpu_.Buffer(std::vector<uint32_t>(128));
  }
  static VirtualGpu::Options With(Engine engine) {
    VirtualGpu::Options options;
    options.settings.engine = engine;
    return options;
  }

  std::vector<uint32_t> Found() {
    gpu_.Run("k", {2, 1, 1}, {128, 1, 1}, {buffer_});
    return gpu_.Read<uint32_t>(buffer_, 64);
  }

  TestGpu gpu_;
  uint64_t buffer_ = 0;
};

const std::vector<uint32_t> kZeros(64);

TEST_P(SharedGarbageTest, FreshSharedMemoryIsZero) { EXPECT_EQ(Found(), kZeros); }

TEST_P(SharedGarbageTest, IsTheSameForTheSameSeedAndAnotherForAnother) {
  std::vector<uint32_t> first, again, other;
  {
    const SharedGarbage garbage(&gpu_.module(), 1);
    first = Found();
    again = Found();
  }
  {
    const SharedGarbage garbage(&gpu_.module(), 2);
    other = Found();
  }
  EXPECT_EQ(first, again);
  // Every word: a kernel that reads one of them must show it. Two draws are alike in one word of
  // four billion.
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NE(first[i], 0u) << i;
    EXPECT_NE(first[i], other[i]) << i;
  }
}

TEST_P(SharedGarbageTest, EndsWithItsScopeAndIsOfOneModule) {
  {
    const SharedGarbage garbage(&gpu_.module(), 1);
  }
  EXPECT_EQ(Found(), kZeros);
  const SharedGarbage of_another(nullptr, 1);
  EXPECT_EQ(Found(), kZeros);
}

TEST_P(SharedGarbageTest, WhatAThreadWroteItReads) {
  const SharedGarbage garbage(&gpu_.module(), 1);
  Found();
  const std::vector<uint32_t> all = gpu_.Read<uint32_t>(buffer_, 128);
  for (uint32_t i = 64; i < 128; ++i) EXPECT_EQ(all[i], i);
}

INSTANTIATE_TEST_SUITE_P(Engines, SharedGarbageTest,
                         ::testing::Values(Engine::kInterpreter, Engine::kJit),
                         [](const auto& info) {
                           return info.param == Engine::kJit ? "Jit" : "Interpreter";
                         });

}  // namespace
}  // namespace kernelsmith::vgpu
