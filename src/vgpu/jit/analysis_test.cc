#include "vgpu/jit/analysis.h"

#include <gtest/gtest.h>

#include "vgpu/testing.h"

namespace kernelsmith::vgpu::jit {
namespace {

// Shapes of the addresses of a kernel's stores, in order.
class AnalysisTest : public testing::Test {
 protected:
  std::vector<Shape> StoreShapes(const std::string& body, Dim3 block) {
    const Status loaded = gpu_.Load(
        ".visible .entry k(.param .u64 out, .param .u32 n) {\n"
        ".reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .pred %p<4>;\n"
        "ld.param.u64 %rd0, [out]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, "
        "%tid.y;\n" +
        body + "ret; }\n");
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
    const auto kernel = gpu_.module().Prepare("k");
    EXPECT_TRUE(kernel.ok());
    const Function& function = *(*kernel)->entry;
    const Analysis analysis(function, block);
    EXPECT_EQ(analysis.why(), "");
    std::vector<Shape> shapes;
    for (uint32_t pc = 0; pc < function.code.size(); ++pc) {
      const Instruction& in = function.code[pc];
      if (in.op == Op::kStore) shapes.push_back(analysis.AddressShape(pc, in));
    }
    return shapes;
  }
  TestGpu gpu_;
};

constexpr Shape Affine(int64_t stride) { return {Shape::Kind::kAffine, stride}; }

TEST_F(AnalysisTest, StridesFollowTheArithmeticOfIndices) {
  const auto shapes = StoreShapes(
      "st.global.u32 [%rd0], %r0;\n"
      "mad.wide.u32 %rd1, %r1, 4, %rd0; st.global.u32 [%rd1], %r0;\n"
      "mad.lo.s32 %r3, %r1, -3, %r0; mul.wide.s32 %rd2, %r3, 8; add.s64 %rd3, %rd0, %rd2;\n"
      "st.global.u32 [%rd3+16], %r0;\n"
      "xor.b32 %r4, %r1, 5; mad.wide.u32 %rd4, %r4, 4, %rd0; st.global.u32 [%rd4], %r0;\n"
      "mul.lo.u32 %r5, %r1, %r0; mad.wide.u32 %rd5, %r5, 4, %rd0; st.global.u32 [%rd5], %r0;\n",
      {64, 1, 1});
  EXPECT_EQ(shapes, (std::vector<Shape>{kUniformShape, Affine(4), Affine(-24), kVaryingShape,
                                        kVaryingShape}));
}

TEST_F(AnalysisTest, RowsOfNarrowBlocksAreGroups) {
  const std::string body =
      "mad.wide.u32 %rd1, %r1, 4, %rd0; st.global.u32 [%rd1], %r0;\n"
      "mad.wide.u32 %rd2, %r2, 4, %rd0; st.global.u32 [%rd2], %r0;\n";
  EXPECT_EQ(StoreShapes(body, {16, 16, 1}), (std::vector<Shape>{Affine(4), Affine(0)}));
  EXPECT_EQ(StoreShapes(body, {32, 4, 1}), (std::vector<Shape>{Affine(4), kUniformShape}));
  EXPECT_EQ(StoreShapes(body, {33, 3, 1}), (std::vector<Shape>{kVaryingShape, kVaryingShape}));
}

TEST_F(AnalysisTest, AGuardThatDiffersMakesWhatItWritesDiffer) {
  const auto shapes = StoreShapes(
      "mov.u64 %rd1, %rd0; setp.lt.u32 %p0, %r0, 3; @%p0 add.s64 %rd1, %rd1, 4;\n"
      "st.global.u32 [%rd1], %r0;\n"
      "mov.u64 %rd2, %rd0; setp.lt.u32 %p1, %r1, 3; @%p1 add.s64 %rd2, %rd2, 4;\n"
      "st.global.u32 [%rd2], %r0;\n",
      {32, 1, 1});
  EXPECT_EQ(shapes, (std::vector<Shape>{kUniformShape, kVaryingShape}));
}

}  // namespace
}  // namespace kernelsmith::vgpu::jit
