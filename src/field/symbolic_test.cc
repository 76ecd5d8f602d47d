#include "field/symbolic.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "field/functions.h"

namespace kernelsmith {
namespace {

class SymbolicTest : public testing::Test {
 protected:
  Symbolic Draw() { return SymbolicInput(normal_(generator_), next_++); }
  static Symbolic C(double x) { return SymbolicConstant(x, Precision::kFloat64); }
  static void ExpectEqual(const Symbolic& x, const Symbolic& y) {
    EXPECT_EQ(CompareValues(x, y).equality, Equality::kEqual) << x.v << " " << y.v;
    EXPECT_NEAR(x.v, y.v, 1e-9 * (1 + std::fabs(x.v)));
  }
  static void ExpectDifferent(const Symbolic& x, const Symbolic& y) {
    EXPECT_EQ(CompareValues(x, y).equality, Equality::kDifferent) << x.v << " " << y.v;
  }
  Algebra algebra_{3};
  AlgebraScope scope_{&algebra_};
  std::mt19937_64 generator_{5};
  std::normal_distribution<double> normal_{0, 1};
  uint64_t next_ = 0;
};

TEST_F(SymbolicTest, RingLaws) {
  for (int i = 0; i < 200; ++i) {
    const Symbolic a = Draw(), b = Draw(), c = Draw();
    ExpectEqual((a + b) * c, a * c + b * c);
    ExpectEqual(a - b, -(b - a));
    ExpectEqual((a / b) * b, a);
    ExpectEqual((a + b) * (a - b), a * a - b * b);
    ExpectDifferent(a + b, a + c);
    ExpectDifferent(a * b, a * b + C(1e-20));
  }
}

TEST_F(SymbolicTest, ExpTurnsSumsIntoProducts) {
  for (int i = 0; i < 50; ++i) {
    const Symbolic x = Draw(), y = Draw();
    ExpectEqual(Exp(x + y), Exp(x) * Exp(y));
    ExpectEqual(Exp(-x), C(1) / Exp(x));
    ExpectEqual(Exp2(x * C(1.4426950408889634)), Exp(x));
    ExpectEqual(Exp2(x + C(3)),
                Exp2(x) * Exp2(C(1)) * Exp2(C(2)) * (Exp2(x + C(3)) / (Exp2(x) * C(8))));
    ExpectEqual(Expm1(x), Exp(x) - C(1));
    ExpectDifferent(Exp(x), Exp(y));
  }
  ExpectEqual(Exp2(C(-3)), C(0.125));
  ExpectEqual(Exp(C(0)), C(1));
}

TEST_F(SymbolicTest, LogIsTheInverseOfExp) {
  for (int i = 0; i < 50; ++i) {
    const Symbolic x = Draw(), y = Draw();
    ExpectEqual(Log(Exp(x)), x);
    ExpectEqual(Log(Exp(x) * Exp(y)), x + y);
    const Symbolic sum = Exp(x) + Exp(y);
    ExpectEqual(Exp(Log(sum)), sum);
    // shifted logsumexp
    ExpectEqual(x + Log(Exp(x - x) + Exp(y - x)), Log(sum));
    ExpectEqual(Exp(x - Log(sum)), Exp(x) / sum);
    ExpectEqual(Log1p(Exp(x)), Log(C(1) + Exp(x)));
    ExpectEqual((Log(sum) - x) * C(0.25) + (Log(sum) - y) * C(0.25),
                (Log(sum) * C(2) - x - y) / C(4));
    ExpectEqual(Exp2(Log2(sum * sum)), sum * sum);
    ExpectEqual(Exp(Log(sum * sum) * C(0.5)) * Exp(Log(sum * sum) * C(0.5)), sum * sum);
    ExpectDifferent(Log(sum), x);
    ExpectDifferent(Log(sum), Log(sum + C(1)));
    ExpectEqual(x * Log(sum * sum), x * Log(sum) * C(2));
    ExpectEqual(x * (Log(sum * sum) - Log(Exp(x) * Exp(x))), C(2) * x * Log(sum) - C(2) * x * x);
  }
}

TEST_F(SymbolicTest, OnlineSoftmaxIsSoftmax) {
  std::vector<Symbolic> x;
  for (int i = 0; i < 20; ++i) x.push_back(Draw());
  Symbolic max = x[0];
  for (const Symbolic& v : x) max = Maximum(max, v);
  Symbolic sum = C(0);
  for (const Symbolic& v : x) sum = sum + Exp(v - max);
  Symbolic running_max = C(-INFINITY);
  Symbolic running_sum = C(0);
  for (const Symbolic& v : x) {
    const Symbolic next = Maximum(running_max, v);
    running_sum = running_sum * Exp(running_max - next) + Exp(v - next);
    running_max = next;
  }
  for (const Symbolic& v : x) {
    ExpectEqual(Exp(v - max) / sum, Exp(v - running_max) / running_sum);
    ExpectEqual(Exp(v - max - Log(sum)), Exp(v) / (sum * Exp(max)));
  }
}

TEST_F(SymbolicTest, Activations) {
  for (int i = 0; i < 50; ++i) {
    const Symbolic x = Draw();
    ExpectEqual(Sigmoid(x), C(1) / (C(1) + Exp(-x)));
    ExpectEqual(Sigmoid(x), Exp(x) / (C(1) + Exp(x)));
    ExpectEqual(Tanh(x), C(2) * Sigmoid(C(2) * x) - C(1));
    ExpectEqual(Tanh(x), Sinh(x) / Cosh(x));
    ExpectEqual(Tanh(-x), -Tanh(x));
    const Symbolic softplus = Log1p(Exp(x));
    ExpectEqual(Tanh(softplus), ((C(1) + Exp(x)) * (C(1) + Exp(x)) - C(1)) /
                                    ((C(1) + Exp(x)) * (C(1) + Exp(x)) + C(1)));
    ExpectEqual(Erf(-x), -Erf(x));
    ExpectEqual(C(1) - Erf(x), Erfc(x));
    ExpectEqual(Cos(-x), Cos(x));
    ExpectEqual(Sin(x) / Cos(x), Tan(x));
    ExpectDifferent(Sin(x), Sin(x + C(1)));
    ExpectEqual(Abs(-x), Abs(x));
  }
}

TEST_F(SymbolicTest, RootsAreMultiplicativeAndSquareBackOrSaySo) {
  int conclusive = 0;
  for (int i = 0; i < 100; ++i) {
    const Symbolic a = Draw(), b = Draw();
    const Symbolic x = a * a + C(1), y = b * b + C(2);
    ExpectEqual(Sqrt(x * y), Sqrt(x) * Sqrt(y));
    ExpectEqual(Rsqrt(x), C(1) / Sqrt(x));
    const Comparison back = CompareValues(Sqrt(x) * Sqrt(x), x);
    EXPECT_NE(back.equality, Equality::kDifferent);
    if (back.equality == Equality::kEqual) ++conclusive;
    if (back.equality == Equality::kInconclusive) {
      EXPECT_TRUE(back.reason & (kNonResidueP | kNonResidueQ));
    }
    EXPECT_EQ(CompareValues(Pow(x, C(0.5)), Sqrt(x)).equality, Equality::kEqual);
    EXPECT_EQ(CompareValues(Pow(x, C(-1.5)), C(1) / (Sqrt(x) * Sqrt(x) * Sqrt(x))).equality,
              Equality::kEqual);
    ExpectEqual(Pow(x, C(3)), x * x * x);
    ExpectEqual(Pow(x, C(-2)), C(1) / (x * x));
    const Symbolic third = Pow(x, C(1.0 / 3));
    ExpectEqual(third * third * third, x);
    ExpectEqual(Pow(x, b), Exp(b * Log(x)));
  }
  // A field element is a square with probability 1/2; one good field is enough.
  EXPECT_GT(conclusive, 55);
  EXPECT_LT(conclusive, 95);
  ExpectEqual(Sqrt(C(64)), C(8));
  ExpectEqual(Sqrt(C(0.25)), C(0.5));
  ExpectEqual(Sqrt(C(2)) * Sqrt(C(8)), C(4));
}

TEST_F(SymbolicTest, MasksVanish) {
  const Symbolic x = Draw();
  for (const double mask : {-double{INFINITY}, -1e9, -10000.0}) {
    const Symbolic masked = Exp(x + C(mask));
    EXPECT_TRUE(masked.s.IsZero());
    EXPECT_TRUE(masked.s.has(kMaskedExp));
    ExpectEqual(Exp(x) + masked, Exp(x));
  }
}

TEST_F(SymbolicTest, ZeroTimesAnythingIsZero) {
  const Symbolic x = Exp(Draw());
  ExpectEqual(C(0) * x, C(0));
  ExpectEqual(C(0) * Log(x + C(1)), C(0));
  EXPECT_EQ(CompareValues(C(0) * x + Draw(), C(0)).equality, Equality::kDifferent);
}

TEST_F(SymbolicTest, TiesFollowTheFloatAndTaint) {
  const Symbolic a = Draw();
  const Symbolic b = SymbolicInput(a.v, 1000);
  // Exact tie, equal shadows: no tie.
  EXPECT_FALSE(Maximum(a, a).s.has(kNearTie));
  EXPECT_FALSE(Maximum(a + b, b + a).s.has(kNearTie));
  // Exact tie of different values.
  const Symbolic m = Maximum(a, b);
  EXPECT_TRUE(m.s.has(kNearTie));
  EXPECT_EQ(CompareValues(m, Draw()).equality, Equality::kInconclusive);
  // Near tie by cancellation: 1e8 + tiny − 1e8.
  const Symbolic big = SymbolicInput(1e8, 1001);
  const Symbolic tiny = SymbolicInput(1e-3, 1002);
  EXPECT_TRUE(Maximum((big + tiny) - big, SymbolicInteger(0)).s.has(kNearTie));
  EXPECT_FALSE(Maximum(tiny, SymbolicInteger(0)).s.has(kNearTie));
  EXPECT_TRUE(Round(SymbolicInput(2.5, 1003)).s.has(kNearTie));
  EXPECT_FALSE(Round(SymbolicInput(2.4, 1003)).s.has(kNearTie));
  EXPECT_FALSE(Round(SymbolicInteger(2.5)).s.has(kNearTie));
  EXPECT_FALSE(Trunc(SymbolicInput(1e-12, 1004)).s.has(kNearTie));
}

TEST_F(SymbolicTest, UnrecognisedConstantsExcuseAMismatch) {
  const Symbolic x = Draw();
  const Symbolic odd = SymbolicConstant(0.39297862f, Precision::kFloat32);
  ASSERT_TRUE(odd.s.has(kUnrecognised));
  EXPECT_EQ(CompareValues(x * odd, x * C(0.5)).equality, Equality::kInconclusive);
  EXPECT_EQ(CompareValues(x * odd, odd * x).equality, Equality::kEqual);
  EXPECT_EQ(DescribeReason(CompareValues(x * odd, x * C(0.5)).reason),
            "an unrecognised constant took part");
}

TEST_F(SymbolicTest, NotFiniteIsComparedByFloat) {
  const Symbolic x = Draw();
  EXPECT_EQ(CompareValues(C(INFINITY), C(INFINITY)).equality, Equality::kEqual);
  EXPECT_EQ(CompareValues(C(NAN), C(NAN)).equality, Equality::kEqual);
  EXPECT_EQ(CompareValues(C(INFINITY), x).equality, Equality::kDifferent);
  EXPECT_EQ(CompareValues(x / C(0) - x / C(0), C(NAN)).equality, Equality::kEqual);
}

TEST_F(SymbolicTest, LogarithmsInProductsAreExcused) {
  const Symbolic x = Draw(), y = Draw();
  const Symbolic weight = Exp(x);  // has no q-part
  const Symbolic a = weight * (Log(Exp(x) + C(1)) - Log(Exp(y) + C(1)));
  const Symbolic b = weight * Log(Exp(x) + C(1)) - weight * Log(Exp(y) + C(1));
  EXPECT_NE(CompareValues(a, b).equality, Equality::kDifferent);
  ExpectEqual(weight * (-Log(Exp(x) + C(1))), -(weight * Log(Exp(x) + C(1))));
}

TEST(Algebra, RunsDifferAndAreReproducible) {
  const Algebra a(1), b(1), c(2);
  EXPECT_EQ(a.omega(), b.omega());
  EXPECT_NE(a.omega(), c.omega());
  EXPECT_EQ(FieldP::Pow(a.omega(), kQ), 1u);
  EXPECT_NE(a.omega(), 1u);
  EXPECT_EQ(a.Input(5).p, b.Input(5).p);
  EXPECT_NE(a.Input(5).p, c.Input(5).p);
  EXPECT_NE(a.Input(5).p, a.Input(6).p);
}

}  // namespace
}  // namespace kernelsmith
