#include "compile/conditionals.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

bool Refused(std::string_view text) { return DependsOnPlace(text, "k.cu").has_value(); }

TEST(Conditionals, WhatDependsOnThePlaceIsRefused) {
  EXPECT_TRUE(Refused("int t = __TIME__[7];"));
  EXPECT_TRUE(Refused("int t = __TI\\\nME__[7];"));
  EXPECT_TRUE(Refused("constexpr int c = __COUNTER__;"));
  EXPECT_TRUE(Refused("#if __has_include(\"/etc/passwd\")"));
  EXPECT_TRUE(Refused("#include \"../task.h\""));
  EXPECT_TRUE(Refused("#include <kernelsmith/light/tensor.h>"));
  EXPECT_TRUE(Refused("#ifdef KERNELSMITH"));
  EXPECT_TRUE(Refused("namespace k = kernelsmith::light;"));
  EXPECT_TRUE(Refused("#define S(x) #x\nconst char* n = S(TORCH_EXTENSION_NAME);"));
  EXPECT_FALSE(Refused("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}"));
  EXPECT_FALSE(Refused("// __TIME__\nprintf(\"%s __TIME__\", __FILE__);\n#include \"a.cuh\"\n"));
}

TEST(Conditionals, MarksKeepLines) {
  const std::string text = "a\n#if X \\\n  && Y\nb\n#else\nc\n#endif\nd\n";
  EXPECT_EQ(Marked(text, "M_"),
            "a\n#if X \\\n  && Y\nM_0\n#line 4\nb\n#else\nM_1\n#line 6\nc\n#endif\nM_2\n#line 8\n"
            "d\n");
  EXPECT_EQ(CountMarks("x M_0 M_12 M_0\n", "M_"), (MarkCounts{{"M_0", 2}, {"M_12", 1}}));
}

TEST(Conditionals, DecisionsKeepLines) {
  EXPECT_EQ(Decided("#if X \\\n  && Y\nb\n#elif Z\nc\n#endif\n", {{0, false}, {1, true}}),
            "#if 0\n\nb\n#elif 1\nc\n#endif\n");
}

TEST(Conditionals, OnlyDirectivesCount) {
  EXPECT_EQ(ConditionalsOf("const char* t = R\"(\n#if X\n)\";\n// #if\n/*\n#if\n*/\n").size(), 0u);
  EXPECT_EQ(ConditionalsOf("%:ifdef X\n # /* */ endif\n").size(), 2u);
}

}  // namespace
}  // namespace kernelsmith
