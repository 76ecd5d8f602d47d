#include "codegen/codegen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/fold.h"
#include "codegen/group.h"
#include "codegen/lower.h"
#include "codegen/number_search.h"
#include "codegen/split.h"
#include "graph/aten_ops.h"

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
  for (const char* name : {"x", "w", "b"})
    signature.arguments.push_back({HostArgument::Kind::kTensor, name, {name}});
  std::vector<Variant> variants;
  variants.push_back({LinearFamily(), "", {"output.0"}});
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

TEST(CodegenTest, StagesBringTheNextSlices) {
  const Model model = LinearModel();
  Schedule schedule;
  std::string product;
  for (const Gene& gene : GenesOf(model)) {
    if (gene.name.ends_with(".stages")) product = gene.name.substr(0, gene.name.rfind('.'));
  }
  ASSERT_FALSE(product.empty());
  schedule.genes[product + ".stages"] = 2;
  // w lies in shared memory as it does in global memory, x does not.
  const std::string copies = *EmitCandidate(model, schedule);
  EXPECT_THAT(copies, HasSubstr("CopyAsync<4>(&right[into]"));
  EXPECT_THAT(copies, HasSubstr("__pipeline_wait_prior(0);"));
  EXPECT_THAT(copies, HasSubstr("left_next["));
  schedule.genes[product + ".async"] = 2;
  EXPECT_THAT(*EmitCandidate(model, schedule), HasSubstr("CopyAsync<1>(&left[into]"));
  schedule.genes[product + ".async"] = 0;
  const std::string registers = *EmitCandidate(model, schedule);
  EXPECT_THAT(registers, HasSubstr("right_next["));
  EXPECT_THAT(registers, Not(HasSubstr("pipeline")));
  // What shared memory can't hold is bent to fit: 48 KiB without asking for more.
  for (const char* gene : {".tile_m", ".tile_n"}) schedule.genes[product + gene] = 256;
  schedule.genes[product + ".stages"] = 4;
  schedule.genes[product + ".tile_k"] = 32;
  EXPECT_THAT(*EmitCandidate(model, schedule), HasSubstr("float left[2][8][260]"));
}

TEST(CodegenTest, NothingIsSharedBetweenCalls) {
  EXPECT_EQ(*EmitCandidate(LinearModel()), *EmitCandidate(LinearModel()));
}

TEST(CodegenTest, OperatorsHaveARuleWhereTheTableSaysSo) {
  for (const Operator& row : AllOperators()) {
    EXPECT_EQ(HasRule(row.op), row.lowered()) << row.name;
  }
}

TEST(CodegenTest, UnknownOperatorsAreNamed) {
  Graph graph = *Linear(4, 8, 16);
  graph.nodes.back().op = "aten.nobody_knows.default";
  graph.nodes.back().aten = FindOperator(graph.nodes.back().op);
  Family family = *Family::Make({std::make_shared<const Graph>(graph)}, {}, {}, {"x", "w", "b"});
  const auto program = Lower(family, {.results = {"output.0"}});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(program.error().message(), HasSubstr("aten.nobody_knows.default"));
}

TEST(SplitTest, ASumOfAllIsMadeOfParts) {
  const Family family =
      *Family::Make({Linear(100000, 512, 16), Linear(50, 7, 33)}, {}, {}, {"x", "w", "b"});
  const Int rows = Size(family.symbols()[0].name), depth = Size(family.symbols()[1].name);
  Program program;
  program.buffers = {{.name = "x", .kind = Buffer::Kind::kArgument, .shape = {rows, depth}},
                     {.name = "out", .kind = Buffer::Kind::kResult, .shape = {}}};
  Nest nest;
  nest.kind = Nest::Kind::kReduce;
  nest.reduced = {Axis("i", rows), Axis("j", depth)};
  nest.body = Load(0, nest.reduced, DType::kFloat32);
  nest.outputs = {1};
  program.nests = {nest};
  program.results = {1};
  std::vector<Gene> genes;
  const Program split = SplitReductions(program, family, {}, &genes);
  ASSERT_EQ(split.nests.size(), 2u);
  EXPECT_EQ(split.nests[0].outputs[0], 2u);
  EXPECT_EQ(split.nests[1].outputs[0], 1u);
  // Rows of the last part that do not exist add nothing.
  EXPECT_EQ(split.nests[0].body->kind, ScalarNode::Kind::kGuard);
  ASSERT_EQ(genes.size(), 1u);
  Schedule whole;
  whole.genes[genes[0].name] = 0;
  EXPECT_EQ(SplitReductions(program, family, whole).nests.size(), 1u);
  // With many results there is enough to do: rows stay whole.
  program.buffers[1].shape = {rows};
  program.nests[0].axes = {Axis("i", rows)};
  program.nests[0].reduced = {Axis("j", depth)};
  EXPECT_EQ(SplitReductions(program, family, {}).nests.size(), 1u);
}

TEST(SplitTest, AProductOfMatricesIsMadeOfPartsOfItsDepth) {
  Family family = *Family::Make({Linear(40, 1600, 16), Linear(50, 700, 33)}, {},
                                {{"rows", {40, 50}}}, {"x", "w", "b"});
  const auto lowered = Lower(family, {.results = {"output.0"}});
  ASSERT_TRUE(lowered.ok());
  const Program folded = Fold(*lowered, {});
  std::vector<Gene> genes;
  // By itself it stays whole.
  EXPECT_EQ(SplitReductions(folded, family, {}, &genes).nests.size(), folded.nests.size());
  ASSERT_EQ(genes.size(), 1u);
  EXPECT_EQ(genes[0].values, (std::vector<int64_t>{0, 64, 128, 256, 512, 1024}));
  Schedule schedule;
  schedule.genes[genes[0].name] = 128;
  const Program split = SplitReductions(folded, family, schedule);
  const std::vector<Kernel> kernels = Group(split, family, schedule);
  ASSERT_EQ(kernels.size(), 2u);
  // The parts are tiled like any product, with the part as a batch; their sum has the epilogue.
  EXPECT_EQ(kernels[0].kind, Kernel::Kind::kContraction);
  EXPECT_EQ(kernels[0].batch_axes.size(), 1u);
  EXPECT_EQ(kernels[0].left[0]->kind, ScalarNode::Kind::kGuard);
  EXPECT_EQ(kernels[0].right[0]->kind, ScalarNode::Kind::kGuard);
  EXPECT_EQ(kernels[1].kind, Kernel::Kind::kRows);
  EXPECT_EQ(kernels[1].nests.size(), 2u);
}

TEST(GroupTest, AViewOfAProductIsItsEpilogue) {
  const Family family = LinearFamily();
  const Int rows = Size("rows"), depth = Size("x_1"), columns = Size(family.symbols()[2].name);
  // a[rows·depth, depth] · b[depth, columns], read as [rows, depth, columns].
  Program program;
  program.buffers = {
      {.name = "a", .kind = Buffer::Kind::kArgument, .shape = {rows * depth, depth}},
      {.name = "b", .kind = Buffer::Kind::kArgument, .shape = {depth, columns}},
      {.name = "product", .shape = {rows * depth, columns}},
      {.name = "out", .kind = Buffer::Kind::kResult, .shape = {rows, depth, columns}}};
  Nest product;
  product.kind = Nest::Kind::kReduce;
  product.axes = {Axis("i", rows * depth), Axis("j", columns)};
  product.reduced = {Axis("k", depth)};
  product.body = Load(0, {product.axes[0], product.reduced[0]}, DType::kFloat32) *
                 Load(1, {product.reduced[0], product.axes[1]}, DType::kFloat32);
  product.outputs = {2};
  Nest view;
  view.axes = {Axis("p", rows), Axis("q", depth), Axis("r", columns)};
  view.body =
      Call("exp", {Load(2, {view.axes[0] * depth + view.axes[1], view.axes[2]}, DType::kFloat32)});
  view.outputs = {3};
  program.nests = {product, view};
  program.results = {3};
  const std::vector<Kernel> kernels = Group(program, family, {});
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].nests.size(), 2u);
  EXPECT_EQ(kernels[0].axes.size(), 3u);
  // Read with the halves exchanged it is another element: a kernel of its own.
  program.nests[1].body =
      Call("exp", {Load(2, {view.axes[1] * rows + view.axes[0], view.axes[2]}, DType::kFloat32)});
  const std::vector<Kernel> exchanged = Group(program, family, {});
  for (const Kernel& kernel : exchanged) {
    if (kernel.nests.size() == 2) {
      // Then its store must follow the exchange.
      EXPECT_EQ(kernel.nests[0].axes[0], kernel.nests[1].axes[1] * rows + kernel.nests[1].axes[0]);
    }
  }
}

// sum[i] = Σ_j (x + y)², out = (x + y)·sum[i], and x + y is a result itself.
TEST(GroupTest, ASumInFrontOfANormIsStoredByTheNorm) {
  const Family family = LinearFamily();
  const Int rows = Size("rows"), columns = Size("x_1");
  Program program;
  program.buffers = {{.name = "x", .kind = Buffer::Kind::kArgument, .shape = {rows, columns}},
                     {.name = "y", .kind = Buffer::Kind::kArgument, .shape = {rows, columns}},
                     {.name = "h", .kind = Buffer::Kind::kResult, .shape = {rows, columns}},
                     {.name = "sum", .shape = {rows}},
                     {.name = "out", .kind = Buffer::Kind::kResult, .shape = {rows, columns}}};
  const auto added = [](const Int& i, const Int& j) {
    return Load(0, {i, j}, DType::kFloat32) + Load(1, {i, j}, DType::kFloat32);
  };
  Nest h;
  h.axes = {Axis("i", rows), Axis("j", columns)};
  h.body = added(h.axes[0], h.axes[1]);
  h.outputs = {2};
  Nest sum;
  sum.kind = Nest::Kind::kReduce;
  sum.axes = {Axis("p", rows)};
  sum.reduced = {Axis("k", columns)};
  sum.body = Call("exp", {added(sum.axes[0], sum.reduced[0])});
  sum.outputs = {3};
  Nest out;
  out.axes = {Axis("q", rows), Axis("r", columns)};
  out.body = added(out.axes[0], out.axes[1]) * Load(3, {out.axes[0]}, DType::kFloat32);
  out.outputs = {4};
  program.nests = {h, sum, out};
  program.results = {2, 4};
  std::vector<Gene> genes;
  ASSERT_EQ(Group(program, family, {}, &genes).size(), 1u);
  EXPECT_EQ(genes.back().name, "h.beside");
  Schedule apart;
  apart.genes["h.beside"] = 0;
  EXPECT_EQ(Group(program, family, apart).size(), 2u);
  // Written over an argument it stays alone: other threads may still read that.
  program.results = {4};
  program.updates = {{0, 2}};
  EXPECT_EQ(Group(program, family, {}).size(), 2u);
  // So it does where the norm reads what it stores.
  program.updates.clear();
  program.nests[1].body = Load(2, {sum.axes[0], sum.reduced[0]}, DType::kFloat32);
  EXPECT_EQ(Group(program, family, {}).size(), 2u);
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
