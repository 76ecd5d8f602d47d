// Laws of algebra that operators must keep in the field, whatever their inputs.
#include <gtest/gtest.h>

#include <random>

#include "graph/testing.h"

namespace kernelsmith {
namespace {

using Json = nlohmann::json;

class LawsTest : public testing::Test {
 protected:
  // Evaluates on random inputs: normal floats, independent elements of the fields.
  std::vector<Tensor<Symbolic>> Run(const GraphBuilder& builder) {
    const Graph graph = builder.Build();
    std::mt19937_64 generator(3);
    std::normal_distribution<double> normal;
    TensorMap tensors;
    for (const size_t index : graph.placeholders) {
      const kernelsmith::Node& node = graph.nodes[index];
      HostTensor values = MakeHostTensor(DType::kFloat64, node.outputs[0]->shape);
      for (int64_t i = 0; i < values.count(); ++i) values.set(i, normal(generator));
      tensors[node.name] = values;
    }
    auto inputs = GraphInputs<Symbolic>(graph, tensors);
    KS_CHECK(inputs.ok());
    auto outputs = Evaluate<Symbolic>(graph, *inputs);
    KS_CHECK(outputs.ok(), outputs.error().message());
    return *outputs;
  }

  // Outputs 0 and 1 are equal; `all` means that no element may be inconclusive.
  void ExpectEqualOutputs(const GraphBuilder& builder, bool all = true) {
    const auto outputs = Run(builder);
    ASSERT_EQ(outputs.size(), 2u);
    ASSERT_EQ(outputs[0].shape, outputs[1].shape);
    for (int64_t i = 0; i < outputs[0].count(); ++i) {
      const Comparison c = CompareValues(outputs[0][i], outputs[1][i]);
      if (all) {
        EXPECT_EQ(c.equality, Equality::kEqual)
            << i << ": " << outputs[0][i].v << " " << outputs[1][i].v << " "
            << DescribeReason(c.reason);
      } else {
        EXPECT_NE(c.equality, Equality::kDifferent) << i;
      }
    }
  }
  void ExpectDifferentOutputs(const GraphBuilder& builder) {
    const auto outputs = Run(builder);
    for (int64_t i = 0; i < outputs[0].count(); ++i) {
      EXPECT_EQ(CompareValues(outputs[0][i], outputs[1][i]).equality, Equality::kDifferent) << i;
    }
  }

  Algebra algebra_{21};
  AlgebraScope scope_{&algebra_};
};

TEST_F(LawsTest, MatrixProductIsLinearAndAssociative) {
  GraphBuilder linear;
  linear.Input("a", {3, 4}).Input("b", {4, 5}).Input("c", {4, 5});
  linear.Node("sum", "aten.add.Tensor", {N("b"), N("c")}, {{4, 5}})
      .Node("left", "aten.mm.default", {N("a"), N("sum")}, {{3, 5}});
  linear.Node("ab", "aten.mm.default", {N("a"), N("b")}, {{3, 5}})
      .Node("ac", "aten.mm.default", {N("a"), N("c")}, {{3, 5}});
  linear.Node("right", "aten.add.Tensor", {N("ab"), N("ac")}, {{3, 5}})
      .Output("left")
      .Output("right");
  ExpectEqualOutputs(linear);
  GraphBuilder chain;
  chain.Input("a", {3, 70}).Input("b", {70, 65}).Input("c", {65, 2});
  chain.Node("ab", "aten.mm.default", {N("a"), N("b")}, {{3, 65}})
      .Node("left", "aten.mm.default", {N("ab"), N("c")}, {{3, 2}});
  chain.Node("bc", "aten.mm.default", {N("b"), N("c")}, {{70, 2}})
      .Node("right", "aten.mm.default", {N("a"), N("bc")}, {{3, 2}});
  ExpectEqualOutputs(chain.Output("left").Output("right"));
}

TEST_F(LawsTest, ATruncatedReductionIsDifferent) {
  GraphBuilder b;
  b.Input("a", {2, 100}).Input("b", {100, 2});
  b.Node("whole", "aten.mm.default", {N("a"), N("b")}, {{2, 2}});
  b.Node("a1", "aten.slice.Tensor", {N("a"), 1, 0, 99}, {{2, 99}})
      .Node("b1", "aten.slice.Tensor", {N("b"), 0, 0, 99}, {{99, 2}});
  b.Node("part", "aten.mm.default", {N("a1"), N("b1")}, {{2, 2}});
  ExpectDifferentOutputs(b.Output("whole").Output("part"));
}

TEST_F(LawsTest, ConvolutionIsLinearAndCommutesWithShifts) {
  const Json options = {
      Json::array({1, 1}), Json::array({0, 0}), Json::array({1, 1}), false, Json::array({0, 0}), 1};
  const auto conv = [&](const std::string& x, const std::string& w) {
    Json args = {N(x), N(w), nullptr};
    args.insert(args.end(), options.begin(), options.end());
    return args;
  };
  GraphBuilder b;
  b.Input("x", {1, 2, 6, 6}).Input("y", {1, 2, 6, 6}).Input("w", {3, 2, 3, 3});
  b.Node("s", "aten.add.Tensor", {N("x"), N("y")}, {{1, 2, 6, 6}})
      .Node("left", "aten.convolution.default", conv("s", "w"), {{1, 3, 4, 4}});
  b.Node("cx", "aten.convolution.default", conv("x", "w"), {{1, 3, 4, 4}})
      .Node("cy", "aten.convolution.default", conv("y", "w"), {{1, 3, 4, 4}});
  b.Node("right", "aten.add.Tensor", {N("cx"), N("cy")}, {{1, 3, 4, 4}});
  ExpectEqualOutputs(b.Output("left").Output("right"));
}

TEST_F(LawsTest, SoftmaxRowsSumToOneAndIgnoreShifts) {
  GraphBuilder b;
  b.Input("x", {4, 9}).Input("shift", {4, 1});
  b.Node("p", "aten._softmax.default", {N("x"), 1, false}, {{4, 9}})
      .Node("sum", "aten.sum.dim_IntList", {N("p"), Json::array({1})}, {{4}});
  b.Node("one", "aten.full.default", {Json::array({4}), 1.0}, {{4}});
  ExpectEqualOutputs(b.Output("sum").Output("one"));
  GraphBuilder s;
  s.Input("x", {4, 9})
      .Input("shift", {4, 1})
      .Node("xs", "aten.add.Tensor", {N("x"), N("shift")}, {{4, 9}});
  s.Node("p", "aten._softmax.default", {N("x"), 1, false}, {{4, 9}})
      .Node("q", "aten._softmax.default", {N("xs"), 1, false}, {{4, 9}});
  ExpectEqualOutputs(s.Output("p").Output("q"));
  GraphBuilder e;
  e.Input("x", {4, 9}).Node("p", "aten._softmax.default", {N("x"), 1, false}, {{4, 9}});
  e.Node("l", "aten._log_softmax.default", {N("x"), 1, false}, {{4, 9}})
      .Node("q", "aten.exp.default", {N("l")}, {{4, 9}});
  ExpectEqualOutputs(e.Output("p").Output("q"));
  GraphBuilder g;
  g.Input("x", {4, 9})
      .Node("p", "aten._softmax.default", {N("x"), 1, false}, {{4, 9}})
      .Node("lp", "aten.log.default", {N("p")}, {{4, 9}});
  g.Node("l", "aten._log_softmax.default", {N("x"), 1, false}, {{4, 9}});
  ExpectEqualOutputs(g.Output("lp").Output("l"));
}

TEST_F(LawsTest, LayerNormIgnoresShiftsAndNotScales) {
  GraphBuilder b;
  b.Input("x", {3, 8})
      .Input("shift", {3, 1})
      .Node("xs", "aten.add.Tensor", {N("x"), N("shift")}, {{3, 8}});
  b.Node("n", "aten.native_layer_norm.default", {N("x"), Json::array({8}), nullptr, nullptr, 1e-5},
         {{3, 8}, {3, 1}, {3, 1}});
  b.Node("m", "aten.native_layer_norm.default", {N("xs"), Json::array({8}), nullptr, nullptr, 1e-5},
         {{3, 8}, {3, 1}, {3, 1}});
  ExpectEqualOutputs(b.Output("n").Output("m"));
}

TEST_F(LawsTest, OnePassVarianceIsTwoPassVariance) {
  GraphBuilder b;
  b.Input("x", {3, 8}).Node("v", "aten.var.correction", {N("x"), Json::array({1}), 0}, {{3}});
  b.Node("sq", "aten.mul.Tensor", {N("x"), N("x")}, {{3, 8}})
      .Node("msq", "aten.mean.dim", {N("sq"), Json::array({1})}, {{3}});
  b.Node("mean", "aten.mean.dim", {N("x"), Json::array({1})}, {{3}})
      .Node("mm", "aten.mul.Tensor", {N("mean"), N("mean")}, {{3}});
  b.Node("d", "aten.sub.Tensor", {N("msq"), N("mm")}, {{3}});
  ExpectEqualOutputs(b.Output("v").Output("d"));
}

TEST_F(LawsTest, GeluByHandIsGelu) {
  GraphBuilder b;
  b.Input("x", {10}).Node("g", "aten.gelu.default", {N("x"), "tanh"}, {{10}});
  // x·sigmoid(2·sqrt(2/pi)·(x + 0.044715·x³))
  b.Node("x3", "aten.pow.Tensor_Scalar", {N("x"), 3}, {{10}})
      .Node("c", "aten.mul.Tensor", {N("x3"), 0.044715}, {{10}});
  b.Node("i", "aten.add.Tensor", {N("x"), N("c")}, {{10}})
      .Node("j", "aten.mul.Tensor", {N("i"), 1.5957691216057308}, {{10}});
  b.Node("s", "aten.sigmoid.default", {N("j")}, {{10}})
      .Node("h", "aten.mul.Tensor", {N("x"), N("s")}, {{10}});
  ExpectEqualOutputs(b.Output("g").Output("h"));
}

TEST_F(LawsTest, SumsDoNotDependOnOrderOrLayout) {
  GraphBuilder b;
  b.Input("x", {5, 7}).Node("t", "aten.permute.default", {N("x"), Json::array({1, 0})}, {{7, 5}});
  b.Node("s", "aten.sum.dim_IntList", {N("x"), Json::array({0})}, {{7}})
      .Node("u", "aten.sum.dim_IntList", {N("t"), Json::array({1})}, {{7}});
  ExpectEqualOutputs(b.Output("s").Output("u"));
  GraphBuilder c;
  c.Input("x", {6})
      .Node("s", "aten.cumsum.default", {N("x"), 0}, {{6}})
      .Node("last", "aten.select.int", {N("s"), 0, -1}, {{}});
  c.Node("sum", "aten.sum.default", {N("x")}, {{}});
  ExpectEqualOutputs(c.Output("last").Output("sum"));
}

TEST_F(LawsTest, AnIgnoredInputShows) {
  GraphBuilder b;
  b.Input("x", {4}).Input("bias", {4}).Node("y", "aten.add.Tensor", {N("x"), N("bias")}, {{4}});
  b.Node("scaled", "aten.mul.Tensor", {N("bias"), 1e-12}, {{4}})
      .Node("z", "aten.add.Tensor", {N("x"), N("scaled")}, {{4}});
  ExpectDifferentOutputs(b.Output("y").Output("z"));
}

}  // namespace
}  // namespace kernelsmith
