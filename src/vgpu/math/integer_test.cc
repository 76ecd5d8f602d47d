#include "vgpu/math/integer.h"

#include <gtest/gtest.h>

#include <random>

namespace kernelsmith::vgpu::math {
namespace {

// bfe, bfi and bfind as the ISA writes them, bit by bit.
template <typename T>
T BfeBits(T a, uint32_t b, uint32_t c) {
  using U = Unsigned<T>;
  const uint32_t msb = kWidth<T> - 1;
  const uint32_t pos = b & 0xff;
  const uint32_t len = c & 0xff;
  bool sbit = false;
  if (std::is_signed_v<T> && len != 0)
    sbit = (static_cast<U>(a) >> std::min(pos + len - 1, msb) & 1) != 0;
  U d = 0;
  for (uint32_t i = 0; i <= msb; ++i) {
    const bool bit = i < len && pos + i <= msb ? (static_cast<U>(a) >> (pos + i) & 1) != 0 : sbit;
    d |= static_cast<U>(U{bit} << i);
  }
  return static_cast<T>(d);
}
template <typename T>
T BfiBits(T a, T b, uint32_t c, uint32_t d) {
  const uint32_t msb = kWidth<T> - 1;
  const uint32_t pos = c & 0xff;
  const uint32_t len = d & 0xff;
  T f = b;
  for (uint32_t i = 0; i < len && pos + i <= msb; ++i) {
    f = static_cast<T>((f & ~(T{1} << (pos + i))) | ((a >> i & 1) << (pos + i)));
  }
  return f;
}

TEST(Integer, BitFieldsAsTheIsaWritesThem) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t a = random();
    const uint64_t b = random();
    const auto pos = static_cast<uint32_t>(random() % 4 == 0 ? random() : random() % 70);
    const auto len = static_cast<uint32_t>(random() % 4 == 0 ? random() : random() % 70);
    ASSERT_EQ(Bfe(static_cast<uint32_t>(a), pos, len), BfeBits(static_cast<uint32_t>(a), pos, len));
    ASSERT_EQ(Bfe(static_cast<int32_t>(a), pos, len), BfeBits(static_cast<int32_t>(a), pos, len));
    ASSERT_EQ(Bfe(a, pos, len), BfeBits(a, pos, len));
    ASSERT_EQ(Bfe(static_cast<int64_t>(a), pos, len), BfeBits(static_cast<int64_t>(a), pos, len));
    ASSERT_EQ(Bfi(static_cast<uint32_t>(a), static_cast<uint32_t>(b), pos, len),
              BfiBits(static_cast<uint32_t>(a), static_cast<uint32_t>(b), pos, len));
    ASSERT_EQ(Bfi(a, b, pos, len), BfiBits(a, b, pos, len));
  }
}

TEST(Integer, FindCountReverse) {
  EXPECT_EQ((Bfind<false>(uint32_t{0x00010000})), 16u);
  EXPECT_EQ((Bfind<true>(uint32_t{0x00010000})), 15u);
  EXPECT_EQ((Bfind<false>(uint32_t{0})), 0xffffffffu);
  EXPECT_EQ((Bfind<true>(int32_t{-1})), 0xffffffffu);
  EXPECT_EQ((Bfind<false>(int32_t{-2})), 0u);
  EXPECT_EQ((Bfind<false>(int64_t{1} << 40)), 40u);
  EXPECT_EQ((Bfind<false>(~uint64_t{0})), 63u);
  EXPECT_EQ(Clz(uint32_t{0}), 32u);
  EXPECT_EQ(Clz(uint64_t{1}), 63u);
  EXPECT_EQ(Popc(uint64_t{0xf0f0}), 8u);
  EXPECT_EQ(Brev(uint32_t{0x80000001}), 0x80000001u);
  EXPECT_EQ(Brev(uint32_t{0x0000000d}), 0xb0000000u);
  EXPECT_EQ(Brev(uint64_t{1}), uint64_t{1} << 63);
  EXPECT_EQ(Fns(0b10110, 0, 1), 1u);
  EXPECT_EQ(Fns(0b10110, 0, 3), 4u);
  EXPECT_EQ(Fns(0b10110, 0, 4), 0xffffffffu);
  EXPECT_EQ(Fns(0b10110, 4, -2), 2u);
  EXPECT_EQ(Fns(0b10110, 2, 0), 2u);
  EXPECT_EQ(Fns(0b10110, 3, 0), 0xffffffffu);
  EXPECT_EQ(Fns(~0u, 31, INT32_MIN), 0xffffffffu);
  EXPECT_EQ(Cnot(uint32_t{0}), 1u);
  EXPECT_EQ(Cnot(uint32_t{5}), 0u);
}

TEST(Integer, Prmt) {
  const uint32_t a = 0x33221100;
  const uint32_t b = 0x77665544;
  EXPECT_EQ(PrmtBytes(a, b, 0x3210), a);
  EXPECT_EQ(PrmtBytes(a, b, 0x7654), b);
  EXPECT_EQ(PrmtBytes(a, b, 0x5410), 0x55441100u);
  EXPECT_EQ(PrmtBytes(0x000080ff, 0x0000007f, 0x8c98), 0xff00ffffu);  // signs of bytes 0, 4, 1, 0
  EXPECT_EQ(PrmtBytes<Prmt::kF4e>(a, b, 1), 0x44332211u);
  EXPECT_EQ(PrmtBytes<Prmt::kB4e>(a, b, 0), 0x55667700u);
  EXPECT_EQ(PrmtBytes<Prmt::kB4e>(a, b, 3), 0x00112233u);
  EXPECT_EQ(PrmtBytes<Prmt::kRc8>(a, b, 2), 0x22222222u);
  EXPECT_EQ(PrmtBytes<Prmt::kEcl>(a, b, 1), 0x33221111u);
  EXPECT_EQ(PrmtBytes<Prmt::kEcr>(a, b, 2), 0x22221100u);
}

// The table of the ISA: for each mode and the two low bits of c, which byte goes to d.b3 ... d.b0.
template <Prmt kMode>
void ExpectTable(const char* const (&rows)[4]) {
  for (uint32_t c = 0; c < 0x10000; ++c) {
    uint32_t expected = 0;
    for (int i = 0; i < 4; ++i) {
      const auto from = static_cast<uint32_t>(rows[c & 3][i] - '0');
      expected = expected << 8 | 0x11 * from;
    }
    ASSERT_EQ(PrmtBytes<kMode>(0x33221100, 0x77665544, c), expected) << "c = " << c;
    ASSERT_EQ(PrmtBytes<kMode>(0x33221100, 0x77665544, c | 0xffff0000), expected) << "c = " << c;
  }
}

TEST(Integer, PrmtModesAreTheTableOfTheIsa) {
  ExpectTable<Prmt::kF4e>({"3210", "4321", "5432", "6543"});
  ExpectTable<Prmt::kB4e>({"5670", "6701", "7012", "0123"});
  ExpectTable<Prmt::kRc8>({"0000", "1111", "2222", "3333"});
  ExpectTable<Prmt::kEcl>({"3210", "3211", "3222", "3333"});
  ExpectTable<Prmt::kEcr>({"0000", "1110", "2210", "3210"});
  ExpectTable<Prmt::kRc16>({"1010", "3232", "1010", "3232"});
}

TEST(Integer, PrmtTakesEveryIndexAndSign) {
  const uint64_t bytes = 0x7fe6'd5c4'b3a2'0180;  // of both signs
  for (uint32_t c = 0; c < 0x10000; ++c) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t nibble = c >> (4 * i) & 15;
      const auto byte = static_cast<uint8_t>(bytes >> (8 * (nibble % 8)));
      const uint8_t taken = nibble < 8 ? byte : byte >= 0x80 ? 0xff : 0;
      expected |= static_cast<uint32_t>(taken) << (8 * i);
    }
    ASSERT_EQ(PrmtBytes(static_cast<uint32_t>(bytes), static_cast<uint32_t>(bytes >> 32), c),
              expected);
  }
}

TEST(Integer, Lop3EveryTable) {
  // The table is the function applied to these three constants.
  for (uint32_t table = 0; table < 256; ++table) {
    ASSERT_EQ(Lop3(0xf0, 0xcc, 0xaa, table) & 0xff, table);
  }
}

TEST(Integer, Shifts) {
  EXPECT_EQ(Shl(uint32_t{1}, 31), 0x80000000u);
  EXPECT_EQ(Shl(uint32_t{1}, 32), 0u);
  EXPECT_EQ(Shr(int32_t{-8}, 40), -1);
  EXPECT_EQ(Shr(uint32_t{0x80000000}, 32), 0u);
  EXPECT_EQ(Shr(int64_t{-8}, 1), -4);
  EXPECT_EQ(Shl(uint16_t{1}, 15), 0x8000);
  EXPECT_EQ(ShfLeft<true>(0x12345678, 0x9abcdef0, 8), 0xbcdef012u);
  EXPECT_EQ(ShfRight<true>(0x12345678, 0x9abcdef0, 8), 0xf0123456u);
  EXPECT_EQ(ShfLeft<true>(1, 2, 32), 2u);
  EXPECT_EQ(ShfLeft<false>(1, 2, 99), 1u);
  EXPECT_EQ(ShfRight<false>(1, 2, 32), 2u);
  EXPECT_EQ(ShfRight<true>(1, 2, 32), 1u);
}

TEST(Integer, MultiplyAndDivide) {
  EXPECT_EQ(MulHi(int32_t{-1}, int32_t{1}), -1);
  EXPECT_EQ(MulHi(uint32_t{0xffffffff}, uint32_t{0xffffffff}), 0xfffffffeu);
  EXPECT_EQ(MulHi(~uint64_t{0}, ~uint64_t{0}), 0xfffffffffffffffeu);
  EXPECT_EQ(MulHi(int64_t{-1}, int64_t{-1}), 0);
  EXPECT_EQ(MulWide(int16_t{-300}, int16_t{300}), -90000);
  EXPECT_EQ(MulLo(int16_t{300}, int16_t{300}), static_cast<int16_t>(90000 - 65536));
  EXPECT_EQ(MulLo(uint16_t{0xffff}, uint16_t{0xffff}), 1);
  EXPECT_EQ(MadWide(int32_t{-1}, int32_t{5}, int64_t{3}), -2);
  EXPECT_EQ(Mul24Lo(uint32_t{0xff000002}, uint32_t{3}), 6u);
  EXPECT_EQ(Mul24Lo(int32_t{0x00ffffff}, int32_t{3}), -3);
  EXPECT_EQ(Mul24Hi(uint32_t{0xffffff}, uint32_t{0xffffff}), 0xfffffe00u);  // 0xfffffe000001 >> 16
  EXPECT_EQ(MadHiSat(INT32_MAX, INT32_MAX, INT32_MAX), INT32_MAX);
  EXPECT_EQ(AddSat(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(SubSat(INT32_MAX, -1), INT32_MAX);
  EXPECT_EQ(Sad(int32_t{-5}, int32_t{7}, int32_t{100}), 112);
  EXPECT_EQ(Sad(uint32_t{3}, uint32_t{0xffffffff}, uint32_t{1}), 0xfffffffdu);
  EXPECT_EQ(DivInt(int32_t{-7}, int32_t{2}), -3);
  EXPECT_EQ(RemInt(int32_t{-7}, int32_t{2}), -1);
  EXPECT_EQ(DivInt(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(RemInt(INT32_MIN, -1), 0);
  EXPECT_EQ(DivInt(uint32_t{7}, uint32_t{0}), 0xffffffffu);
  EXPECT_EQ(DivInt(int64_t{7}, int64_t{0}), -1);
  EXPECT_EQ(AbsInt(INT32_MIN), INT32_MIN);
  EXPECT_EQ(AbsInt(int16_t{-4}), 4);
}

TEST(Integer, CarryChains) {
  const auto low = AddCarry(uint32_t{0xffffffff}, uint32_t{1});
  EXPECT_EQ(low.value, 0u);
  EXPECT_TRUE(low.carry);
  EXPECT_EQ(AddCarry(uint32_t{1}, uint32_t{2}, true).value, 4u);
  EXPECT_TRUE(AddCarry(uint32_t{0xffffffff}, uint32_t{0}, true).carry);
  EXPECT_TRUE(AddCarry(uint64_t{1} << 63, uint64_t{1} << 63).carry);
  const auto borrow = SubBorrow(uint32_t{0}, uint32_t{1});
  EXPECT_EQ(borrow.value, 0xffffffffu);
  EXPECT_TRUE(borrow.carry);
  EXPECT_TRUE(SubBorrow(uint32_t{5}, uint32_t{5}, true).carry);
  EXPECT_TRUE(SubBorrow(uint32_t{5}, uint32_t{0xffffffff}, true).carry);
  EXPECT_FALSE(SubBorrow(uint64_t{6}, uint64_t{5}, true).carry);
  EXPECT_EQ(MadHiCarry(uint32_t{0x80000000}, uint32_t{4}, uint32_t{0xffffffff}, true).value, 2u);
  EXPECT_TRUE(MadLoCarry(uint32_t{0xffffffff}, uint32_t{1}, uint32_t{1}).carry);
  EXPECT_TRUE(AddCarry(int32_t{-1}, int32_t{1}).carry);
}

TEST(Integer, MasksAndDotProducts) {
  EXPECT_EQ((Szext<false>(uint32_t{0xffffffff}, 8)), 0xffu);
  EXPECT_EQ((Szext<false>(int32_t{0x80}, 8)), -128);
  EXPECT_EQ((Szext<false>(int32_t{0x12345678}, 40)), 0x12345678);
  EXPECT_EQ((Szext<true>(int32_t{0xff}, 40)), -1);
  EXPECT_EQ((Szext<true>(uint32_t{0xff}, 32)), 0u);
  EXPECT_EQ(Bmsk<false>(4, 8), 0xff0u);
  EXPECT_EQ(Bmsk<false>(28, 8), 0xf0000000u);
  EXPECT_EQ(Bmsk<false>(32, 8), 0u);
  EXPECT_EQ(Bmsk<false>(0, 32), 0xffffffffu);
  EXPECT_EQ(Bmsk<true>(36, 33), 0x10u);
  EXPECT_EQ((Dp4a<int32_t, int32_t>(0xff020304, 0x01010101, 10)), 18u);
  EXPECT_EQ((Dp4a<uint32_t, uint32_t>(0xff020304, 0x01010101, 10)), 274u);
  EXPECT_EQ((Dp4a<uint32_t, int32_t>(0xff000000, 0xff000000, 0)), static_cast<uint32_t>(-255));
  EXPECT_EQ((Dp2a<int32_t, int32_t, false>(0xffff0002, 0x05060304, 1)), 6u);  // 2*4 - 3 + 1
  EXPECT_EQ((Dp2a<int32_t, int32_t, true>(0xffff0002, 0x05060304, 1)), 8u);   // 2*6 - 5 + 1
  EXPECT_EQ((MinX2<int16_t, true>(0xffff0005, 0x00010007)), 0x00000005u);
  EXPECT_EQ((MaxX2<uint16_t>(0xffff0005, 0x00010007)), 0xffff0007u);
  EXPECT_EQ((AddX2<uint16_t>(0xffffffff, 0x00010001)), 0u);
}

}  // namespace
}  // namespace kernelsmith::vgpu::math
