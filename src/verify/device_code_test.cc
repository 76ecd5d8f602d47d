#include "verify/device_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

DeviceCode Of(const std::string& body, const std::string& more = "") {
  const std::string ptx =
      ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .b16 %h<8>;\n"
      ".reg .b32 %r<16>;\n.reg .f32 %f<16>;\n.reg .b64 %d<8>;\n" +
      body + "\nret;\n}\n" + more;
  const auto code = ReadDeviceCode(ptx, {"k"});
  EXPECT_TRUE(code.ok()) << code.error().Format();
  return code.ok() ? *code : DeviceCode{};
}

TEST(DeviceCode, NamesArithmeticAndWhatKernelsReadOfTheirEnvironment) {
  const DeviceCode code =
      Of("fma.rn.f32 %f0, %f1, %f2, %f3;\nex2.approx.f32 %f0, %f1;\nadd.f16 %h0, %h1, %h2;\n"
         "mov.u64 %d0, %clock64;\nmov.u32 %r0, %smid;\nmov.u32 %r1, %nsmid;\nmov.u32 %r2, %tid.x;\n"
         "mov.u32 %r3, %globaltimer_lo;\ncreatepolicy.fractional.L2::evict_last.b64 %d1, 1.0;");
  EXPECT_THAT(code.precision, ElementsAre("approximate float32 functions", "float16", "float32"));
  EXPECT_THAT(code.environment, ElementsAre("%clock64", "%globaltimer", "%nsmid", "%smid"));
  EXPECT_THAT(code.cache_policy, ElementsAre("L2::evict_last"));
}

TEST(DeviceCode, ReadsNoComments) {
  const DeviceCode code =
      Of("\t// mov.u64 %d0, %clock64;\n\t/* fma.rn.f32 */ add.f16 %h0, %h1, %h2;\n"
         "/*\ncreatepolicy.fractional.L2::evict_last.b64 %d1, 1.0;\n*/");
  EXPECT_THAT(code.precision, ElementsAre("float16"));
  EXPECT_THAT(code.environment, IsEmpty());
  EXPECT_THAT(code.cache_policy, IsEmpty());
}

TEST(DeviceCode, IsNotLedAstrayByAnEntryInAComment) {
  const DeviceCode code = Of("/*\n.entry other(\n*/\nmov.u64 %d0, %clock64;");
  EXPECT_THAT(code.environment, ElementsAre("%clock64"));
}

TEST(DeviceCode, LeavesOtherKernelsOut) {
  const DeviceCode code =
      Of("add.f16 %h0, %h1, %h2;",
         ".visible .entry other()\n{\n.reg .f32 %f<4>;\nadd.f32 %f0, %f1, %f2;\nret;\n}\n"
         ".func f()\n{\n.reg .f64 %g<4>;\nadd.f64 %g0, %g1, %g2;\nret;\n}\n");
  EXPECT_THAT(code.precision, ElementsAre("float16", "float64"));
}

TEST(DeviceCode, TellsTheSumsOfMatrixProducts) {
  const std::string factors = "{%r0, %r1, %r2, %r3}, {%r4, %r5}";
  EXPECT_THAT(Of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, " +
                 factors + ", {%f0, %f1, %f2, %f3};")
                  .precision,
              ElementsAre("float16 mma"));
  EXPECT_THAT(Of("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r6, %r7}, " + factors +
                 ", {%r6, %r7};")
                  .precision,
              ElementsAre("float16 mma, float16 sums"));
  EXPECT_THAT(Of("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, " +
                 factors + ", {%f0, %f1, %f2, %f3};")
                  .precision,
              ElementsAre("bfloat16 mma"));
  EXPECT_THAT(Of("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r6, %r7, %r8, %r9}, " +
                 factors + ", {%r6, %r7, %r8, %r9};")
                  .precision,
              IsEmpty());
}

}  // namespace
}  // namespace kernelsmith
