#include "evolve/ptx_identity.h"

#include <gtest/gtest.h>

#include <string>

namespace kernelsmith {
namespace {

constexpr char kOne[] = R"(
.version 9.0
.target sm_90
.address_size 64
.extern .func (.param .b32 ret) vprintf (.param .b64 a, .param .b64 b);
.visible .entry _Z5scalePfi(.param .u64 _Z5scalePfi_param_0, .param .u32 _Z5scalePfi_param_1)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<4>;
  .loc 1 5 3
  ld.param.u64 %rd1, [_Z5scalePfi_param_0];
  mov.u32 %r1, %tid.x;
  setp.ge.s32 %p1, %r1, 12;
  @%p1 bra $L__BB0_2;
  .loc 1 7 3, function_name $L__info0, inlined_at 1 9 5
  ld.global.f32 %f1, [%rd1+4];  // load
  add.f32 %f2, %f1, 0f3F800000;
  st.global.f32 [%rd1], %f2;
$L__BB0_2:
  ret;
}
)";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  size_t count = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    ++count;
  }
  EXPECT_GT(count, 0u) << from;
  return text;
}

TEST(PtxIdentity, NamesLinesAndLayoutDoNotMatter) {
  const std::string wanted = NormalisedPtx(kOne);
  for (const auto& [from, to] : {std::pair{"_Z5scalePfi", "_Z7anotherPfi"},
                                 {"$L__BB0_2", "$L__BB0_7"},
                                 {"%r1", "%r3"},
                                 {"// load", "/* comes\n from memory */"},
                                 {".loc 1 5 3", ".loc 2 77 1"},
                                 {".loc 1 7 3, function_name $L__info0, inlined_at 1 9 5", ""},
                                 {"\n  ", "\n\t"}}) {
    EXPECT_EQ(NormalisedPtx(Replaced(kOne, from, to)), wanted) << from;
  }
}

TEST(PtxIdentity, WhatTheGpuDoesMatters) {
  const std::string other = NormalisedPtx(kOne);
  for (const auto& [from, to] : {std::pair{"add.f32", "mul.f32"},
                                 {"0f3F800000", "0f40000000"},
                                 {"[%rd1+4]", "[%rd1+8]"},
                                 {"%tid.x", "%tid.y"},
                                 {"@%p1", "@!%p1"},
                                 {"%f2, %f1, 0f", "%f2, %f2, 0f"},
                                 {"st.global.f32 [%rd1], %f2", "st.global.f32 [%rd1], %f1"},
                                 {"setp.ge.s32", "setp.gt.s32"},
                                 {".reg .f32 %f<3>", ".reg .b32 %f<3>"},
                                 {"vprintf", "vprintg"}}) {
    EXPECT_NE(NormalisedPtx(Replaced(kOne, from, to)), other) << from;
  }
}

TEST(PtxIdentity, CommentsAreNoCode) {
  const std::string text = Replaced(kOne, "// load", "/* \" .extern .func _Z5scalePfi; */");
  EXPECT_EQ(NormalisedPtx(text), NormalisedPtx(kOne));
}

TEST(PtxIdentity, TheHostMatters) {
  EXPECT_EQ(CandidateIdentity(kOne, "grid 4"), CandidateIdentity(kOne, "grid 4"));
  EXPECT_NE(CandidateIdentity(kOne, "grid 4"), CandidateIdentity(kOne, "grid 8"));
}

TEST(PtxIdentity, TakesAnyText) {
  for (const char* text : {"", ".", "%", "\"", "\"\\", "/*", ".loc", ".loc 1 2 3,", ".file 1",
                           ".section", "@", ".loc 1 2 3, function_name", ".extern a", "@%p1"}) {
    NormalisedPtx(text);
  }
}

}  // namespace
}  // namespace kernelsmith
