#include "graph/witness.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

Graph MakeGraph(const std::string& node, const std::string& shape, size_t index,
                const std::string& more = "") {
  const std::string text =
      R"({"format": "kernelsmith-graph/1", "direction": "forward", "placeholders": [{"name": "x", "role": "input", "shape": )" +
      shape + R"(, "dtype": "float32"}], "nodes": [)" + more + node +
      R"(], "outputs": [{"role": "output", "index": 0, "value": {"node": "y", "index": )" +
      std::to_string(index) + "}}]}";
  Result<Graph> graph = ParseGraph(text, "test.json");
  KS_CHECK(graph.ok(), graph.error().message());
  return *graph;
}

std::vector<int64_t> Wrong(const Graph& graph, const HostTensor& x,
                           const std::vector<double>& answer, double eps = 0) {
  const std::optional<Choice> choice = FindChoice(graph, graph.outputs[0]);
  KS_CHECK(choice.has_value());
  const Shape shape = graph.meta(graph.outputs[0].value).shape;
  const auto result = WrongChoices(graph, *choice, {FromHost<Bounded>(x)},
                                   MakeHostTensor(DType::kFloat64, shape, answer), eps);
  KS_CHECK(result.ok(), result.error().message());
  return *result;
}

using Positions = std::vector<int64_t>;

TEST(Witness, ArgmaxTakesAnyOfEquals) {
  const Graph graph = MakeGraph(
      R"({"name": "y", "op": "aten.argmax.default", "args": [{"node": "x"}, 1], "outputs": [{"shape": [2], "dtype": "int64"}]})",
      "[2, 3]", 0);
  const HostTensor x = MakeHostTensor(DType::kFloat32, {2, 3}, {1, 5, 5, 7, 2, 3});
  EXPECT_EQ(Wrong(graph, x, {1, 0}), Positions{});
  EXPECT_EQ(Wrong(graph, x, {2, 0}), Positions{});
  EXPECT_EQ(Wrong(graph, x, {0, 0}), Positions{0});
  EXPECT_EQ(Wrong(graph, x, {1, 2}), Positions{1});
  EXPECT_EQ(Wrong(graph, x, {1, 3}), Positions{1});
  EXPECT_EQ(Wrong(graph, x, {1, 0.5}), Positions{1});
  EXPECT_EQ(Wrong(graph, x, {-1, 0}), Positions{0});
}

TEST(Witness, ComputedValuesAreEqualWithinTheirError) {
  const Graph graph = MakeGraph(
      R"({"name": "y", "op": "aten.argmax.default", "args": [{"node": "e"}, 0], "outputs": [{"shape": [], "dtype": "int64"}]})",
      "[2]", 0,
      R"({"name": "e", "op": "aten.exp.default", "args": [{"node": "x"}], "outputs": [{"shape": [2], "dtype": "float32"}]},)");
  const HostTensor x = MakeHostTensor(DType::kFloat32, {2}, {1.0, 1.0000001});
  EXPECT_EQ(Wrong(graph, x, {0}), Positions{0});
  EXPECT_EQ(Wrong(graph, x, {0}, 0x1p-22), Positions{});
  EXPECT_EQ(Wrong(graph, x, {1}), Positions{});
}

TEST(Witness, TopKTakesEqualsInAnyOrderButNoneTwice) {
  const Graph graph = MakeGraph(
      R"({"name": "y", "op": "aten.topk.default", "args": [{"node": "x"}, 2, 0], "outputs": [{"shape": [2, 2], "dtype": "float32"}, {"shape": [2, 2], "dtype": "int64"}]})",
      "[3, 2]", 1);
  // Columns: 4 4 1 and 0 9 3.
  const HostTensor x = MakeHostTensor(DType::kFloat32, {3, 2}, {4, 0, 4, 9, 1, 3});
  EXPECT_EQ(Wrong(graph, x, {0, 1, 1, 2}), Positions{});
  EXPECT_EQ(Wrong(graph, x, {1, 1, 0, 2}), Positions{});
  EXPECT_EQ(Wrong(graph, x, {0, 1, 0, 2}), Positions{2});
  EXPECT_EQ(Wrong(graph, x, {0, 2, 1, 1}), (Positions{1, 3}));
}

TEST(Witness, SortIsSeenThroughViewsAndCasts) {
  const Graph graph = MakeGraph(
      R"({"name": "y", "op": "aten._to_copy.default", "args": [{"node": "s", "index": 1}], "kwargs": {"dtype": {"dtype": "int32"}}, "outputs": [{"shape": [3], "dtype": "int32"}]})",
      "[3]", 0,
      R"({"name": "s", "op": "aten.sort.default", "args": [{"node": "x"}], "outputs": [{"shape": [3], "dtype": "float32"}, {"shape": [3], "dtype": "int64"}]},)");
  const HostTensor x = MakeHostTensor(DType::kFloat32, {3}, {2, 1, 2});
  EXPECT_EQ(Wrong(graph, x, {1, 2, 0}), Positions{});
  EXPECT_EQ(Wrong(graph, x, {0, 1, 2}), (Positions{0, 1}));
}

TEST(Witness, ValuesAreNoChoice) {
  const Graph graph = MakeGraph(
      R"({"name": "y", "op": "aten.sort.default", "args": [{"node": "x"}], "outputs": [{"shape": [3], "dtype": "float32"}, {"shape": [3], "dtype": "int64"}]})",
      "[3]", 0);
  EXPECT_FALSE(FindChoice(graph, graph.outputs[0]).has_value());
}

TEST(Witness, MaxPoolIndexMustLieInItsWindow) {
  const Graph graph = MakeGraph(
      R"({"name": "y", "op": "aten.max_pool2d_with_indices.default", "args": [{"node": "x"}, [1, 2]], "outputs": [{"shape": [1, 1, 1, 2], "dtype": "float32"}, {"shape": [1, 1, 1, 2], "dtype": "int64"}]})",
      "[1, 1, 1, 4]", 1);
  const HostTensor x = MakeHostTensor(DType::kFloat32, {1, 1, 1, 4}, {3, 3, 3, 1});
  EXPECT_EQ(Wrong(graph, x, {0, 2}), Positions{});
  EXPECT_EQ(Wrong(graph, x, {1, 2}), Positions{});
  EXPECT_EQ(Wrong(graph, x, {0, 0}), Positions{1});
  EXPECT_EQ(Wrong(graph, x, {0, 3}), Positions{1});
}

TEST(Witness, MaxPoolGradientGoesToAnyOfEquals) {
  // The gradient is x + 10 at the pooled positions' count: here the pool's own values.
  const Graph graph = MakeGraph(
      R"({"name": "y", "op": "aten.max_pool2d_with_indices_backward.default", "args": [{"node": "p"}, {"node": "x"}, [1, 2], [1, 2], [0, 0], [1, 1], false, {"node": "p", "index": 1}], "outputs": [{"shape": [1, 1, 1, 4], "dtype": "float32"}]})",
      "[1, 1, 1, 4]", 0,
      R"({"name": "p", "op": "aten.max_pool2d_with_indices.default", "args": [{"node": "x"}, [1, 2]], "outputs": [{"shape": [1, 1, 1, 2], "dtype": "float32"}, {"shape": [1, 1, 1, 2], "dtype": "int64"}]},)");
  const HostTensor x = MakeHostTensor(DType::kFloat32, {1, 1, 1, 4}, {3, 3, 5, 1});
  const double eps = 0x1p-20;
  EXPECT_EQ(Wrong(graph, x, {3, 0, 5, 0}, eps), Positions{});
  EXPECT_EQ(Wrong(graph, x, {0, 3, 5, 0}, eps), Positions{});
  EXPECT_EQ(Wrong(graph, x, {3, 3, 5, 0}, eps), (Positions{0, 1}));
  EXPECT_EQ(Wrong(graph, x, {3, 0, 0, 5}, eps), (Positions{2, 3}));
}

}  // namespace
}  // namespace kernelsmith
