#include "verify/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/testing.h"

namespace kernelsmith {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

// where(x - y > 0, g, 0): the gradient behind a ReLU of a difference.
Graph MaskedGradient() {
  GraphBuilder b;
  b.Input("x", {3}, "float32")
      .Input("y", {3}, "float32")
      .Input("g", {3}, "float32")
      .Input("zero", {3}, "float32")
      .Node("z", "aten.sub.Tensor", {N("x"), N("y")}, {{3}}, "float32")
      .Node("positive", "aten.gt.Scalar", {N("z"), 0}, {{3}}, "bool")
      .Node("out", "aten.where.self", {N("positive"), N("g"), N("zero")}, {{3}}, "float32")
      .Output("out");
  return b.Build();
}

TEST(NearTies, AreElementsWhoseDecisionRoundingCouldTurn) {
  const TensorMap values = {
      {"x", MakeHostTensor(DType::kFloat32, {3}, {1, 0.5, 1})},
      {"y", MakeHostTensor(DType::kFloat32, {3}, {0.5, 1, 1})},
      {"g", MakeHostTensor(DType::kFloat32, {3}, {7, 8, 9})},
      {"zero", MakeHostTensor(DType::kFloat32, {3}, {0, 0, 0})},
  };
  EXPECT_THAT(NearTies(MaskedGradient(), "output.0", values),
              Optional(ElementsAre(false, false, true)));
  EXPECT_EQ(NearTies(MaskedGradient(), "output.1", values), std::nullopt);
}

TEST(NothingIsRounded, IfFloatAndDoubleAgreeEverywhere) {
  const auto values = [](double x) {
    return TensorMap{{"x", MakeHostTensor(DType::kFloat32, {3}, {1, 0.5, x})},
                     {"y", MakeHostTensor(DType::kFloat32, {3}, {0.5, 1, 1})},
                     {"g", MakeHostTensor(DType::kFloat32, {3}, {7, 8, 9})},
                     {"zero", MakeHostTensor(DType::kFloat32, {3}, {0, 0, 0})}};
  };
  EXPECT_TRUE(NothingIsRounded(MaskedGradient(), values(1)));
  EXPECT_FALSE(NothingIsRounded(MaskedGradient(), values(0x1.000002p-10)));
}

// x / y as an integer.
Result<CaseTensors> Quotient(double x, double y) {
  GraphBuilder b;
  b.Input("x", {1}, "float32")
      .Input("y", {1}, "float32")
      .Node("q", "aten.div.Tensor", {N("x"), N("y")}, {{1}}, "float32")
      .Node("out", "prims.convert_element_type.default", {N("q"), {{"dtype", "int8"}}}, {{1}},
            "int8")
      .Output("out");
  return EvaluateHere(b.Build(), {{"x", MakeHostTensor(DType::kFloat32, {1}, {x})},
                                  {"y", MakeHostTensor(DType::kFloat32, {1}, {y})}});
}

TEST(EvaluateHere, RefusesFloatsThatNoIntegerHolds) {
  const auto fine = Quotient(7, 2);
  ASSERT_TRUE(fine.ok()) << fine.error().Format();
  EXPECT_EQ(fine->expected.at("output.0").at(0), 3);
  EXPECT_FALSE(Quotient(0, 0).ok());
  EXPECT_FALSE(Quotient(1, 0).ok());
  EXPECT_FALSE(Quotient(1e30, 1).ok());
}

}  // namespace
}  // namespace kernelsmith
