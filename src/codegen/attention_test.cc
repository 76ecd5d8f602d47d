#include "codegen/attention.h"

#include <gtest/gtest.h>

#include <limits>

namespace kernelsmith::codegen {
namespace {

constexpr DType kFloat = DType::kFloat32;

// softmax(q · k / 8 + mask) · v, a head at a time, as nests: 0 scores, 1 largest, 2 sum, 3 weights,
// 4 result.
struct Example {
  enum Buffers : BufferId { kQ, kK, kV, kMask, kScores, kLargest, kSum, kWeights, kOut };
  Program program;

  Example() {
    const Int heads = Size("heads"), rows = Size("rows"), keys = Size("keys"),
              width = Size("width");
    const auto argument = [](const char* name, std::vector<Int> shape) {
      return Buffer{.name = name, .kind = Buffer::Kind::kArgument, .shape = std::move(shape)};
    };
    program.buffers = {
        argument("q", {heads, rows, width}),
        argument("k", {heads, keys, width}),
        argument("v", {heads, keys, width}),
        argument("mask", {rows, keys}),
        {.name = "scores", .shape = {heads, rows, keys}},
        {.name = "largest", .shape = {heads, rows, Int(1)}},
        {.name = "sum", .shape = {heads, rows, Int(1)}},
        {.name = "weights", .shape = {heads, rows, keys}},
        {.name = "out", .kind = Buffer::Kind::kResult, .shape = {heads, rows, width}}};
    const auto reduce = [&](BufferId out, std::vector<Int> axes, const Int& over, Combine combine,
                            const Scalar& body) {
      Nest nest;
      nest.kind = Nest::Kind::kReduce;
      nest.axes = std::move(axes);
      nest.reduced = {over};
      nest.combine = combine;
      nest.body = body;
      nest.outputs = {out};
      program.nests.push_back(std::move(nest));
    };
    {
      const Int h = Axis("h0", heads), i = Axis("i0", rows), j = Axis("j0", keys),
                d = Axis("d0", width);
      reduce(kScores, {h, i, j}, d, Combine::kSum,
             Load(kQ, {h, i, d}, kFloat) * Load(kK, {h, j, d}, kFloat));
    }
    const auto score = [](const Int& h, const Int& i, const Int& j) {
      return Load(kScores, {h, i, j}, kFloat) * Number(0.125) + Load(kMask, {i, j}, kFloat);
    };
    const auto power = [&](const Int& h, const Int& i, const Int& j) {
      return Call("exp", {score(h, i, j) - Load(kLargest, {h, i, Int(0)}, kFloat)});
    };
    {
      const Int h = Axis("h1", heads), i = Axis("i1", rows), j = Axis("j1", keys);
      reduce(kLargest, {h, i, Int(0)}, j, Combine::kMax, score(h, i, j));
    }
    {
      const Int h = Axis("h2", heads), i = Axis("i2", rows), j = Axis("j2", keys);
      reduce(kSum, {h, i, Int(0)}, j, Combine::kSum, power(h, i, j));
    }
    {
      Nest nest;
      const Int h = Axis("h3", heads), i = Axis("i3", rows), j = Axis("j3", keys);
      nest.axes = {h, i, j};
      nest.body = power(h, i, j) / Load(kSum, {h, i, Int(0)}, kFloat);
      nest.outputs = {kWeights};
      program.nests.push_back(std::move(nest));
    }
    {
      const Int h = Axis("h4", heads), i = Axis("i4", rows), d = Axis("d4", width),
                j = Axis("j4", keys);
      reduce(kOut, {h, i, d}, j, Combine::kSum,
             Load(kWeights, {h, i, j}, kFloat) * Load(kV, {h, j, d}, kFloat));
    }
    program.results = {kOut};
  }
};

TEST(AttentionTest, IsFoundWithItsSides) {
  const Example example;
  const std::vector<Attention> found = FindAttention(example.program);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].nest, 4u);
  EXPECT_EQ(found[0].parts, (std::set<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(found[0].product, Example::kScores);
  EXPECT_FALSE(found[0].empty_is_zero);
  ASSERT_EQ(found[0].batch.size(), 1u);
  ASSERT_EQ(found[0].rows.size(), 1u);
  ASSERT_EQ(found[0].columns.size(), 1u);
  EXPECT_EQ(found[0].rows[0].atom()->name, "i4");
  EXPECT_EQ(found[0].columns[0].atom()->name, "d4");
  ASSERT_EQ(found[0].left.size(), 1u);
  ASSERT_EQ(found[0].right.size(), 1u);
  EXPECT_EQ(found[0].left[0]->buffer, Example::kQ);
  EXPECT_EQ(found[0].right[0]->buffer, Example::kK);
}

TEST(AttentionTest, WeightsThatSomebodyElseNeedsAreStored) {
  Example example;
  example.program.results.push_back(Example::kWeights);
  EXPECT_TRUE(FindAttention(example.program).empty());
}

TEST(AttentionTest, AMaskThatOthersReadStaysForThem) {
  Example example;
  Program& program = example.program;
  // The mask is computed, and a result as well.
  Nest mask;
  mask.axes = {Axis("i5", Size("rows")), Axis("j5", Size("keys"))};
  mask.body = Call("where", {Call("le", {Index(mask.axes[1]), Index(mask.axes[0])}), Number(0),
                             Number(-std::numeric_limits<double>::infinity())});
  mask.outputs = {Example::kMask};
  program.nests.insert(program.nests.begin(), mask);
  program.buffers[Example::kMask].kind = Buffer::Kind::kResult;
  program.results.push_back(Example::kMask);
  const std::vector<Attention> found = FindAttention(program);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].parts, (std::set<size_t>{1, 2, 3, 4}));
  // Nobody else reads it: it goes, too.
  program.results.pop_back();
  EXPECT_EQ(FindAttention(program)[0].parts, (std::set<size_t>{0, 1, 2, 3, 4}));
}

TEST(AttentionTest, WhatIsAlmostASoftmaxIsNone) {
  const auto found = [](size_t nest, const auto& change) {
    Example example;
    Nest& changed = example.program.nests[nest];
    change(changed);
    return !FindAttention(example.program).empty();
  };
  // The largest of other numbers than those that are raised.
  EXPECT_FALSE(found(1, [](Nest& nest) { nest.body = nest.body + Number(1); }));
  EXPECT_FALSE(found(1, [](Nest& nest) { nest.combine = Combine::kMin; }));
  // A sum that does not normalise.
  EXPECT_FALSE(found(2, [](Nest& nest) { nest.body = nest.body * Number(2); }));
  // Weights that are something more.
  EXPECT_FALSE(found(3, [](Nest& nest) { nest.body = nest.body + Number(1); }));
  // No sum of products.
  EXPECT_FALSE(found(0, [](Nest& nest) { nest.combine = Combine::kMax; }));
  EXPECT_TRUE(found(0, [](Nest&) {}));
}

}  // namespace
}  // namespace kernelsmith::codegen
