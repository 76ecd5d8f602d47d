#include "verify/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/rng.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {
namespace {

constexpr double kEpsilon = 0x1p-24;
constexpr double kSmallest = 0x1p-149;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

float Tf32(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

// Dot products of `terms` normal numbers: exact, as PyTorch sums (pairwise), serially, and in TF32.
struct DotProducts {
  DotProducts(int count, int terms) {
    Rng rng(11);
    std::vector<float> a(terms);
    std::vector<float> b(terms);
    for (int i = 0; i < count; ++i) {
      double sum = 0;
      double absolute = 0;
      float serial_sum = 0;
      float tf32_sum = 0;
      std::vector<float> partial;
      for (int k = 0; k < terms; ++k) {
        a[k] = static_cast<float>(rng.Normal());
        b[k] = static_cast<float>(rng.Normal());
        sum += static_cast<double>(a[k]) * b[k];
        absolute += std::abs(static_cast<double>(a[k]) * b[k]);
        serial_sum = std::fma(a[k], b[k], serial_sum);
        tf32_sum = std::fma(Tf32(a[k]), Tf32(b[k]), tf32_sum);
        partial.push_back(a[k] * b[k]);
      }
      for (size_t width = partial.size(); width > 1; width = (width + 1) / 2) {
        for (size_t k = 0; k < width / 2; ++k) partial[k] += partial[width - 1 - k];
      }
      exact.push_back(sum);
      magnitude.push_back(absolute);
      torch.push_back(partial[0]);
      serial.push_back(serial_sum);
      tf32.push_back(tf32_sum);
    }
  }
  OutputReference Reference() const {
    return {.exact = exact,
            .torch = torch,
            .magnitude = magnitude,
            .row = 0,
            .epsilon = kEpsilon,
            .smallest = kSmallest,
            .sum_length = 4096,
            .sum_epsilon = kEpsilon};
  }
  std::vector<double> exact, magnitude, torch, serial, tf32;
};

TEST(Tolerance, HonestSumsPassAndLowerPrecisionDoesNot) {
  const DotProducts dots(500, 4096);
  EXPECT_TRUE(CompareNumbers(dots.torch, dots.Reference()).passed());
  const NumericComparison serial = CompareNumbers(dots.serial, dots.Reference());
  EXPECT_TRUE(serial.passed()) << serial.worst;
  const NumericComparison tf32 = CompareNumbers(dots.tf32, dots.Reference());
  EXPECT_FALSE(tf32.passed());
  EXPECT_GT(tf32.worst, 200);
}

double Half(double value) {
  HostTensor tensor = MakeHostTensor(DType::kFloat16, {1}, {value});
  return tensor.at(0);
}

// PyTorch sums products of half precision numbers in float32. Terms may be rounded; running sums in
// half precision are something else.
TEST(Tolerance, SumsOfHalvesAreKeptInFloat) {
  constexpr int kTerms = 64;
  Rng rng(13);
  std::vector<double> exact, magnitude, torch, terms, sums;
  for (int i = 0; i < 500; ++i) {
    double sum = 0, absolute = 0, rounded_terms = 0, rounded_sum = 0;
    for (int k = 0; k < kTerms; ++k) {
      const double product = Half(rng.Normal()) * Half(rng.Normal());
      sum += product;
      absolute += std::abs(product);
      rounded_terms += Half(product);
      rounded_sum = Half(rounded_sum + product);
    }
    exact.push_back(sum);
    magnitude.push_back(absolute);
    torch.push_back(Half(sum));
    terms.push_back(Half(rounded_terms));
    sums.push_back(rounded_sum);
  }
  OutputReference reference{.exact = exact,
                            .torch = torch,
                            .magnitude = magnitude,
                            .epsilon = 0x1p-11,
                            .smallest = 0x1p-24,
                            .sum_length = kTerms,
                            .sum_epsilon = kEpsilon,
                            .wide_sums = true};
  EXPECT_LT(CompareNumbers(torch, reference).worst, kLimit / 2);
  EXPECT_TRUE(CompareNumbers(terms, reference).passed());
  EXPECT_FALSE(CompareNumbers(sums, reference).passed());
  reference.wide_sums = false;
  EXPECT_TRUE(CompareNumbers(sums, reference).passed());  // what the flag is needed for
}

// Running sums and atomic additions of positive numbers, one after the other: PyTorch's own result
// on the CPU is rounded once.
TEST(Tolerance, LongSerialSumsOfOneSignPass) {
  constexpr int kTerms = 4096;
  Rng rng(12);
  std::vector<double> exact, torch, serial, lossy;
  for (int i = 0; i < 300; ++i) {
    double sum = 0;
    float serial_sum = 0;
    float lossy_sum = 0;
    for (int k = 0; k < kTerms; ++k) {
      const auto x = static_cast<float>(rng.Uniform());
      sum += x;
      serial_sum += x;
      if (k > 0) lossy_sum += x;
    }
    exact.push_back(sum);
    torch.push_back(static_cast<float>(sum));
    serial.push_back(serial_sum);
    lossy.push_back(lossy_sum);
  }
  OutputReference reference{.exact = exact,
                            .torch = torch,
                            .magnitude = exact,
                            .epsilon = kEpsilon,
                            .smallest = kSmallest,
                            .sum_length = 1,
                            .sum_epsilon = kEpsilon};
  EXPECT_FALSE(CompareNumbers(serial, reference).passed());  // what the length is needed for
  reference.sum_length = kTerms;
  const NumericComparison passing = CompareNumbers(serial, reference);
  EXPECT_TRUE(passing.passed()) << passing.worst;
  EXPECT_GT(passing.worst, 4);                              // no more room than it needs
  EXPECT_FALSE(CompareNumbers(lossy, reference).passed());  // one term of 4096 is missing
}

TEST(Tolerance, ZerosFailOnTinyOutputs) {
  std::vector<double> exact;
  for (int i = 1; i <= 64; ++i) exact.push_back(1e-9 * i);
  std::vector<double> torch = exact;
  for (double& x : torch) x = static_cast<float>(x);
  const OutputReference reference{
      .exact = exact, .torch = torch, .row = 8, .epsilon = kEpsilon, .smallest = kSmallest};
  EXPECT_TRUE(CompareNumbers(torch, reference).passed());
  const std::vector<double> zeros(exact.size());
  EXPECT_EQ(CompareNumbers(zeros, reference).wrong, exact.size());
  EXPECT_TRUE(AllClose(zeros, torch, 1e-5, 1e-5));  // the usual check is blind here
}

TEST(Tolerance, NonFiniteOnlyWhereItBelongs) {
  const std::vector<double> exact = {1, kInfinity, NAN, 1e300};
  const std::vector<double> torch = {1, kInfinity, NAN, kInfinity};  // overflowed in float32
  const OutputReference reference{.exact = exact, .torch = torch, .epsilon = kEpsilon};
  EXPECT_TRUE(CompareNumbers(torch, reference).passed());
  for (size_t i = 0; i < exact.size(); ++i) {
    std::vector<double> got = torch;
    got[i] = i == 2 ? 0 : i == 0 ? NAN : -kInfinity;
    const NumericComparison comparison = CompareNumbers(got, reference);
    EXPECT_EQ(comparison.wrong, 1u) << i;
    EXPECT_EQ(comparison.worst_index, i);
    EXPECT_EQ(comparison.worst, kInfinity);
  }
}

TEST(Tolerance, ExactOutputsMustBeExact) {
  const std::vector<double> exact = {1, 2, 3};
  const OutputReference reference{.exact = exact, .torch = exact};
  EXPECT_TRUE(CompareNumbers(exact, reference).passed());
  EXPECT_EQ(CompareNumbers(std::vector<double>{1, 2, 4}, reference).wrong, 1u);
}

TEST(Tolerance, RowsHaveTheirOwnScale) {
  // PyTorch is exact on the first row and off by 1e-3 on the second: the second row's error may be
  // larger, the first row's may not be larger than the tensor's.
  const std::vector<double> exact = {1, 1, 1000, 1000};
  const std::vector<double> torch = {1, 1, 1000.001, 999.999};
  const OutputReference reference{.exact = exact, .torch = torch, .row = 2};
  const std::vector<double> scales = ErrorScales(reference);
  EXPECT_NEAR(scales[0], 1e-3 / std::sqrt(2), 1e-6);
  EXPECT_NEAR(scales[2], 1e-3, 1e-6);
}

TEST(AllClose, FollowsPyTorch) {
  EXPECT_TRUE(AllClose(std::vector<double>{1.00001}, std::vector<double>{1}, 1e-5, 1e-8));
  EXPECT_FALSE(AllClose(std::vector<double>{1.0001}, std::vector<double>{1}, 1e-5, 1e-8));
  EXPECT_FALSE(AllClose(std::vector<double>{NAN}, std::vector<double>{NAN}, 1, 1));
  EXPECT_TRUE(AllClose(std::vector<double>{kInfinity}, std::vector<double>{kInfinity}, 0, 0));
}

}  // namespace
}  // namespace kernelsmith
