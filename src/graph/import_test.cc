#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "graph/aten_ops.h"
#include "graph/testing.h"

namespace kernelsmith {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const char* const kGood = R"({
  "format": "kernelsmith-graph/1", "name": "t", "direction": "forward",
  "placeholders": [
    {"name": "x", "role": "input", "index": 0, "shape": [2, 3], "dtype": "float32", "strides": [3, 1]},
    {"name": "state", "role": "buffer", "index": 0, "shape": [3], "dtype": "float32"}],
  "constants": [{"name": "k", "shape": [3], "dtype": "float32"}],
  "nodes": [
    {"name": "s", "op": "aten.sum.dim_IntList", "args": [{"node": "x"}, [0]], "kwargs": {"keepdim": false},
     "outputs": [{"shape": [3], "dtype": "float32"}], "where": "model.py:3"},
    {"name": "y", "op": "aten.add.Tensor", "args": [{"node": "state"}, {"node": "s"}], "kwargs": {"alpha": 2},
     "outputs": [{"shape": [3], "dtype": "float32"}]},
    {"name": "z", "op": "aten.mul.Tensor", "args": [{"node": "y"}, {"node": "k"}], "outputs": [{"shape": [3], "dtype": "float32"}]}],
  "outputs": [{"role": "output", "index": 0, "value": {"node": "z"}}, {"role": "mutated", "of": "state", "value": {"node": "y"}}]
})";

TensorMap Constants() { return {{"k", MakeHostTensor(DType::kFloat32, {3}, {1, 10, 100})}}; }

TEST(Import, ReadsAndEvaluatesWithMutationsAndConstants) {
  const Result<Graph> graph = ParseGraph(kGood, "g.json", Constants());
  ASSERT_TRUE(graph.ok()) << graph.error().Format();
  EXPECT_EQ(graph->OutputName(graph->outputs[0]), "output.0");
  EXPECT_EQ(graph->OutputName(graph->outputs[1]), "mutated.state");
  const TensorMap inputs = {{"x", MakeHostTensor(DType::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6})},
                            {"state", MakeHostTensor(DType::kFloat32, {3}, {1, 1, 1})}};
  const auto outputs = Evaluate<double>(*graph, *GraphInputs<double>(*graph, inputs));
  ASSERT_TRUE(outputs.ok()) << outputs.error().Format();
  // state + 2·column sums = 11, 15, 19
  EXPECT_EQ((*outputs)[1][0], 11);
  EXPECT_EQ((*outputs)[1][2], 19);
  EXPECT_EQ((*outputs)[0][1], 150);
  EXPECT_EQ((*outputs)[0][2], 1900);
}

std::string ErrorWith(const std::function<void(Json*)>& edit) {
  Json json = Json::parse(kGood);
  edit(&json);
  const Result<Graph> graph = ParseGraph(json.dump(), "g.json", Constants());
  return graph.ok() ? "" : graph.error().message();
}

TEST(Import, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorWith([](Json*) {}), "");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["format"] = "x"; }),
            "expected format 'kernelsmith-graph/1', found 'x'");
  EXPECT_EQ(ErrorWith([](Json* j) { j->erase("nodes"); }), "expected a list 'nodes'");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["nodes"][1]["args"][0]["node"] = "q"; }),
            "node 'y': no node 'q' before this one");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["nodes"][1]["name"] = "x"; }),
            "node 'x': the name is used twice");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["nodes"][1]["args"][0]["index"] = 1; }),
            "node 'y': node 'state' has no result 1");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["nodes"][1]["kwargs"]["beta"] = 1; }),
            "node 'y': aten.add.Tensor has no argument 'beta'");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["nodes"][2]["args"].erase(1); }),
            "node 'z': aten.mul.Tensor needs an argument 'other'");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["placeholders"][0]["dtype"] = "complex64"; }),
            "placeholder 'x': dtype 'complex64' is not supported");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["placeholders"][0]["shape"] = {-1, 3}; }),
            "placeholder 'x': a shape with a negative size or too many elements");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["placeholders"][0]["role"] = "guest"; }),
            "placeholder 'x': expected role input, parameter, buffer or tangent, found 'guest'");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["outputs"][1]["of"] = "s"; }),
            "output: 's' is no placeholder");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["constants"][0]["name"] = "l"; }),
            "constant 'l': no data in the constants file");
  EXPECT_EQ(ErrorWith([](Json* j) { (*j)["nodes"][0]["args"][1] = Json::parse("[[[[[[1]]]]]]"); }),
            "node 's': lists nested too deeply");
  const Result<Graph> syntax = ParseGraph("{\n  \"format\": oops}", "g.json");
  ASSERT_FALSE(syntax.ok());
  EXPECT_EQ(syntax.error().Format(), "g.json:2:13: error: expected a JSON document");
}

TEST(Evaluate, RefusesRandomAndUnknownOperators) {
  GraphBuilder random;
  random.Input("x", {2}).Node("r", "aten.bernoulli.p", {N("x"), 0.5}, {{2}}).Output("r");
  const Graph graph = random.Build();
  const auto result = Evaluate<double>(graph, {Tensor<double>(DType::kFloat64, {2})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(result.error().message(), "random: operator aten.bernoulli.p of node 'r'");
  GraphBuilder unknown;
  unknown.Input("x", {2}).Node("f", "aten._fft_r2c.default", {N("x")}, {{2}}).Output("f");
  const auto other = Evaluate<double>(unknown.Build(), {Tensor<double>(DType::kFloat64, {2})});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message(), "operator aten._fft_r2c.default of node 'f'");
}

TEST(Evaluate, SaysWhenShapesDoNotFit) {
  GraphBuilder b;
  b.Input("x", {2, 3})
      .Input("y", {4, 5})
      .Node("p", "aten.mm.default", {N("x"), N("y")}, {{2, 5}})
      .Output("p");
  const auto result = Evaluate<double>(b.Build(), {Tensor<double>(DType::kFloat64, {2, 3}),
                                                   Tensor<double>(DType::kFloat64, {4, 5})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(), "node 'p' (aten.mm.default): matrix sizes that do not fit");
  GraphBuilder c;
  c.Input("x", {2, 3}).Node("s", "aten.sum.default", {N("x")}, {{1}}).Output("s");
  const auto other = Evaluate<double>(c.Build(), {Tensor<double>(DType::kFloat64, {2, 3})});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message(),
            "node 's' (aten.sum.default): gives shape [] where the graph says [1]");
  const auto third = Evaluate<double>(c.Build(), {Tensor<double>(DType::kFloat64, {3, 2})});
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().message(),
              HasSubstr("input 'x' has shape [3, 2] where the graph says [2, 3]"));
}

TEST(Evaluate, IntegersBeyondExactnessAreRefusedNotWrong) {
  GraphBuilder b;
  b.Input("x", {1}, "int64")
      .Node("y", "aten.mul.Tensor", {N("x"), N("x")}, {{1}}, "int64")
      .Output("y");
  const Graph graph = b.Build();
  const HostTensor x = MakeHostTensor(DType::kInt64, {1}, {1e9});
  EXPECT_FALSE(Evaluate<double>(graph, {FromHost<double>(x)}).ok());
  const HostTensor small = MakeHostTensor(DType::kInt64, {1}, {5000});
  EXPECT_FALSE(Evaluate<float>(graph, {FromHost<float>(small)}).ok());
  const auto exact = Evaluate<double>(graph, {FromHost<double>(small)});
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ((*exact)[0][0], 25e6);
}

// Every operator with arguments that make no sense: an error, never a crash.
TEST(Evaluate, SurvivesWrongArgumentsOfEveryOperator) {
  const Json pool[] = {N("x"),
                       N("y"),
                       N("z"),
                       nullptr,
                       true,
                       false,
                       0,
                       1,
                       -1,
                       7,
                       1000000000000,
                       -9223372036854775807 - 1,
                       0.5,
                       -2.0,
                       "mean",
                       "none",
                       Json::array(),
                       Json::array({0}),
                       Json::array({1, 1}),
                       Json::array({-1, 5}),
                       Json::array({3, 0, 2}),
                       Json::array({true, false, true}),
                       Json::array({N("x"), N("y")}),
                       Json::array({1000000000000, 1000000000000}),
                       Json{{"float", "nan"}},
                       Json{{"dtype", "int8"}},
                       Json::array({N("z"), nullptr})};
  std::mt19937 generator(9);
  const auto pick = [&]() -> const Json& { return pool[generator() % std::size(pool)]; };
  const Algebra algebra(1);
  const AlgebraScope scope(&algebra);
  int succeeded = 0;
  for (const Operator& op : AllOperators()) {
    if (!op.evaluated()) continue;
    for (int round = 0; round < 60; ++round) {
      GraphBuilder b;
      b.Input("x", {2, 3}).Input("y", {2, 3, 4, 4}).Input("z", {3}, "int64");
      Json args = Json::array();
      for (size_t i = 0; i < op.parameters.size(); ++i)
        args.push_back(i == 0 && round % 2 ? N("y") : pick());
      const std::vector<Shape> shapes =
          round % 3 == 0 ? std::vector<Shape>{{2, 3}} : std::vector<Shape>{{2, 3, 4, 4}, {2, 3}};
      b.Node("r", op.name, args, shapes).Output("r");
      const Graph graph = b.Build();
      const TensorMap values = {{"x", MakeHostTensor(DType::kFloat64, {2, 3})},
                                {"y", MakeHostTensor(DType::kFloat64, {2, 3, 4, 4})},
                                {"z", MakeHostTensor(DType::kInt64, {3}, {0, 1, 5})}};
      succeeded += Evaluate<double>(graph, *GraphInputs<double>(graph, values)).ok();
      if (round < 10)
        succeeded += Evaluate<Symbolic>(graph, *GraphInputs<Symbolic>(graph, values)).ok();
    }
  }
  EXPECT_GT(succeeded, 100);
}

TEST(Import, SurvivesMutatedFiles) {
  const std::string good = kGood;
  std::mt19937 generator(1);
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    for (int edits = 1 + static_cast<int>(generator() % 3); edits > 0; --edits) {
      const size_t at = generator() % text.size();
      if (generator() % 2) {
        text[at] = "0123456789[]{},:\"-xyse."[generator() % 23];
      } else {
        text.erase(at, 1 + generator() % 20);
      }
    }
    const Result<Graph> graph = ParseGraph(text, "g.json", Constants());
    if (!graph.ok()) continue;
    ++accepted;
    std::vector<Tensor<double>> inputs;
    bool small = true;
    for (const size_t index : graph->placeholders)
      small &= *ElementCount(graph->nodes[index].outputs[0]->shape) < 10000;
    if (!small) continue;
    for (const size_t index : graph->placeholders)
      inputs.emplace_back(DType::kFloat32, graph->nodes[index].outputs[0]->shape);
    static_cast<void>(Evaluate<double>(*graph, inputs).ok());
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace kernelsmith
