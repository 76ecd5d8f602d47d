#include "plan/parameter_use.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

// The bytes that kernel k reads, as a row of x and dots.
std::string ReadsOf(const std::string& parameters, const std::string& body, size_t bytes) {
  const ParameterUse use(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(" +
                         parameters +
                         ")\n{\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .f64 %fd<9>;\n" +
                         ".reg .b64 %rd<9>;\n" + body + "\nret;\n}\n");
  std::string row;
  for (size_t i = 0; i < bytes; ++i) row += use.Reads("k", i) ? 'x' : '.';
  return row;
}

// struct { char a; double b; }, by value.
TEST(ParameterUse, PaddingInsideOfAStruct) {
  EXPECT_EQ(ReadsOf(".param .align 8 .b8 k_0[16]",
                    "ld.param.s8 %rs1, [k_0];\nld.param.f64 %fd1, [k_0+8];", 16),
            "x.......xxxxxxxx");
}

TEST(ParameterUse, GapsBetweenParameters) {
  EXPECT_EQ(
      ReadsOf(".param .u8 k_0, .param .u64 k_1, .param .u16 k_2",
              "ld.param.u8 %rs1, [k_0];\nld.param.u64 %rd1, [k_1];\nld.param.u16 %rs2, [k_2];", 20),
      "x.......xxxxxxxxxx..");
}

TEST(ParameterUse, VectorsAndOffsets) {
  EXPECT_EQ(
      ReadsOf(".param .align 16 .b8 k_0[32]",
              "ld.param.v4.u32 {%r1, %r2, %r3, %r4}, [k_0+16];\nld.param.u16 %rs1, [k_0+2];", 32),
      "..xx............xxxxxxxxxxxxxxxx");
}

// Arrays in structs are indexed through the parameter's address.
TEST(ParameterUse, AnAddressCoversAllOfItsParameter) {
  for (const char* body : {"mov.b64 %rd1, k_1;", "mov.u64 %rd1, k_1+8;",
                           "mov.b64 %rd1, k_1;\ncvta.param.u64 %rd2, %rd1;"}) {
    EXPECT_EQ(ReadsOf(".param .u64 k_0, .param .align 8 .b8 k_1[16]", body, 24),
              "........xxxxxxxxxxxxxxxx")
        << body;
  }
}

// An empty struct or a lambda without captures is one byte that nobody reads.
TEST(ParameterUse, EmptyStructsAreNotRead) {
  EXPECT_EQ(ReadsOf(".param .u64 k_0, .param .align 1 .b8 k_1[1]", "ld.param.u64 %rd1, [k_0];", 9),
            "xxxxxxxx.");
}

TEST(ParameterUse, WhatIsNotKnownCounts) {
  EXPECT_TRUE(ParameterUse("nonsense").Reads("k", 0));
  const ParameterUse other(
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry other(.param .u64 p)\n{\nret;\n}\n");
  EXPECT_TRUE(other.Reads("k", 0));
  EXPECT_FALSE(other.Reads("other", 0));
}

}  // namespace
}  // namespace kernelsmith
