#include "codegen/codegen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/fold.h"
#include "codegen/group.h"
#include "codegen/number_search.h"

namespace kernelsmith::codegen {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Meta(const std::string& shape) {
  // Strides are not looked at: one for each size.
  std::string strides = "1";
  for (const char c : shape) strides += c == ',' ? ", 1" : "";
  return R"("shape": )" + shape + R"(, "dtype": "float32", "strides": [)" + strides + "]";
}

// y = relu(x @ w) + b, as two configurations would export it.
std::shared_ptr<const Graph> Linear(int64_t rows, int64_t depth, int64_t columns) {
  const auto shape = [](int64_t a, int64_t b) {
    return "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
  };
  const std::string out = Meta(shape(rows, columns));
  const std::string text =
      R"({"format": "kernelsmith-graph/1", "name": "t", "direction": "forward", "torch": "2",
    "placeholders": [
      {"name": "x", "role": "input", "index": 0, )" +
      Meta(shape(rows, depth)) + R"(},
      {"name": "w", "role": "input", "index": 1, )" +
      Meta(shape(depth, columns)) + R"(},
      {"name": "b", "role": "input", "index": 2, )" +
      Meta("[" + std::to_string(columns) + "]") + R"(}],
    "nodes": [
      {"name": "mm", "op": "aten.mm.default", "args": [{"node": "x"}, {"node": "w"}], "kwargs": {}, "outputs": [{)" +
      out + R"(}]},
      {"name": "relu", "op": "aten.relu.default", "args": [{"node": "mm"}], "kwargs": {}, "outputs": [{)" +
      out + R"(}]},
      {"name": "add", "op": "aten.add.Tensor", "args": [{"node": "relu"}, {"node": "b"}], "kwargs": {}, "outputs": [{)" +
      out + R"(}]}],
    "outputs": [{"role": "output", "index": 0, "value": {"node": "add"}}]})";
  return std::make_shared<const Graph>(*ParseGraph(text, "test"));
}

Family LinearFamily() {
  return *Family::Make({Linear(40, 8, 16), Linear(50, 7, 33)}, {}, {{"rows", {40, 50}}},
                       {"x", "w", "b"});
}

TEST(FamilyTest, SizesThatVaryAreArgumentsOthersAreConstants) {
  const Family family = LinearFamily();
  ASSERT_EQ(family.symbols().size(), 3u);
  EXPECT_EQ(family.symbols()[0].name, "rows");
  EXPECT_EQ(family.symbols()[1].name, "x_1");
  // w's first size is x's second one: a thing to check, not another name.
  EXPECT_EQ(family.assumptions()[0].text, "w.size(0)");
  EXPECT_EQ(family.assumptions()[0].expected, Size("x_1"));
  EXPECT_EQ(*family.Fit({3, 3}), Int(3));
  EXPECT_EQ(*family.Fit({320, 350}), Size("rows") * Size("x_1"));
  EXPECT_EQ(*family.Fit({41, 51}), Size("rows") + Int(1));
  EXPECT_FALSE(family.Fit({1009, 17}).has_value());
}

TEST(FamilyTest, StructureIsAllButNumbers) {
  EXPECT_TRUE(SameStructure(*Linear(4, 8, 16), *Linear(5, 7, 33)));
  Graph other = *Linear(4, 8, 16);
  other.nodes.back().op = "aten.sub.Tensor";
  EXPECT_FALSE(SameStructure(*Linear(4, 8, 16), other));
}

TEST(CodegenTest, EpiloguesJoinTheProduct) {
  Family family = LinearFamily();
  const auto program = Lower(family, {.results = {"output.0"}});
  ASSERT_TRUE(program.ok()) << program.error().message();
  EXPECT_EQ(program->nests.size(), 3u);
  const Program folded = Fold(*program, {});
  EXPECT_EQ(folded.nests.size(), 2u);  // relu and add are one map
  const std::vector<Kernel> kernels = Group(folded, family, {});
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].kind, Kernel::Kind::kContraction);
  EXPECT_EQ(kernels[0].nests.size(), 2u);
}

Model LinearModel() {
  Signature signature;
  signature.function = "forward";
  signature.title = "linear";
  signature.results = {"output.0"};
  for (const char* name : {"x", "w", "b"})
    signature.arguments.push_back({HostArgument::Kind::kTensor, name, {name}});
  std::vector<Variant> variants;
  variants.push_back({LinearFamily(), ""});
  return *MakeModel(std::move(variants), std::move(signature));
}

TEST(CodegenTest, ScheduleChangesTheTextAndNothingElse) {
  const Model model = LinearModel();
  const std::string plain = *EmitCandidate(model);
  EXPECT_THAT(plain, HasSubstr("__shared__ __align__(16) float left[8][68]"));
  Schedule schedule;
  std::string tile;
  for (const Gene& gene : GenesOf(model)) {
    EXPECT_NE(std::find(gene.values.begin(), gene.values.end(), gene.value), gene.values.end())
        << gene.name;
    if (gene.name.ends_with(".tile_m")) tile = gene.name;
  }
  ASSERT_FALSE(tile.empty());
  schedule.genes[tile] = 32;
  EXPECT_THAT(*EmitCandidate(model, schedule),
              HasSubstr("__shared__ __align__(16) float left[8][36]"));
  schedule.genes[tile] = 33;  // no such tile: as if nothing had been said
  EXPECT_EQ(*EmitCandidate(model, schedule), plain);
}

TEST(CodegenTest, NothingIsSharedBetweenCalls) {
  EXPECT_EQ(*EmitCandidate(LinearModel()), *EmitCandidate(LinearModel()));
}

TEST(CodegenTest, UnknownOperatorsAreNamed) {
  Graph graph = *Linear(4, 8, 16);
  graph.nodes.back().op = "aten.nobody_knows.default";
  Family family = *Family::Make({std::make_shared<const Graph>(graph)}, {}, {}, {"x", "w", "b"});
  const auto program = Lower(family, {.results = {"output.0"}});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(program.error().message(), HasSubstr("aten.nobody_knows.default"));
}

TEST(ScheduleTest, ReadsWhatItWrites) {
  const auto schedule = ParseSchedule(R"({"genes": {"mm.tile_m": 64}})", "s.json");
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(schedule->Get("mm.tile_m", 1), 64);
  EXPECT_FALSE(ParseSchedule("{}", "s.json").ok());
  EXPECT_FALSE(ParseSchedule("nonsense", "s.json").ok());
}

TEST(NumberSearchTest, FindsWhatPythonComputed) {
  const std::vector<KnownNumber> known = {
      {"rate", {0.01, 0.01, 0.02, 0.01}}, {"beta", {0.9, 0.9, 0.8, 0.9}}, {"step", {3, 1, 2, 10}}};
  std::vector<double> values;
  for (size_t i = 0; i < 4; ++i) {
    values.push_back(-known[0].values[i] / (1 - std::pow(known[1].values[i], known[2].values[i])));
  }
  EXPECT_EQ(FindExpression(known, values), "rate / (std::pow(beta, step) - 1.0)");
  EXPECT_EQ(FindExpression(known, {0.3, 0.1, 0.77, 0.2}), std::nullopt);
}

}  // namespace
}  // namespace kernelsmith::codegen
