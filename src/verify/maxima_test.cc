#include "verify/maxima.h"

#include <gtest/gtest.h>

#include "graph/testing.h"

namespace kernelsmith {
namespace {

// softmax(2 * x) over the axis `dim` of a 2 x 3 tensor.
Graph Softmax(int dim) {
  GraphBuilder b;
  b.Input("x", {2, 3}, "float32")
      .Node("y", "aten.mul.Scalar", {N("x"), 2}, {{2, 3}}, "float32")
      .Node("out", "aten._softmax.default", {N("y"), dim, false}, {{2, 3}}, "float32")
      .Output("out");
  return b.Build();
}

bool Needs(const Graph& graph, std::vector<double> x) {
  return NeedsMaxima(graph, {{"x", MakeHostTensor(DType::kFloat32, {2, 3}, std::move(x))}});
}

TEST(Maxima, AreNeededWhereEveryRowGoesBeyondExp) {
  EXPECT_TRUE(HasSoftmax(Softmax(-1)));
  EXPECT_TRUE(Needs(Softmax(-1), {0, 60, 1, 60, 0, 0}));
  EXPECT_TRUE(Needs(Softmax(1), {0, 60, 1, 60, 0, 0}));
  EXPECT_FALSE(Needs(Softmax(-1), {0, 60, 1, 40, 0, 0}));  // 2 * 40 is within
  EXPECT_FALSE(Needs(Softmax(0), {0, 60, 1, 60, 0, 0}));   // the last column has none
  EXPECT_TRUE(Needs(Softmax(0), {0, 60, 61, 60, 0, 0}));
}

TEST(Maxima, OfAGraphWithoutSoftmaxAreNone) {
  GraphBuilder b;
  b.Input("x", {2, 3}, "float32")
      .Node("out", "aten.mul.Scalar", {N("x"), 2}, {{2, 3}}, "float32")
      .Output("out");
  const Graph graph = b.Build();
  EXPECT_FALSE(HasSoftmax(graph));
  EXPECT_FALSE(Needs(graph, {0, 600, 1, 600, 0, 0}));
}

}  // namespace
}  // namespace kernelsmith
