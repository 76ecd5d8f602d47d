#include "codegen/int_expr.h"

#include <gtest/gtest.h>

namespace kernelsmith::codegen {
namespace {

std::string Name(const Atom& atom) { return atom->name; }

class IntTest : public testing::Test {
 protected:
  const Int n_ = Size("n"), m_ = Size("m");
  const Int i_ = Axis("i", n_), j_ = Axis("j", m_);
};

TEST_F(IntTest, PolynomialsHaveOneForm) {
  EXPECT_EQ((i_ + j_) * m_ - j_ * m_, m_ * i_);
  EXPECT_TRUE((i_ - i_).is(0));
  EXPECT_FALSE(i_ == j_);
}

TEST_F(IntTest, FlatIndicesComeApartAgain) {
  const Int flat = i_ * m_ + j_;
  EXPECT_EQ(Divide(flat, m_), i_);
  EXPECT_EQ(Modulo(flat, m_), j_);
  // Not where the range does not allow it: j may be as large as m - 1, not as n - 1.
  EXPECT_FALSE(Divide(i_ * n_ + j_, n_) == i_);
}

TEST_F(IntTest, RangesOfMixedRadices) {
  const Int k = Axis("k", Int(4));
  const Int flat = (i_ * m_ + j_) * Int(4) + k;
  EXPECT_EQ(Divide(flat, m_ * Int(4)), i_);
  EXPECT_EQ(Modulo(flat, m_ * Int(4)), j_ * Int(4) + k);
  EXPECT_TRUE(KnownLess(flat, n_ * m_ * Int(4)));
  EXPECT_FALSE(KnownLess(flat, n_ * m_ * Int(4) - Int(1)));
}

TEST_F(IntTest, SubstitutionSimplifiesAgain) {
  const Int group = Divide(j_, n_);  // opaque
  const Int outer = Axis("o", Size("g")), inner = Axis("p", n_);
  const Int split = Substitute(group, [&](const Atom& atom) -> std::optional<Int> {
    if (atom->key == j_.atom()->key) return outer * n_ + inner;
    return std::nullopt;
  });
  EXPECT_EQ(split, outer);
}

TEST_F(IntTest, TextIsHorner) {
  const Int k = Axis("k", Int(3));
  EXPECT_EQ(ToText((i_ * m_ + j_) * Int(3) + k, Name), "i * m * 3 + j * 3 + k");
  EXPECT_EQ(ToText((i_ * m_ + j_) * n_ + k, Name), "(i * m + j) * n + k");
  EXPECT_EQ(ToText(n_ - Int(1) - i_, Name), "n - i - 1");
  EXPECT_EQ(ToText(Int(0), Name), "0");
}

TEST_F(IntTest, Coefficients) {
  EXPECT_EQ(CoefficientOf(i_ * m_ + j_, i_.atom()), m_);
  EXPECT_EQ(CoefficientOf(i_ * m_ + j_, j_.atom()), Int(1));
  EXPECT_FALSE(CoefficientOf(Divide(i_, m_), i_.atom()).has_value());
  EXPECT_FALSE(CoefficientOf(i_ * i_, i_.atom()).has_value());
}

TEST_F(IntTest, ValuesOfSizes) {
  const auto size = [](const std::string& name) -> int64_t { return name == "n" ? 10 : 3; };
  EXPECT_EQ(Evaluate(CeilDivide(n_, m_) + Max(n_, m_), size), 14);
}

}  // namespace
}  // namespace kernelsmith::codegen
