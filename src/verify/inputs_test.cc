#include "verify/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/rng.h"

namespace kernelsmith {
namespace {

HostTensor Normals(Shape shape) {
  HostTensor tensor = MakeHostTensor(DType::kFloat32, std::move(shape));
  Rng rng(1);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, rng.Normal());
  return tensor;
}

HostTensor Make(const char* recipe, const HostTensor& base, uint64_t seed = 5) {
  return MakeInputs(*FindRecipe(recipe), {{"x", base}}, {{.name = "x"}}, seed,
                    {.permute_integers = true, .numbers = {-3, 3, 1e30}})
      .at("x");
}

TEST(Inputs, EverySeedGivesOtherValuesAndTheSameSeedTheSame) {
  const HostTensor base = Normals({8, 16});
  EXPECT_EQ(Make("redrawn", base, 1).bytes, Make("redrawn", base, 1).bytes);
  EXPECT_NE(Make("redrawn", base, 1).bytes, Make("redrawn", base, 2).bytes);
}

TEST(Inputs, RecipesDoWhatTheySay) {
  const HostTensor base = Normals({8, 16});
  const HostTensor rows = Make("rows", base);
  for (int64_t i = 0; i < rows.count(); ++i) EXPECT_EQ(rows.at(i), rows.at(i / 16 * 16));
  const HostTensor ties = Make("ties", base);
  std::set<double> levels;
  for (int64_t i = 0; i < ties.count(); ++i) levels.insert(ties.at(i));
  EXPECT_LT(levels.size(), 20U);
  const HostTensor single = Make("single", base);
  int changed = 0;
  for (int64_t i = 0; i < single.count(); ++i) changed += single.at(i) != base.at(i);
  EXPECT_GE(changed, 1);
  EXPECT_LE(changed, 2);
  EXPECT_EQ(Make("large", base).at(3), base.at(3) * 1024);
  const HostTensor offset = Make("offset", base);
  EXPECT_GT(std::abs(offset.at(0)), 500);
  EXPECT_LT(offset.at(0) * offset.at(16), 0);  // neighbouring rows
  EXPECT_GT(offset.at(0) * offset.at(15), 0);
}

TEST(Inputs, TrianglesStayTriangles) {
  HostTensor base = MakeHostTensor(DType::kFloat32, {16, 16});
  for (int64_t i = 0; i < base.count(); ++i) base.set(i, i / 16 >= i % 16 ? 0.25 + 0.01 * i : 0);
  for (const Recipe& recipe : Recipes()) {
    const HostTensor made = Make(std::string(recipe.name).c_str(), base);
    for (int64_t i = 0; i < made.count(); ++i) {
      if (i / 16 < i % 16) EXPECT_EQ(made.at(i), 0) << recipe.name << " at " << i;
    }
  }
  EXPECT_NE(Make("redrawn", base).bytes, base.bytes);
}

TEST(Inputs, SpikesAreOneInARow) {
  const HostTensor base = Normals({8, 16});
  std::set<int64_t> places;
  for (const Recipe& recipe : Recipes()) {
    if (!recipe.spikes) continue;
    const HostTensor made = Make(std::string(recipe.name).c_str(), base);
    for (int64_t row = 0; row < 8; ++row) {
      int spikes = 0;
      for (int64_t i = 0; i < 16; ++i) {
        if (made.at(row * 16 + i) < 100) continue;
        ++spikes;
        places.insert(i);
        if (recipe.name == "spike_first") EXPECT_EQ(i, 0);
        if (recipe.name == "spike_last") EXPECT_EQ(i, 15);
      }
      EXPECT_EQ(spikes, 1);
    }
  }
  EXPECT_GT(places.size(), 4U);
}

TEST(Inputs, ConstantTensorsAreVariedAndStayPositive) {
  const HostTensor ones = MakeHostTensor(DType::kFloat32, {64}, std::vector<double>(64, 1.0));
  const HostTensor varied = Make("redrawn", ones);
  std::set<double> values;
  for (int64_t i = 0; i < varied.count(); ++i) {
    values.insert(varied.at(i));
    EXPECT_GT(varied.at(i), 0);
  }
  EXPECT_GT(values.size(), 32U);
}

TEST(Inputs, TheDomainOfTheDrawIsKept) {
  // Probabilities in rows, a mask of two values, an additive mask: no recipe may make something
  // else of them.
  HostTensor probabilities = MakeHostTensor(DType::kFloat32, {4, 8});
  for (int64_t i = 0; i < 32; ++i) probabilities.set(i, i % 8 == 0 ? 0.65 : 0.05);
  HostTensor mask = MakeHostTensor(DType::kFloat32, {16});
  for (int64_t i = 0; i < 16; ++i) mask.set(i, i % 3 == 0 ? 1 : 0);
  HostTensor additive = Normals({16});
  additive.set(3, -INFINITY);
  HostTensor positive = Normals({64});
  for (int64_t i = 0; i < 64; ++i) positive.set(i, std::abs(positive.at(i)) + 2);
  for (const Recipe& recipe : Recipes()) {
    const std::string name(recipe.name);
    // They stay probabilities.
    const HostTensor made = Make(name.c_str(), probabilities);
    for (int64_t row = 0; row < 4; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < 8; ++i) sum += made.at(row * 8 + i);
      EXPECT_NEAR(sum, 1, 1e-6) << name;
    }
    EXPECT_EQ(made.bytes == probabilities.bytes, name != "single") << name;
    EXPECT_EQ(Make(name.c_str(), mask).bytes, mask.bytes) << name;
    EXPECT_EQ(Make(name.c_str(), additive).bytes, additive.bytes) << name;
    if (name == "signed") continue;
    const HostTensor still = Make(name.c_str(), positive);
    for (int64_t i = 0; i < 64; ++i) EXPECT_GE(still.at(i), 0) << name;
  }
}

TEST(Inputs, NumbersOfTheKernelsAreAmongTheValues) {
  const HostTensor base = Normals({64, 64});
  const HostTensor near = Make("numbers", base);
  const HostTensor far = Make("far_numbers", base);
  int threes = 0;
  int neighbours = 0;
  int large = 0;
  for (int64_t i = 0; i < base.count(); ++i) {
    threes += near.at(i) == 3;
    neighbours += near.at(i) != 3 && std::abs(near.at(i) - 3) < 1e-5;
    large += std::abs(far.at(i)) > 1e29;
    EXPECT_LT(std::abs(near.at(i)), 100) << "what is far has a recipe of its own";
  }
  EXPECT_GT(threes, 20);
  EXPECT_GT(neighbours, 20);
  EXPECT_GT(large, 100);
  const TensorMap values{{"x", base}};
  EXPECT_FALSE(Applies(*FindRecipe("numbers"), values, {{.name = "x"}}, {1e30}));
  EXPECT_TRUE(Applies(*FindRecipe("far_numbers"), values, {{.name = "x"}}, {1e30}));
}

TEST(Inputs, SamplesLieBeyondTheLargestNumber) {
  const HostTensor base = Normals({8, 16});
  const std::vector<double> numbers = {-10000, 10000, 128, 1e30};
  const HostTensor made = MakeInputs(*FindRecipe("beyond_numbers"), {{"x", base}}, {{.name = "x"}},
                                     5, {.permute_integers = true, .numbers = numbers})
                              .at("x");
  for (int64_t i = 0; i < made.count(); ++i) {
    EXPECT_GT(std::abs(made.at(i)), 10000) << "at " << i;
    EXPECT_LT(std::abs(made.at(i)), 30000) << "at " << i << ": 1e30 stands for infinity";
    EXPECT_EQ(made.at(i) > 0, made.at(i / 16 * 16) > 0) << "rows have one sign";
  }
  EXPECT_LT(made.at(0) * made.at(16), 0);
  const TensorMap values{{"x", base}};
  EXPECT_FALSE(Applies(*FindRecipe("beyond_numbers"), values, {{.name = "x"}}, {1e30, 2}));
}

TEST(Inputs, ExactValuesAreHalvesOfBothSigns) {
  const HostTensor made = Make("exact", Normals({64, 64}));
  bool negative_zero = false;
  for (int64_t i = 0; i < made.count(); ++i) {
    EXPECT_EQ(made.at(i) * 2, std::round(made.at(i) * 2));
    negative_zero |= made.at(i) == 0 && std::signbit(made.at(i));
  }
  EXPECT_TRUE(negative_zero);
}

TEST(Inputs, BothSignsWhereTheDrawHasOne) {
  HostTensor uniform = MakeHostTensor(DType::kFloat32, {64});
  Rng rng(2);
  for (int64_t i = 0; i < 64; ++i) uniform.set(i, rng.Uniform());
  const Recipe& recipe = *FindRecipe("signed");
  EXPECT_TRUE(Applies(recipe, {{"x", uniform}}, {{.name = "x"}}, {}));
  EXPECT_FALSE(Applies(recipe, {{"x", Normals({64})}}, {{.name = "x"}}, {}));
  EXPECT_TRUE(Applies(*FindRecipe("rows"), {{"x", Normals({64})}}, {{.name = "x"}}, {}));
  const HostTensor made = Make("signed", uniform);
  int negative = 0;
  double largest = 0;
  for (int64_t i = 0; i < 64; ++i) {
    negative += made.at(i) < 0;
    largest = std::max(largest, std::abs(made.at(i)));
  }
  EXPECT_GT(negative, 16);
  EXPECT_LT(negative, 48);
  EXPECT_GT(largest, 3);  // where HardSigmoid and its like are flat
}

}  // namespace
}  // namespace kernelsmith
