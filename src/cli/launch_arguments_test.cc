#include "cli/launch_arguments.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

// The elements of a parsed argument as text.
std::string Values(std::string_view text, bool hex = false) {
  const Result<LaunchArgument> argument = ParseLaunchArgument(text);
  if (!argument.ok()) return argument.error().message();
  std::string values;
  for (size_t i = 0; i < argument->data.size(); i += argument->type->bytes) {
    values += (i == 0 ? "" : " ") + FormatElement(*argument->type, argument->data.data() + i, hex);
  }
  return values;
}

TEST(LaunchArguments, Scalars) {
  EXPECT_EQ(Values("u32=5"), "5");
  EXPECT_EQ(Values("s16=-2"), "-2");
  EXPECT_EQ(Values("u64=0xffffffffffffffff"), "18446744073709551615");
  EXPECT_EQ(Values("f32=1.5"), "1.5");
  EXPECT_EQ(Values("f32=0x3fc00000"), "1.5");
  EXPECT_EQ(Values("f32=inf", true), "7f800000");
  EXPECT_EQ(Values("f16=-2", true), "c000");
  EXPECT_EQ(Values("bf16=1", true), "3f80");
  EXPECT_EQ(Values("f64=0.1"), "0.1");
  EXPECT_EQ(ParseLaunchArgument("bytes=00ff10")->data.size(), 3u);
}

TEST(LaunchArguments, Buffers) {
  EXPECT_EQ(Values("x:s32[4]"), "0 0 0 0");
  EXPECT_EQ(Values("x:s32[4]=iota"), "0 1 2 3");
  EXPECT_EQ(Values("x:f16[3]=iota:5"), "5 6 7");
  EXPECT_EQ(Values("x:s8[3]=iota:-1"), "-1 0 1");
  EXPECT_EQ(Values("x:u8[2]=fill:0xff"), "255 255");
  EXPECT_EQ(Values("x:s32[4]=1,-2,3"), "1 -2 3 0");
  EXPECT_EQ(Values("x:f32[2]=random:1"), Values("x:f32[2]=random:1"));
  EXPECT_NE(Values("x:f32[2]=random:1"), Values("x:f32[2]=random:2"));
  EXPECT_FALSE(ParseLaunchArgument("x:s32[4]")->initialised);
  EXPECT_EQ(ParseLaunchArgument("&x+16")->offset, 16);
  EXPECT_EQ(ParseLaunchArgument("&x-8")->offset, -8);
  EXPECT_EQ(ParseLaunchArgument("&x")->name, "x");
}

TEST(LaunchArguments, Errors) {
  EXPECT_EQ(Values("u8=256"), "--arg u8=256: '256' is no u8");
  EXPECT_EQ(Values("s8=128"), "--arg s8=128: '128' is no s8");
  EXPECT_EQ(Values("u32=-1"), "--arg u32=-1: '-1' is no u32");
  EXPECT_EQ(Values("u32=1x"), "--arg u32=1x: '1x' is no u32");
  EXPECT_EQ(Values("i32=1"), "--arg i32=1: no type 'i32'");
  EXPECT_EQ(Values("5"), "--arg 5: expected TYPE=VALUE, NAME:TYPE[COUNT] or &NAME");
  EXPECT_EQ(Values("x:s32[2]=1,2,3"), "--arg x:s32[2]=1,2,3: more than 2 values");
  EXPECT_EQ(Values("x:s32[99999999999]"), "--arg x:s32[99999999999]: a buffer has at most 4 GiB");
  EXPECT_EQ(Values("x:s32"), "--arg x:s32: expected NAME:TYPE[COUNT]");
  EXPECT_EQ(Values("x:s32[2]5"), "--arg x:s32[2]5: expected '=' after ']'");
  EXPECT_EQ(Values("bytes=0"), "--arg bytes=0: expected two hexadecimal digits for each byte");
  EXPECT_EQ(Values("x:s32[2]=random:"), "--arg x:s32[2]=random:: expected random:SEED");
}

}  // namespace
}  // namespace kernelsmith
