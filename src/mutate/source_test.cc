#include "mutate/source.h"

#include <gtest/gtest.h>

namespace kernelsmith::mutate {
namespace {

size_t Find(const Source& source, std::string_view word, int nth = 0) {
  for (size_t i = 0; i < source.size(); ++i) {
    if (source.Is(i, word) && nth-- == 0) return i;
  }
  ADD_FAILURE() << "no " << word;
  return 0;
}

TEST(Source, TokensKeepTheirPlaces) {
  const Source source("int a; // b ;\n#define X \\\n  1\n  /* ; */ a+=1.5e-3f;\n");
  ASSERT_EQ(source.size(), 8U);
  EXPECT_EQ(source.Word(3), "#define X \\\n  1");
  EXPECT_EQ(source.Word(5), "+=");
  EXPECT_EQ(source[5].line, 4);
  EXPECT_EQ(source[5].column, 12);
  EXPECT_EQ(source.Word(6), "1.5e-3f");
}

TEST(Source, FunctionsAndWhereTheyRun) {
  const Source source(
      "namespace n { template <int N> __device__ int f(int a) { if (a) { return 1; } return 0; }\n"
      "__global__ void __launch_bounds__(4) k(float* x) {} }\n"
      "void host(int n) { auto g = [&](int i) { return i; }; }");
  ASSERT_EQ(source.functions().size(), 3U);
  EXPECT_EQ(source.functions()[0].name, "f");
  EXPECT_TRUE(source.functions()[0].device);
  EXPECT_FALSE(source.functions()[0].kernel);
  EXPECT_EQ(source.functions()[1].name, "k");
  EXPECT_TRUE(source.functions()[1].kernel);
  EXPECT_EQ(source.functions()[2].name, "host");
  EXPECT_FALSE(source.functions()[2].device);
}

TEST(Source, ComparisonsAreNoTemplates) {
  const Source source("a < b; static_cast<float>(c) > d; f<2><<<g, h>>>(i < j && k > (l));");
  EXPECT_TRUE(source.Compares(Find(source, "<", 0)));
  EXPECT_FALSE(source.Compares(Find(source, "<", 1)));
  EXPECT_FALSE(source.Compares(Find(source, ">", 0)));
  EXPECT_TRUE(source.Compares(Find(source, ">", 1)));
  EXPECT_FALSE(source.Compares(Find(source, "<", 2)));
  EXPECT_TRUE(source.Compares(Find(source, "<", 3)));
  EXPECT_TRUE(source.Compares(Find(source, ">", 3)));
}

TEST(Source, OperandsFollowPrecedence) {
  const Source source("x = a * b[i + 1] - (float)c.d / f<int>(e, 2) + g;");
  const size_t minus = Find(source, "-");
  EXPECT_EQ(source.Text(source.LeftOperand(minus)), "a * b[i + 1]");
  EXPECT_EQ(source.Text(source.RightOperand(minus)), "(float)c.d / f<int>(e, 2)");
  const size_t over = Find(source, "/");
  EXPECT_EQ(source.Text(source.LeftOperand(over)), "(float)c.d");
  EXPECT_EQ(source.Text(source.RightOperand(over)), "f<int>(e, 2)");
}

TEST(Source, UnaryIsNotBinary) {
  const Source source("const float* p = -a; q = *p * -b; r = (int)-c - d;");
  EXPECT_FALSE(source.IsBinary(Find(source, "*", 0)));
  EXPECT_FALSE(source.IsBinary(Find(source, "-", 0)));
  EXPECT_FALSE(source.IsBinary(Find(source, "*", 1)));
  EXPECT_TRUE(source.IsBinary(Find(source, "*", 2)));
  EXPECT_FALSE(source.IsBinary(Find(source, "-", 1)));
  EXPECT_FALSE(source.IsBinary(Find(source, "-", 2)));
  EXPECT_TRUE(source.IsBinary(Find(source, "-", 3)));
}

TEST(Source, StatementsEndAtTheirSemicolon) {
  const Source source("void f() { if (a) b[i] = c(d, e); else g(); for (;;) { h += 1; } }");
  const Range body = source.functions()[0].body;
  EXPECT_EQ(source.Text(source.Statement(Find(source, "="), body)), "b[i] = c(d, e);");
  EXPECT_EQ(source.Text(source.Statement(Find(source, "g"), body)), "g();");
  EXPECT_EQ(source.Text(source.Statement(Find(source, "+="), body)), "h += 1;");
  EXPECT_TRUE(source.Statement(Find(source, "d"), body).empty()) << "inside brackets";
}

TEST(Source, UnbalancedTextIsNoTrouble) {
  for (const char* text : {"((((", "}}}", "void f() {", "\"abc", "/* x", "a <<< b", "#", "'"}) {
    const Source source(text);
    for (size_t i = 0; i < source.size(); ++i) {
      source.Compares(i);
      source.LeftOperand(i);
      source.RightOperand(i);
    }
  }
}

}  // namespace
}  // namespace kernelsmith::mutate
