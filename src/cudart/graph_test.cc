#include "cudart/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelsmith::cudart {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GraphNode* Empty(Graph& graph, const std::vector<GraphNode*>& after) {
  return graph.Add(cudaGraphNodeTypeEmpty, NoWork{}, after);
}

TEST(Graph, SortsByDependencyThenByAge) {
  Graph graph;
  GraphNode* a = Empty(graph, {});
  GraphNode* b = Empty(graph, {});
  GraphNode* c = Empty(graph, {});
  EXPECT_TRUE(Graph::Connect(c, a));
  EXPECT_THAT(graph.Sorted(), ElementsAre(b, c, a));
  EXPECT_FALSE(Graph::Connect(c, a));  // twice
  EXPECT_FALSE(Graph::Connect(a, a));
  EXPECT_TRUE(Graph::Disconnect(c, a));
  EXPECT_FALSE(Graph::Disconnect(c, a));
  EXPECT_THAT(graph.Sorted(), ElementsAre(a, b, c));
}

TEST(Graph, ACycleHasNoOrder) {
  Graph graph;
  GraphNode* a = Empty(graph, {});
  GraphNode* b = Empty(graph, {a});
  Graph::Connect(b, a);
  EXPECT_THAT(graph.Sorted(), IsEmpty());
  EXPECT_EQ(MakeProgram(graph), nullptr);
  std::unique_ptr<GraphExec> exec;
  EXPECT_EQ(Instantiate(graph, &exec), cudaErrorInvalidValue);
}

TEST(Graph, RemovingANodeRemovesItsEdges) {
  Graph graph;
  GraphNode* a = Empty(graph, {});
  GraphNode* b = Empty(graph, {a});
  GraphNode* c = Empty(graph, {b});
  graph.Remove(b);
  EXPECT_THAT(a->dependents, IsEmpty());
  EXPECT_THAT(c->dependencies, IsEmpty());
  EXPECT_THAT(graph.Sorted(), ElementsAre(a, c));
}

TEST(Graph, CloneHasItsOwnNodesAndKnowsTheOriginals) {
  Graph graph;
  GraphNode* a = Empty(graph, {});
  GraphNode* b = graph.Add(cudaGraphNodeTypeMemset, FillWork{.value = 7, .width = 3}, {a});
  const std::unique_ptr<Graph> clone = graph.Clone();
  ASSERT_EQ(clone->nodes.size(), 2U);
  const GraphNode* copy = clone->nodes[1].get();
  EXPECT_NE(copy, b);
  EXPECT_EQ(copy->original, b);
  EXPECT_EQ(copy->graph, clone.get());
  EXPECT_THAT(copy->dependencies, ElementsAre(clone->nodes[0].get()));
  EXPECT_EQ(std::get<FillWork>(copy->work).value, 7U);
}

TEST(Graph, ComparesTopologies) {
  Graph first;
  Empty(first, {Empty(first, {})});
  Graph same;
  Empty(same, {Empty(same, {})});
  Graph other_edges;
  Empty(other_edges, {});
  Empty(other_edges, {});
  Graph other_kind;
  GraphNode* node = Empty(other_kind, {});
  other_kind.Add(cudaGraphNodeTypeMemset, FillWork{}, {node});
  Graph longer;
  Empty(longer, {Empty(longer, {Empty(longer, {})})});
  const auto program = MakeProgram(first);
  size_t different = 99;
  EXPECT_TRUE(SameTopology(*program, *MakeProgram(same), &different));
  EXPECT_FALSE(SameTopology(*program, *MakeProgram(other_edges), &different));
  EXPECT_EQ(different, 1U);
  EXPECT_FALSE(SameTopology(*program, *MakeProgram(other_kind), &different));
  EXPECT_EQ(different, 1U);
  EXPECT_FALSE(SameTopology(*program, *MakeProgram(longer), &different));
  EXPECT_EQ(different, 2U);
}

}  // namespace
}  // namespace kernelsmith::cudart
