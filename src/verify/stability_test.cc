#include "verify/stability.h"

#include <gtest/gtest.h>

#include <limits>

#include "vgpu/testing.h"

namespace kernelsmith {
namespace {

constexpr double kEps = 0x1p-24;

// One result of a kernel beside 100 right ones: what it is, how large the numbers were that it was
// made of, what it must be.
bool Beyond(double got, double magnitude, double wanted) {
  ExpectedOutput expected{.name = "output.0", .dtype = DType::kFloat32, .shape = {101}};
  Tensor<Symbolic> values(DType::kFloat32, {101});
  for (int64_t i = 0; i < 101; ++i) {
    expected.exact.push_back(i == 50 ? wanted : 1);
    values[i].v = i == 50 ? got : 1;
    values[i].m = i == 50 ? static_cast<float>(magnitude) : 1;
  }
  return BeyondRounding(expected, values, kEps);
}

TEST(BeyondRounding, RightResultsAreNot) {
  EXPECT_FALSE(Beyond(1, 1, 1));
  EXPECT_FALSE(Beyond(1.0005, 1, 1));  // within a thousandth, whatever explains it
}

TEST(BeyondRounding, AnotherFormulaIs) {
  EXPECT_TRUE(Beyond(1.01, 1, 1));
  EXPECT_TRUE(Beyond(0, 1, 1));
  EXPECT_TRUE(Beyond(1.01, 100, 1));
}

TEST(BeyondRounding, CancellationExplainsWhatItCan) {
  // A difference of two numbers of a million has an error of a sixteenth at least.
  EXPECT_FALSE(Beyond(1.1, 1e6, 1));
  // But not one of a hundred.
  EXPECT_TRUE(Beyond(100, 1e6, 1));
}

TEST(BeyondRounding, WhatIsNotKnownExplainsEverything) {
  EXPECT_FALSE(Beyond(1.01, std::numeric_limits<double>::quiet_NaN(), 1));
  EXPECT_FALSE(Beyond(std::numeric_limits<double>::quiet_NaN(), 1, 1));
  EXPECT_FALSE(Beyond(1.01, std::numeric_limits<double>::infinity(), 1));
}

// Whether a kernel with this arithmetic on %f0 = `value` overflows.
bool Overflows(const std::string& body, float value) {
  vgpu::TestGpu gpu;
  const Status loaded = gpu.Load(
      ".visible .entry k(.param .u64 p) {\n"
      ".reg .b64 %rd<4>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"
      "ld.param.u64 %rd0, [p]; ld.global.f32 %f0, [%rd0];\n" +
      body + "\nst.global.f32 [%rd0], %f1;\nret;\n}\n");
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
  const uint64_t buffer = gpu.Buffer(std::vector<float>{value});
  OverflowObserver observer;
  const auto result = gpu.Launch("k", {1, 1, 1}, {1, 1, 1}, {buffer}, 0, false, &observer);
  EXPECT_TRUE(result.ok() && !result->fault);
  return observer.overflowed;
}

TEST(OverflowObserver, HearsOfInfinitiesAndNaNsThatArithmeticMakes) {
  EXPECT_FALSE(Overflows("mul.rn.f32 %f1, %f0, %f0;", 1e10f));
  EXPECT_TRUE(Overflows("mul.rn.f32 %f1, %f0, %f0;", 1e30f));
  EXPECT_TRUE(Overflows("sqrt.rn.f32 %f1, %f0;", -1));
  EXPECT_TRUE(Overflows("rcp.rn.f32 %f1, %f0;", 0));
}

TEST(OverflowObserver, LeavesInfinitiesAloneThatAreOnlyMoved) {
  // The start of a maximum.
  EXPECT_FALSE(Overflows("mov.f32 %f2, 0fff800000; max.f32 %f1, %f2, %f0;", 1));
  EXPECT_FALSE(Overflows("mov.f32 %f1, %f0;", std::numeric_limits<float>::infinity()));
}

}  // namespace
}  // namespace kernelsmith
