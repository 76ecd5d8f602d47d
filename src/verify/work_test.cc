#include "verify/work.h"

#include <gtest/gtest.h>

#include "graph/testing.h"

namespace kernelsmith {
namespace {

TEST(GraphWork, CountsElementsReadAndWritten) {
  GraphBuilder b;
  b.Input("x", {10, 20}).Node("y", "aten.exp.default", {N("x")}, {{10, 20}}).Output("y");
  EXPECT_EQ(GraphWork(b.Build()), 400u);
  // A sum reads far more than it writes.
  GraphBuilder c;
  c.Input("x", {10, 20}).Node("s", "aten.sum.default", {N("x")}, {Shape{}}).Output("s");
  EXPECT_EQ(GraphWork(c.Build()), 201u);
  EXPECT_EQ(LongestSum(b.Build()), 1u);
  EXPECT_EQ(LongestSum(c.Build()), 200u);
  EXPECT_DOUBLE_EQ(LongSumRoundings(b.Build()), 2);
}

TEST(GraphWork, CountsTheTermsOfProducts) {
  GraphBuilder b;
  b.Input("x", {2, 30})
      .Input("y", {30, 5})
      .Node("p", "aten.mm.default", {N("x"), N("y")}, {{2, 5}})
      .Output("p");
  EXPECT_EQ(GraphWork(b.Build()), 2u * 5 * 30);
  EXPECT_EQ(LongestSum(b.Build()), 30u);
  GraphBuilder c;
  c.Input("bias", {5})
      .Input("x", {2, 30})
      .Input("y", {30, 5})
      .Node("p", "aten.addmm.default", {N("bias"), N("x"), N("y")}, {{2, 5}})
      .Output("p");
  EXPECT_EQ(GraphWork(c.Build()), 2u * 5 * 30);
}

TEST(GraphWork, CountsTheTermsOfConvolutions) {
  const nlohmann::json one = nlohmann::json::array({1, 1}), none = nlohmann::json::array({0, 0});
  GraphBuilder b;
  b.Input("x", {1, 3, 8, 8})
      .Input("w", {4, 3, 3, 3})
      .Node("y", "aten.convolution.default",
            {N("x"), N("w"), nullptr, one, none, one, false, none, 1}, {{1, 4, 6, 6}})
      .Output("y");
  EXPECT_EQ(GraphWork(b.Build()), 4u * 6 * 6 * 27);
  EXPECT_EQ(LongestSum(b.Build()), 27u);
}

}  // namespace
}  // namespace kernelsmith
