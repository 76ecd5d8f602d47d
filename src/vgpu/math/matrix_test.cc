#include "vgpu/math/matrix.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "vgpu/math/minifloat.h"

namespace kernelsmith::vgpu::math {
namespace {

using enum MmaType;

// Registers of one fragment, all lanes, as 64-bit slots so that f64 fits.
struct Registers {
  explicit Registers(const Fragment& fragment) : fragment(fragment) {
    words.resize(static_cast<size_t>(fragment.registers));
    for (auto& lanes : words) {
      lanes.fill(0);
      pointers.push_back(lanes.data());
      const_pointers.push_back(lanes.data());
    }
  }
  uint64_t Get(int index, int lane) const {
    const int reg = index / fragment.per_register;
    const int shift = index % fragment.per_register * fragment.bits;
    if (fragment.register_bits == 64)
      return words[static_cast<size_t>(reg)][static_cast<size_t>(lane)];
    const auto* lanes = reinterpret_cast<const uint32_t*>(words[static_cast<size_t>(reg)].data());
    const uint64_t mask = (uint64_t{1} << fragment.bits) - 1;
    return lanes[lane] >> shift & mask;
  }
  void Set(int index, int lane, uint64_t value) {
    const int reg = index / fragment.per_register;
    const int shift = index % fragment.per_register * fragment.bits;
    if (fragment.register_bits == 64) {
      words[static_cast<size_t>(reg)][static_cast<size_t>(lane)] = value;
      return;
    }
    auto* lanes = reinterpret_cast<uint32_t*>(words[static_cast<size_t>(reg)].data());
    lanes[lane] |= static_cast<uint32_t>(value << shift);
  }
  const Fragment& fragment;
  std::vector<std::array<uint64_t, 32>> words;
  std::vector<void*> pointers;
  std::vector<const void*> const_pointers;
};

// Small integers that every type holds exactly, so that any order of summation gives the same
// result.
int Draw(std::mt19937_64& random, MmaType type) {
  switch (type) {
    case kB1:
      return static_cast<int>(random() % 2);
    case kU4:
      return static_cast<int>(random() % 16);
    case kU8:
      return static_cast<int>(random() % 256);
    case kS4:
      return static_cast<int>(random() % 16) - 8;
    case kS8:
      return static_cast<int>(random() % 256) - 128;
    case kE4M3:
    case kE5M2:
      return static_cast<int>(random() % 9) - 4;
    default:
      return static_cast<int>(random() % 17) - 8;
  }
}

uint64_t Encode(int value, MmaType type) {
  const auto f = static_cast<float>(value);
  switch (type) {
    case kF16:
      return F16FromF32(f).bits;
    case kBF16:
      return BF16FromF32(f).bits;
    case kTF32:
    case kF32:
      return Bits<uint32_t>(f);
    case kF64:
      return Bits<uint64_t>(static_cast<double>(value));
    case kE4M3:
      return MiniFromF32<E4M3>(f);
    case kE5M2:
      return MiniFromF32<E5M2>(f);
    case kS8:
    case kU8:
      return static_cast<uint8_t>(value);
    case kS4:
    case kU4:
      return static_cast<uint64_t>(value) & 0xf;
    case kB1:
    case kS32:
      return static_cast<uint32_t>(value);
  }
  return 0;
}

using Logical = std::vector<std::vector<int>>;

Logical RandomMatrix(std::mt19937_64& random, int rows, int cols, MmaType type) {
  Logical m(static_cast<size_t>(rows), std::vector<int>(static_cast<size_t>(cols)));
  for (auto& row : m) {
    for (int& x : row) x = Draw(random, type);
  }
  return m;
}

void Fill(const Logical& m, MmaType type, Registers& registers) {
  const Fragment& f = registers.fragment;
  for (int index = 0; index < f.elements(); ++index) {
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = static_cast<size_t>(index * 32 + lane);
      registers.Set(index, lane, Encode(m[f.row[at]][f.col[at]], type));
    }
  }
}

void CheckProduct(const MmaSpec& spec) {
  const MmaPlan* plan = MmaPlan::Find(spec);
  ASSERT_NE(plan, nullptr) << spec.m << 'x' << spec.n << 'x' << spec.k;
  ASSERT_EQ(plan, MmaPlan::Find(spec));
  std::mt19937_64 random(7);
  const Logical a = RandomMatrix(random, spec.m, spec.k, spec.a);
  const Logical b = RandomMatrix(random, spec.k, spec.n, spec.b);
  const Logical c = RandomMatrix(random, spec.m, spec.n, spec.c);
  Registers ra(plan->fragment(MmaRole::kA));
  Registers rb(plan->fragment(MmaRole::kB));
  Registers rc(plan->fragment(MmaRole::kC));
  Registers rd(plan->fragment(MmaRole::kD));
  Fill(a, spec.a, ra);
  Fill(b, spec.b, rb);
  Fill(c, spec.c, rc);
  plan->Run(ra.const_pointers.data(), rb.const_pointers.data(), rc.const_pointers.data(),
            rd.pointers.data());
  const Fragment& f = plan->fragment(MmaRole::kD);
  std::set<std::pair<int, int>> seen;
  for (int index = 0; index < f.elements(); ++index) {
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = static_cast<size_t>(index * 32 + lane);
      const int row = f.row[at];
      const int col = f.col[at];
      seen.insert({row, col});
      int expected = c[static_cast<size_t>(row)][static_cast<size_t>(col)];
      for (size_t k = 0; k < static_cast<size_t>(spec.k); ++k) {
        const int x = a[static_cast<size_t>(row)][k];
        const int y = b[k][static_cast<size_t>(col)];
        expected += spec.bit_op == MmaBitOp::kXorPopc ? x ^ y : x * y;
      }
      ASSERT_EQ(rd.Get(index, lane), Encode(expected, spec.d)) << row << ' ' << col;
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(spec.m * spec.n));
}

TEST(Mma, EveryShapeMultiplies) {
  for (const MmaType acc : {kF16, kF32}) {
    for (const MmaType out : {kF16, kF32}) {
      CheckProduct({.m = 16, .n = 8, .k = 8, .a = kF16, .b = kF16, .c = acc, .d = out});
      CheckProduct({.m = 16, .n = 8, .k = 16, .a = kF16, .b = kF16, .c = acc, .d = out});
    }
  }
  for (const int k : {8, 16}) {
    CheckProduct({.m = 16, .n = 8, .k = k, .a = kBF16, .b = kBF16, .c = kF32, .d = kF32});
  }
  for (const int k : {4, 8}) {
    CheckProduct({.m = 16, .n = 8, .k = k, .a = kTF32, .b = kTF32, .c = kF32, .d = kF32});
  }
  for (const int k : {4, 8, 16}) {
    CheckProduct({.m = 16, .n = 8, .k = k, .a = kF64, .b = kF64, .c = kF64, .d = kF64});
  }
  CheckProduct({.m = 8, .n = 8, .k = 4, .a = kF64, .b = kF64, .c = kF64, .d = kF64});
  for (const MmaType a : {kS8, kU8}) {
    for (const MmaType b : {kS8, kU8}) {
      CheckProduct({.m = 8, .n = 8, .k = 16, .a = a, .b = b, .c = kS32, .d = kS32});
      CheckProduct({.m = 16, .n = 8, .k = 16, .a = a, .b = b, .c = kS32, .d = kS32});
      CheckProduct({.m = 16, .n = 8, .k = 32, .a = a, .b = b, .c = kS32, .d = kS32});
    }
  }
  for (const MmaType a : {kS4, kU4}) {
    CheckProduct({.m = 8, .n = 8, .k = 32, .a = a, .b = kS4, .c = kS32, .d = kS32});
    CheckProduct({.m = 16, .n = 8, .k = 32, .a = a, .b = kU4, .c = kS32, .d = kS32});
    CheckProduct({.m = 16, .n = 8, .k = 64, .a = a, .b = kS4, .c = kS32, .d = kS32});
  }
  for (const MmaBitOp op : {MmaBitOp::kXorPopc, MmaBitOp::kAndPopc}) {
    CheckProduct(
        {.m = 8, .n = 8, .k = 128, .a = kB1, .b = kB1, .c = kS32, .d = kS32, .bit_op = op});
    CheckProduct(
        {.m = 16, .n = 8, .k = 128, .a = kB1, .b = kB1, .c = kS32, .d = kS32, .bit_op = op});
    CheckProduct(
        {.m = 16, .n = 8, .k = 256, .a = kB1, .b = kB1, .c = kS32, .d = kS32, .bit_op = op});
  }
  CheckProduct({.m = 16, .n = 8, .k = 32, .a = kE4M3, .b = kE5M2, .c = kF32, .d = kF32});
  CheckProduct({.m = 16, .n = 8, .k = 16, .a = kE5M2, .b = kE4M3, .c = kF16, .d = kF16});
}

TEST(Mma, EveryWmmaShapeMultiplies) {
  const int shapes[][3] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
  for (const auto& s : shapes) {
    for (const MmaType c : {kF16, kF32}) {
      for (const MmaType d : {kF16, kF32}) {
        CheckProduct(
            {.wmma = true, .m = s[0], .n = s[1], .k = s[2], .a = kF16, .b = kF16, .c = c, .d = d});
      }
    }
    CheckProduct({.wmma = true,
                  .m = s[0],
                  .n = s[1],
                  .k = s[2],
                  .a = kBF16,
                  .b = kBF16,
                  .c = kF32,
                  .d = kF32});
    CheckProduct(
        {.wmma = true, .m = s[0], .n = s[1], .k = s[2], .a = kS8, .b = kS8, .c = kS32, .d = kS32});
    CheckProduct(
        {.wmma = true, .m = s[0], .n = s[1], .k = s[2], .a = kU8, .b = kU8, .c = kS32, .d = kS32});
  }
  CheckProduct(
      {.wmma = true, .m = 16, .n = 16, .k = 8, .a = kTF32, .b = kTF32, .c = kF32, .d = kF32});
  CheckProduct({.wmma = true, .m = 8, .n = 8, .k = 4, .a = kF64, .b = kF64, .c = kF64, .d = kF64});
  CheckProduct({.wmma = true, .m = 8, .n = 8, .k = 32, .a = kS4, .b = kS4, .c = kS32, .d = kS32});
  CheckProduct({.wmma = true,
                .m = 8,
                .n = 8,
                .k = 128,
                .a = kB1,
                .b = kB1,
                .c = kS32,
                .d = kS32,
                .bit_op = MmaBitOp::kXorPopc});
}

TEST(Mma, WmmaRegisterCountsAreTheIsas) {
  const auto count = [](MmaRole role, int m, int n, int k, MmaType type) {
    const Fragment* f = FindWmmaFragment(role, m, n, k, type);
    return f == nullptr ? -1 : f->registers;
  };
  for (const auto& [m, n] : {std::pair{16, 16}, {32, 8}, {8, 32}}) {
    EXPECT_EQ(count(MmaRole::kA, m, n, 16, kF16), 8);
    EXPECT_EQ(count(MmaRole::kB, m, n, 16, kF16), 8);
    EXPECT_EQ(count(MmaRole::kC, m, n, 16, kF16), 4);
    EXPECT_EQ(count(MmaRole::kD, m, n, 16, kF32), 8);
    EXPECT_EQ(count(MmaRole::kC, m, n, 16, kS32), 8);
  }
  EXPECT_EQ(count(MmaRole::kA, 16, 16, 16, kBF16), 4);
  EXPECT_EQ(count(MmaRole::kA, 32, 8, 16, kBF16), 8);
  EXPECT_EQ(count(MmaRole::kB, 32, 8, 16, kBF16), 2);
  EXPECT_EQ(count(MmaRole::kA, 8, 32, 16, kBF16), 2);
  EXPECT_EQ(count(MmaRole::kB, 8, 32, 16, kBF16), 8);
  EXPECT_EQ(count(MmaRole::kA, 16, 16, 16, kU8), 2);
  EXPECT_EQ(count(MmaRole::kA, 32, 8, 16, kS8), 4);
  EXPECT_EQ(count(MmaRole::kB, 32, 8, 16, kS8), 1);
  EXPECT_EQ(count(MmaRole::kB, 8, 32, 16, kS8), 4);
  EXPECT_EQ(count(MmaRole::kA, 16, 16, 8, kTF32), 4);
  EXPECT_EQ(count(MmaRole::kB, 16, 16, 8, kTF32), 4);
  EXPECT_EQ(count(MmaRole::kC, 16, 16, 8, kF32), 8);
  EXPECT_EQ(count(MmaRole::kA, 8, 8, 4, kF64), 1);
  EXPECT_EQ(count(MmaRole::kC, 8, 8, 4, kF64), 2);
  EXPECT_EQ(count(MmaRole::kA, 8, 8, 32, kS4), 1);
  EXPECT_EQ(count(MmaRole::kC, 8, 8, 32, kS32), 2);
  EXPECT_EQ(count(MmaRole::kA, 8, 8, 128, kB1), 1);
  EXPECT_EQ(count(MmaRole::kA, 16, 16, 4, kF16), -1);
}

// The layouts as the ISA's formulas give them.
struct Expected {
  int row;
  int col;
};
void CheckLayout(const MmaSpec& spec, MmaRole role, int elements,
                 const std::function<Expected(int group, int thread, int i)>& formula) {
  const MmaPlan* plan = MmaPlan::Find(spec);
  ASSERT_NE(plan, nullptr);
  const Fragment& f = plan->fragment(role);
  ASSERT_EQ(f.elements(), elements);
  for (int i = 0; i < elements; ++i) {
    for (int lane = 0; lane < 32; ++lane) {
      const Expected e = formula(lane >> 2, lane % 4, i);
      const auto at = static_cast<size_t>(i * 32 + lane);
      ASSERT_EQ(f.row[at], e.row) << lane << ' ' << i;
      ASSERT_EQ(f.col[at], e.col) << lane << ' ' << i;
    }
  }
}

TEST(Mma, LayoutsOfTheIsa) {
  const MmaSpec f16{.m = 16, .n = 8, .k = 16, .a = kF16, .b = kF16, .c = kF32, .d = kF32};
  CheckLayout(f16, MmaRole::kA, 8, [](int g, int t, int i) -> Expected {
    const bool upper = (i >= 0 && i < 2) || (i >= 4 && i < 6);
    return {upper ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  });
  CheckLayout(f16, MmaRole::kB, 4, [](int g, int t, int i) -> Expected {
    return {t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g};
  });
  CheckLayout(f16, MmaRole::kC, 4,
              [](int g, int t, int i) -> Expected { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; });
  const MmaSpec tf32{.m = 16, .n = 8, .k = 8, .a = kTF32, .b = kTF32, .c = kF32, .d = kF32};
  CheckLayout(tf32, MmaRole::kA, 4, [](int g, int t, int i) -> Expected {
    return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
  });
  CheckLayout(tf32, MmaRole::kB, 2,
              [](int g, int t, int i) -> Expected { return {i == 0 ? t : t + 4, g}; });
  const MmaSpec s8{.m = 16, .n = 8, .k = 32, .a = kS8, .b = kS8, .c = kS32, .d = kS32};
  CheckLayout(s8, MmaRole::kA, 16, [](int g, int t, int i) -> Expected {
    const bool upper = (i >= 0 && i < 4) || (i >= 8 && i < 12);
    return {upper ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  });
  CheckLayout(s8, MmaRole::kB, 8, [](int g, int t, int i) -> Expected {
    return {t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g};
  });
  const MmaSpec s4{.m = 16, .n = 8, .k = 64, .a = kS4, .b = kS4, .c = kS32, .d = kS32};
  CheckLayout(s4, MmaRole::kA, 32, [](int g, int t, int i) -> Expected {
    const bool upper = i < 8 || (i >= 16 && i < 24);
    return {upper ? g : g + 8, t * 8 + (i & 7) + (i >= 16 ? 32 : 0)};
  });
  const MmaSpec f64{.m = 16, .n = 8, .k = 16, .a = kF64, .b = kF64, .c = kF64, .d = kF64};
  CheckLayout(f64, MmaRole::kA, 8, [](int g, int t, int i) -> Expected {
    return {i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t};
  });
  CheckLayout(f64, MmaRole::kB, 4, [](int g, int t, int i) -> Expected { return {t + i * 4, g}; });
  const MmaSpec small{.m = 8, .n = 8, .k = 16, .a = kS8, .b = kS8, .c = kS32, .d = kS32};
  CheckLayout(small, MmaRole::kA, 4,
              [](int g, int t, int i) -> Expected { return {g, t * 4 + i}; });
  CheckLayout(small, MmaRole::kC, 2,
              [](int g, int t, int i) -> Expected { return {g, t * 2 + i}; });
}

// m8n8k4: four 8x8x4 products of quad pairs, in all four layouts.
TEST(Mma, VoltaQuadPairs) {
  std::mt19937_64 random(9);
  for (int layout = 0; layout < 4; ++layout) {
    for (const MmaType out : {kF16, kF32}) {
      const MmaSpec spec{.m = 8,
                         .n = 8,
                         .k = 4,
                         .a = kF16,
                         .b = kF16,
                         .c = kF32,
                         .d = out,
                         .a_row_major = (layout & 1) != 0,
                         .b_row_major = (layout & 2) != 0};
      const MmaPlan* plan = MmaPlan::Find(spec);
      ASSERT_NE(plan, nullptr);
      ASSERT_EQ(plan->fragment(MmaRole::kA).registers, 2);
      ASSERT_EQ(plan->fragment(MmaRole::kC).registers, 8);
      ASSERT_EQ(plan->fragment(MmaRole::kD).registers, out == kF16 ? 4 : 8);
      Registers ra(plan->fragment(MmaRole::kA));
      Registers rb(plan->fragment(MmaRole::kB));
      Registers rc(plan->fragment(MmaRole::kC));
      Registers rd(plan->fragment(MmaRole::kD));
      int a[4][8][4];
      int b[4][4][8];
      for (int q = 0; q < 4; ++q) {
        for (int i = 0; i < 32; ++i) {
          a[q][i / 4][i % 4] = Draw(random, kF16);
          b[q][i / 8][i % 8] = Draw(random, kF16);
        }
      }
      for (int lane = 0; lane < 32; ++lane) {
        const int q = lane % 16 / 4;
        const int high = lane < 16 ? 0 : 4;
        for (int i = 0; i < 4; ++i) {
          ra.Set(
              i, lane,
              Encode(spec.a_row_major ? a[q][lane % 4 + high][i] : a[q][i + high][lane % 4], kF16));
          rb.Set(
              i, lane,
              Encode(spec.b_row_major ? b[q][lane % 4][i + high] : b[q][i][lane % 4 + high], kF16));
        }
        for (int i = 0; i < 8; ++i) rc.Set(i, lane, Encode(100, kF32));
      }
      plan->Run(ra.const_pointers.data(), rb.const_pointers.data(), rc.const_pointers.data(),
                rd.pointers.data());
      for (int lane = 0; lane < 32; ++lane) {
        const int q = lane % 16 / 4;
        const int high = lane < 16 ? 0 : 4;
        for (int i = 0; i < 8; ++i) {
          const int row = out == kF16 ? lane % 4 + high : (lane & 1) + (i & 2) + high;
          const int col = out == kF16 ? i : (i & 4) + (lane & 2) + (i & 1);
          int expected = 100;
          for (int k = 0; k < 4; ++k) expected += a[q][row][k] * b[q][k][col];
          ASSERT_EQ(rd.Get(i, lane), Encode(expected, out));
        }
      }
    }
  }
}

TEST(Mma, SaturationTruncationAndNan) {
  const MmaSpec spec{
      .m = 16, .n = 8, .k = 16, .a = kS8, .b = kS8, .c = kS32, .d = kS32, .satfinite = true};
  const MmaPlan* plan = MmaPlan::Find(spec);
  Registers a(plan->fragment(MmaRole::kA));
  Registers b(plan->fragment(MmaRole::kB));
  Registers c(plan->fragment(MmaRole::kC));
  Registers d(plan->fragment(MmaRole::kD));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) a.Set(i, lane, 127);
    for (int i = 0; i < 4; ++i) b.Set(i, lane, 127);
    for (int i = 0; i < 4; ++i) c.Set(i, lane, 0x7fffff00);
  }
  plan->Run(a.const_pointers.data(), b.const_pointers.data(), c.const_pointers.data(),
            d.pointers.data());
  EXPECT_EQ(d.Get(0, 0), 0x7fffffffu);

  const MmaSpec tf32{.m = 16, .n = 8, .k = 4, .a = kTF32, .b = kTF32, .c = kF32, .d = kF32};
  plan = MmaPlan::Find(tf32);
  Registers ta(plan->fragment(MmaRole::kA));
  Registers tb(plan->fragment(MmaRole::kB));
  Registers tc(plan->fragment(MmaRole::kC));
  Registers td(plan->fragment(MmaRole::kD));
  for (int lane = 0; lane < 32; ++lane) {
    ta.Set(0, lane, 0x3f801fff);  // 1 and bits below tf32
    ta.Set(1, lane, Bits<uint32_t>(std::nanf("")));
    tb.Set(0, lane, Bits<uint32_t>(1.0f));
  }
  plan->Run(ta.const_pointers.data(), tb.const_pointers.data(), tc.const_pointers.data(),
            td.pointers.data());
  EXPECT_EQ(Bits<float>(static_cast<uint32_t>(td.Get(0, 0))), 4.0f);
  EXPECT_EQ(td.Get(2, 0), kF32Nan);
}

// Rounded after every product, in ascending k: 2^24 + 1 is 2^24 again, and a difference of ones
// before it is not lost.
TEST(Mma, SumsAreChainsOfFloats) {
  for (const bool first : {false, true}) {
    const MmaSpec spec{.m = 16, .n = 8, .k = 8, .a = kTF32, .b = kTF32, .c = kF32, .d = kF32};
    const MmaPlan* plan = MmaPlan::Find(spec);
    Registers a(plan->fragment(MmaRole::kA));
    Registers b(plan->fragment(MmaRole::kB));
    Registers c(plan->fragment(MmaRole::kC));
    Registers d(plan->fragment(MmaRole::kD));
    const Fragment& fa = plan->fragment(MmaRole::kA);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int k = fa.col[static_cast<size_t>(i * 32 + lane)];
        // 2^24 first or last, ones elsewhere.
        const float value = k == (first ? 0 : 7) ? 16777216.0f : 1.0f;
        a.Set(i, lane, Bits<uint32_t>(value));
      }
      for (int i = 0; i < 2; ++i) b.Set(i, lane, Bits<uint32_t>(1.0f));
    }
    plan->Run(a.const_pointers.data(), b.const_pointers.data(), c.const_pointers.data(),
              d.pointers.data());
    const float expected = first ? 16777216.0f : 16777224.0f;  // 7 + 2^24 is rounded to even
    EXPECT_EQ(Bits<float>(static_cast<uint32_t>(d.Get(0, 0))), expected);
  }
}

TEST(Mma, AProductIsAddedWithOneRounding) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2'000'000; ++i) {
    const auto word = [&](uint32_t mask) { return static_cast<uint32_t>(random()) & mask; };
    const float a = Bits<float>(word(0xffffe000u));
    const float b = Bits<float>(word(0xffffe000u));
    float c = Bits<float>(word(~0u));
    // Near the product, too: what is rounded lies there.
    if (i % 2 == 0) c = std::ldexp(a * b, static_cast<int>(random() % 60) - 30);
    const float sum = AddProduct(double{a}, double{b}, c);
    const float expected = std::fma(a, b, c);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(sum));
    } else {
      ASSERT_EQ(Bits<uint32_t>(sum), Bits<uint32_t>(expected)) << a << ' ' << b << ' ' << c;
    }
  }
}

TEST(Mma, UnknownShapes) {
  EXPECT_EQ(MmaPlan::Find({.m = 16, .n = 8, .k = 12, .a = kF16, .b = kF16, .c = kF32, .d = kF32}),
            nullptr);
  EXPECT_EQ(MmaPlan::Find({.m = 16, .n = 8, .k = 16, .a = kF16, .b = kBF16, .c = kF32, .d = kF32}),
            nullptr);
  EXPECT_EQ(MmaPlan::Find({.m = 16, .n = 8, .k = 16, .a = kBF16, .b = kBF16, .c = kF16, .d = kF16}),
            nullptr);
  EXPECT_EQ(MmaPlan::Find({.m = 8, .n = 8, .k = 128, .a = kB1, .b = kB1, .c = kS32, .d = kS32}),
            nullptr);
}

TEST(Matrix, LoadStoreMove) {
  uint16_t rows[32][8];
  for (int i = 0; i < 32; ++i) {
    for (int j = 0; j < 8; ++j) rows[i][j] = static_cast<uint16_t>(i * 8 + j);
  }
  uint32_t registers[4][32];
  uint32_t* pointers[4] = {registers[0], registers[1], registers[2], registers[3]};
  Ldmatrix(rows, 4, false, pointers);
  // Matrix 2 begins at row 16; lane 5 has row 1, columns 2 and 3.
  EXPECT_EQ(registers[2][5], static_cast<uint32_t>((17 * 8 + 3) << 16 | (17 * 8 + 2)));
  Ldmatrix(rows, 4, true, pointers);
  // Transposed: lane 5 has column 1 of rows 2 and 3.
  EXPECT_EQ(registers[2][5], static_cast<uint32_t>((19 * 8 + 1) << 16 | (18 * 8 + 1)));
  uint16_t back[32][8];
  const uint32_t* sources[4] = {registers[0], registers[1], registers[2], registers[3]};
  Stmatrix(sources, 4, true, back);
  EXPECT_EQ(std::memcmp(rows, back, sizeof(rows)), 0);
  Ldmatrix(rows, 1, false, pointers);
  Movmatrix(registers[0], registers[0]);
  EXPECT_EQ(registers[0][5], static_cast<uint32_t>((3 * 8 + 1) << 16 | (2 * 8 + 1)));
}

}  // namespace
}  // namespace kernelsmith::vgpu::math
