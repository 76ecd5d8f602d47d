#include "graph/aten_ops.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace kernelsmith {
namespace {

// "aten.add.Tensor" -> "aten.add".
std::string Function(const std::string& name) { return name.substr(0, name.rfind('.')); }

TEST(AtenOps, RowsAreFoundByEnumeratorAndByName) {
  std::set<std::string> names;
  for (const Operator& row : AllOperators()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " has two rows";
    EXPECT_EQ(FindOperator(row.name), row.op) << row.name;
    EXPECT_EQ(&OperatorOf(row.op), &row) << row.name;
  }
  EXPECT_EQ(OperatorOf(AtenOp::kSortStable).name, "aten.sort.stable");
}

TEST(AtenOps, UnknownOperatorsHaveNoFacts) {
  EXPECT_EQ(FindOperator("aten.add"), AtenOp::kUnknown);
  EXPECT_EQ(FindOperator(""), AtenOp::kUnknown);
  const Operator& unknown = OperatorOf(AtenOp::kUnknown);
  EXPECT_FALSE(unknown.evaluated());
  EXPECT_FALSE(unknown.lowered());
  EXPECT_EQ(unknown.degree, Degree::kUnbounded);
  EXPECT_EQ(unknown.facts.chooses.kind, ChoiceKind::kNoChoice);
}

TEST(AtenOps, FunctionsAreFoundByAnyOverload) {
  EXPECT_EQ(FindFunction("aten.add_.Tensor"), AtenOp::kAddTensor);
  EXPECT_EQ(FindFunction("aten.add.out"), AtenOp::kAddTensor);
  EXPECT_EQ(FindFunction("aten._softmax.default"), AtenOp::kSoftmax);
  EXPECT_EQ(FindFunction("aten.nothing_like_it.default"), AtenOp::kUnknown);
}

// FindFunction() gives any of them.
TEST(AtenOps, OverloadsOfAFunctionCostTheSame) {
  std::map<std::string, const Operator*> first;
  for (const Operator& row : AllOperators()) {
    const Operator& other = *first.emplace(Function(row.name), &row).first->second;
    EXPECT_EQ(row.eager, other.eager) << row.name << " and " << other.name;
    EXPECT_EQ(row.facts.sums.argument, other.facts.sums.argument)
        << row.name << " and " << other.name;
  }
}

TEST(AtenOps, OnlyEvaluatedOperatorsAreLowered) {
  for (const Operator& row : AllOperators()) {
    if (row.lowered()) EXPECT_TRUE(row.evaluated()) << row.name;
  }
}

TEST(AtenOps, FactsNameParametersThatThereAre) {
  for (const Operator& row : AllOperators()) {
    if (!row.evaluated()) continue;
    const OperatorFacts& facts = row.facts;
    if (facts.view || facts.in_order) EXPECT_GE(row.parameters.size(), 1u) << row.name;
    if (facts.sums.kind != SumKind::kNoSums)
      EXPECT_LT(facts.sums.argument, row.parameters.size()) << row.name;
    if (facts.chooses.kind == ChoiceKind::kExtreme || facts.chooses.kind == ChoiceKind::kOrder)
      EXPECT_TRUE(row.FindParameter("dim")) << row.name;
    if (facts.chooses.kind == ChoiceKind::kPool || facts.chooses.kind == ChoiceKind::kPoolGradient)
      EXPECT_GE(facts.chooses.spatial, 2u) << row.name;
    if (facts.needs_maximum) EXPECT_EQ(row.FindParameter("dim"), 1u) << row.name;
    if (!facts.cut.possible()) continue;
    EXPECT_LT(facts.cut.argument, row.parameters.size()) << row.name;
    if (facts.cut.axis == Cut::kDim) EXPECT_TRUE(row.FindParameter("dim")) << row.name;
  }
}

}  // namespace
}  // namespace kernelsmith
