// Kernels in PTX with their shadows: every result is compared with the formula it must be, written
// down here with the symbolic value itself, and with formulas it must not be.
#include "algebra/shadow_observer.h"

#include <gtest/gtest.h>

#include <bit>

#include "field/functions.h"
#include "tensor/dtype.h"
#include "vgpu/testing.h"

namespace kernelsmith {
namespace {

class ShadowTest : public testing::Test {
 protected:
  // A buffer of inputs; their numbers go on from those before.
  uint64_t Floats(const std::vector<float>& values) {
    const uint64_t address = gpu_.Buffer(values);
    for (size_t i = 0; i < values.size(); ++i) {
      inputs_.push_back(SymbolicInput(values[i], inputs_.size()));
      observer_.global().Set(address + 4 * i,
                             ToCell(inputs_.back().s, inputs_.back().m, CellKind::kF32, 1, 0));
    }
    return address;
  }
  uint64_t Halves(const std::vector<float>& values) {
    std::vector<uint16_t> bits;
    for (const float value : values) bits.push_back(FloatToHalf(value));
    const uint64_t address = gpu_.Buffer(bits);
    for (size_t i = 0; i < values.size(); ++i) {
      inputs_.push_back(SymbolicInput(values[i], inputs_.size()));
      observer_.global().Set(address + 2 * i,
                             ToCell(inputs_.back().s, inputs_.back().m, CellKind::kF16, 1, 0));
    }
    return address;
  }
  uint64_t Output(size_t count) { return gpu_.Buffer(std::vector<float>(count)); }

  // `body` is a kernel "k" with 64-bit parameters p0, p1, ...; registers are declared here, and
  // %rd0, %rd1, ... hold the parameters.
  void Run(const std::string& body, const std::vector<uint64_t>& arguments, uint32_t threads = 1,
           const std::string& functions = "", const std::string& variables = "") {
    std::string text = functions + ".visible .entry k(";
    for (size_t i = 0; i < arguments.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::string(".param .u64 p") + std::to_string(i);
    }
    text += ") {\n.reg .pred %p<8>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n" +
            variables;
    for (size_t i = 0; i < arguments.size(); ++i) {
      text += "ld.param.u64 %rd" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
    }
    text += body + "\nret;\n}\n";
    const Status loaded = gpu_.Load(text);
    ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
    const auto result =
        gpu_.Launch("k", {1, 1, 1}, {threads, 1, 1}, arguments, 0, false, &observer_);
    ASSERT_TRUE(result.ok()) << result.error().Format();
    ASSERT_FALSE(result->fault.has_value()) << result->fault->message;
  }

  Symbolic At(uint64_t address, size_t index) {
    const float value = gpu_.Read<float>(address, index + 1)[index];
    const Cell* cell = observer_.global().Find(address + 4 * index);
    if (cell == nullptr) return SymbolicConstant(value, Precision::kFloat32);
    return ToSymbolic(*cell, value);
  }
  void ExpectEqual(const Symbolic& got, const Symbolic& expected) {
    EXPECT_EQ(CompareValues(got, expected).equality, Equality::kEqual);
    EXPECT_NEAR(got.v, expected.v, 2e-3 * (1 + std::fabs(expected.v)));
  }
  void ExpectDifferent(const Symbolic& got, const Symbolic& other) {
    EXPECT_EQ(CompareValues(got, other).equality, Equality::kDifferent);
  }
  static Symbolic C(double value) { return SymbolicConstant(value, Precision::kFloat32); }
  const Symbolic& In(size_t i) const { return inputs_[i]; }

  vgpu::TestGpu gpu_;
  Algebra algebra_{7};
  AlgebraScope scope_{&algebra_};
  ShadowObserver observer_{algebra_};
  std::vector<Symbolic> inputs_;
};

TEST_F(ShadowTest, ArithmeticAndConstants) {
  const uint64_t x = Floats({1.25f, -0.5f, 3.0f});
  const uint64_t out = Output(4);
  Run(R"(ld.global.f32 %r0, [%rd0];
         ld.global.b32 %r1, [%rd0+4];
         ld.global.f32 %r2, [%rd0+8];
         fma.rn.f32 %r3, %r0, %r1, %r2;
         st.global.f32 [%rd1], %r3;
         mul.f32 %r4, %r3, 0f3F800347;      // 1.0001
         st.global.f32 [%rd1+4], %r4;
         div.rn.f32 %r5, %r0, %r2;
         sub.f32 %r5, %r5, 0f3EAAAAAB;      // 1/3
         st.global.f32 [%rd1+8], %r5;
         max.f32 %r6, %r0, %r1;
         st.global.f32 [%rd1+12], %r6;)",
      {x, out});
  const Symbolic sum = In(0) * In(1) + In(2);
  ExpectEqual(At(out, 0), sum);
  ExpectDifferent(At(out, 0), In(0) * In(1));
  ExpectDifferent(At(out, 1), sum);  // a factor that no tolerance sees
  ExpectEqual(At(out, 1), sum * C(1.0001f));
  ExpectEqual(At(out, 2), In(0) / In(2) - C(1.0f / 3));
  ExpectEqual(At(out, 3), In(0));
}

TEST_F(ShadowTest, ExpByPowersOfTwoAndSigmoid) {
  const uint64_t x = Floats({0.75f, -1.5f});
  const uint64_t out = Output(3);
  Run(R"(ld.global.v2.f32 {%r0, %r1}, [%rd0];
         sub.f32 %r2, %r0, %r1;
         mul.f32 %r3, %r2, 0f3FB8AA3B;      // log2 e
         ex2.approx.f32 %r4, %r3;
         st.global.f32 [%rd1], %r4;
         neg.f32 %r5, %r0;
         mul.f32 %r5, %r5, 0f3FB8AA3B;
         ex2.approx.f32 %r5, %r5;
         add.f32 %r5, %r5, 0f3F800000;
         rcp.approx.f32 %r5, %r5;
         st.global.f32 [%rd1+4], %r5;
         tanh.approx.f32 %r6, %r0;
         st.global.f32 [%rd1+8], %r6;)",
      {x, out});
  ExpectEqual(At(out, 0), Exp(In(0)) / Exp(In(1)));
  ExpectDifferent(At(out, 0), Exp(In(0)) * Exp(In(1)));
  ExpectEqual(At(out, 1), Sigmoid(In(0)));
  ExpectEqual(At(out, 2), Tanh(In(0)));
}

TEST_F(ShadowTest, SignsByBits) {
  const uint64_t x = Floats({-2.5f});
  const uint64_t out = Output(4);
  Run(R"(ld.global.b32 %r0, [%rd0];
         and.b32 %r1, %r0, 2147483647;
         st.global.b32 [%rd1], %r1;
         xor.b32 %r2, %r0, 2147483648;
         st.global.b32 [%rd1+4], %r2;
         or.b32 %r3, %r1, 2147483648;
         st.global.b32 [%rd1+8], %r3;
         add.s32 %r4, %r0, 1;               // the next float: no rule knows it
         st.global.b32 [%rd1+12], %r4;)",
      {x, out});
  ExpectEqual(At(out, 0), -In(0));
  ExpectEqual(At(out, 1), -In(0));
  ExpectEqual(At(out, 2), In(0));
  const Comparison trick = CompareValues(At(out, 3), In(0));
  EXPECT_EQ(trick.equality, Equality::kInconclusive);
  EXPECT_TRUE(trick.reason & kBitTrick);
  ASSERT_EQ(observer_.notes().size(), 1u);
  EXPECT_NE(observer_.notes()[0].find("add.s32"), std::string::npos);
}

TEST_F(ShadowTest, IntegersHaveNoShadow) {
  const uint64_t x = Floats({2.0f});
  const uint64_t out = Output(2);
  Run(R"(ld.global.f32 %r0, [%rd0];
         mov.u32 %r1, 6;
         mul.lo.s32 %r1, %r1, 7;
         cvt.rn.f32.s32 %r2, %r1;
         rcp.rn.f32 %r3, %r2;
         mul.f32 %r4, %r0, %r3;             // x/42, exactly
         st.global.f32 [%rd1], %r4;
         cvt.rzi.s32.f32 %r5, %r0;
         cvt.rn.f32.s32 %r6, %r5;
         st.global.f32 [%rd1+4], %r6;)",
      {x, out});
  ExpectEqual(At(out, 0), In(0) / SymbolicInteger(42));
  // x is exactly 2: a jump of truncation, which rounding could have decided.
  EXPECT_TRUE(At(out, 1).s.has(kNearTie));
}

TEST_F(ShadowTest, PackedHalves) {
  const uint64_t x = Halves({1.5f, -2.0f, 0.25f, 4.0f});
  const uint64_t out = Output(3);
  Run(R"(ld.global.b32 %r0, [%rd0];
         ld.global.b32 %r1, [%rd0+4];
         fma.rn.f16x2 %r2, %r0, %r1, %r0;
         mov.b32 {%h0, %h1}, %r2;
         cvt.f32.f16 %r3, %h0;
         cvt.f32.f16 %r4, %h1;
         st.global.f32 [%rd1], %r3;
         st.global.f32 [%rd1+4], %r4;
         prmt.b32 %r5, %r0, %r1, 0x7610;    // low of the first, high of the second
         cvt.rn.f16x2.f32 %r6, %r3, %r4;    // packed anew, the first above
         add.rn.f16x2 %r5, %r5, %r6;
         shr.u32 %r7, %r5, 16;
         cvt.u16.u32 %h2, %r7;
         cvt.f32.f16 %r8, %h2;
         st.global.f32 [%rd1+8], %r8;)",
      {x, out});
  const Symbolic low = In(0) * In(2) + In(0);
  const Symbolic high = In(1) * In(3) + In(1);
  ExpectEqual(At(out, 0), low);
  ExpectEqual(At(out, 1), high);
  ExpectEqual(At(out, 2), In(3) + low);
  ExpectDifferent(At(out, 2), In(1) + low);
}

TEST_F(ShadowTest, BytesOfFloatsAreNoConstants) {
  const uint64_t x = Floats({1.5f, 2.5f});
  const uint64_t out = Output(2);
  Run(R"(ld.global.u8 %r0, [%rd0+3];
         ld.global.u8 %r1, [%rd0+2];
         prmt.b32 %r2, %r1, %r0, 0x4044;    // put together by hand
         shl.b32 %r3, %r0, 24;
         st.global.b32 [%rd1], %r2;
         ld.global.b32 %r4, [%rd0+4];
         st.global.u8 [%rd1+4], %r4;
         ld.global.f32 %r5, [%rd1+4];
         add.f32 %r5, %r5, 0f3F800000;
         st.global.f32 [%rd1+4], %r5;)",
      {x, out});
  EXPECT_EQ(CompareValues(At(out, 0), In(0)).equality, Equality::kInconclusive);
  EXPECT_EQ(CompareValues(At(out, 1), In(1) + C(1)).equality, Equality::kInconclusive);
}

TEST_F(ShadowTest, Bfloat16ByShifts) {
  const uint64_t x = Floats({1.5f});
  const uint64_t out = Output(1);
  Run(R"(ld.global.f32 %r0, [%rd0];
         cvt.rn.bf16.f32 %h0, %r0;
         cvt.u32.u16 %r1, %h0;
         shl.b32 %r1, %r1, 16;              // a bfloat16 is the upper half of a float32
         add.f32 %r2, %r1, %r0;
         st.global.f32 [%rd1], %r2;)",
      {x, out});
  ExpectEqual(At(out, 0), In(0) + In(0));
}

TEST_F(ShadowTest, WarpSumByShuffles) {
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) values.push_back(0.125f * static_cast<float>(i + 1));
  const uint64_t x = Floats(values);
  const uint64_t out = Output(1);
  Run(R"(mov.u32 %r0, %tid.x;
         mul.wide.u32 %rd2, %r0, 4;
         add.s64 %rd3, %rd0, %rd2;
         ld.global.f32 %r1, [%rd3];
         shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
         add.f32 %r1, %r1, %r2;
         shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1;
         add.f32 %r1, %r1, %r2;
         shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1;
         add.f32 %r1, %r1, %r2;
         shfl.sync.down.b32 %r2, %r1, 2, 31, -1;
         add.f32 %r1, %r1, %r2;
         shfl.sync.idx.b32 %r2, %r1, 1, 31, -1;
         add.f32 %r1, %r1, %r2;
         setp.ne.s32 %p0, %r0, 0;
         @%p0 bra DONE;
         st.global.f32 [%rd1], %r1;
         DONE:)",
      {x, out}, 32);
  Symbolic sum = In(0);
  for (size_t i = 1; i < 31; ++i) sum = sum + In(i);
  ExpectDifferent(At(out, 0), sum);  // one term short
  ExpectEqual(At(out, 0), sum + In(31));
}

TEST_F(ShadowTest, SharedMemoryAndCallsAndLocalMemory) {
  const uint64_t x = Floats({3.0f, 5.0f});
  const uint64_t out = Output(1);
  Run(R"(ld.global.v2.b32 {%r0, %r1}, [%rd0];
         st.shared.v2.b32 [s], {%r0, %r1};
         ld.shared.b64 %rd2, [s];           // two floats as one
         st.local.b64 [l], %rd2;
         ld.local.f32 %r2, [l+4];
         { .param .b32 a; .param .b32 r;
           st.param.f32 [a], %r2;
           call.uni (r), twice, (a);
           ld.param.f32 %r3, [r]; }
         ld.local.f32 %r4, [l];
         sub.f32 %r5, %r3, %r4;
         st.global.f32 [%rd1], %r5;)",
      {x, out}, 1,
      ".func (.param .b32 r) twice(.param .b32 a) {\n.reg .b32 %r<4>;\nld.param.f32 %r1, [a];\n"
      "add.f32 %r2, %r1, %r1;\nst.param.f32 [r], %r2;\nret;\n}\n",
      ".shared .align 8 .b8 s[16];\n.local .align 8 .b8 l[16];\n");
  ExpectEqual(At(out, 0), In(1) + In(1) - In(0));
}

TEST_F(ShadowTest, DoublesInTwoWords) {
  const uint64_t x = Floats({1.5f, 2.5f});
  const uint64_t out = Output(1);
  Run(R"(ld.global.f32 %r0, [%rd0];
         ld.global.f32 %r1, [%rd0+4];
         cvt.f64.f32 %rd2, %r0;
         cvt.f64.f32 %rd3, %r1;
         fma.rn.f64 %rd4, %rd2, %rd3, %rd2;
         mov.b64 {%r2, %r3}, %rd4;
         shfl.sync.bfly.b32 %r4, %r2, 0, 31, -1;
         shfl.sync.bfly.b32 %r5, %r3, 0, 31, -1;
         mov.b64 %rd5, {%r4, %r5};
         cvt.rn.f32.f64 %r6, %rd5;
         st.global.f32 [%rd1], %r6;)",
      {x, out});
  ExpectEqual(At(out, 0), In(0) * In(1) + In(0));
}

TEST_F(ShadowTest, Atomics) {
  const uint64_t x = Floats({1.0f, 2.0f, 4.0f});
  const uint64_t out = Output(3);
  Run(R"(ld.global.f32 %r0, [%rd0];
         ld.global.f32 %r1, [%rd0+4];
         ld.global.f32 %r2, [%rd0+8];
         red.global.add.f32 [%rd1], %r0;
         atom.global.add.f32 %r3, [%rd1], %r1;
         red.global.add.f32 [%rd1], %r3;
         atom.global.max.s32 %r4, [%rd1+4], %r2;   // positive floats are ordered as integers
         atom.global.max.s32 %r4, [%rd1+4], %r1;
         ld.global.b32 %r5, [%rd1+8];
         LOOP:
         mov.b32 %r6, %r5;
         add.f32 %r7, %r6, %r2;
         atom.global.cas.b32 %r5, [%rd1+8], %r6, %r7;
         setp.ne.s32 %p0, %r5, %r6;
         @%p0 bra LOOP;)",
      {x, out});
  ExpectEqual(At(out, 0), In(0) + In(1) + In(0));
  ExpectEqual(At(out, 1), In(2));
  ExpectEqual(At(out, 2), In(2));
}

TEST_F(ShadowTest, NearTiesTaint) {
  const uint64_t x = Floats({1.0f, 1.00000012f, 3.0f});
  const uint64_t out = Output(3);
  Run(R"(ld.global.f32 %r0, [%rd0];
         ld.global.f32 %r1, [%rd0+4];
         ld.global.f32 %r2, [%rd0+8];
         max.f32 %r3, %r2, %r2;             // the same value: no tie
         st.global.f32 [%rd1], %r3;
         max.f32 %r4, %r0, %r1;
         st.global.f32 [%rd1+4], %r4;
         setp.gt.f32 %p0, %r0, %r1;
         @%p0 mov.b32 %r2, %r0;
         st.global.f32 [%rd1+8], %r2;)",
      {x, out});
  ExpectEqual(At(out, 0), In(2));
  EXPECT_TRUE(At(out, 1).s.has(kNearTie));
  // Not moved, but it might have been.
  EXPECT_TRUE(At(out, 2).s.has(kNearTie));
  EXPECT_EQ(CompareValues(At(out, 2), In(0)).equality, Equality::kInconclusive);
}

TEST_F(ShadowTest, TensorCoreProduct) {
  std::vector<float> a, b;
  for (int i = 0; i < 256; ++i) {
    a.push_back(0.25f * static_cast<float>(i % 7 - 3));
    b.push_back(0.5f * static_cast<float>(i % 5 - 2));
  }
  const uint64_t left = Halves(a);
  const uint64_t right = Halves(b);
  const uint64_t out = Output(256);
  Run(R"(mov.u32 %r0, 16;
         wmma.load.a.sync.aligned.row.m16n16k16.global.f16
           {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd0], %r0;
         wmma.load.b.sync.aligned.row.m16n16k16.global.f16
           {%r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18}, [%rd1], %r0;
         mov.b32 %r20, 0f00000000;
         wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32
           {%r21, %r22, %r23, %r24, %r25, %r26, %r27, %r28},
           {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8},
           {%r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18},
           {%r20, %r20, %r20, %r20, %r20, %r20, %r20, %r20};
         wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2],
           {%r21, %r22, %r23, %r24, %r25, %r26, %r27, %r28}, %r0;)",
      {left, right, out}, 32);
  for (const auto& [row, column] : {std::pair<size_t, size_t>{0, 0}, {3, 5}, {15, 14}, {8, 1}}) {
    Symbolic sum = SymbolicInteger(0);
    for (size_t k = 0; k < 15; ++k) sum = sum + In(row * 16 + k) * In(256 + k * 16 + column);
    ExpectDifferent(At(out, row * 16 + column), sum);
    sum = sum + In(row * 16 + 15) * In(256 + 15 * 16 + column);
    ExpectEqual(At(out, row * 16 + column), sum);
  }
}

}  // namespace
}  // namespace kernelsmith
