#include "compile/x86_instruction.h"

#include <gtest/gtest.h>

#include <string>

namespace kernelsmith {
namespace {

std::string Bytes(std::initializer_list<int> list) {
  std::string bytes;
  for (const int each : list) bytes += static_cast<char>(each);
  return bytes;
}

// The length of the instruction at the beginning, with others behind it; -1: none.
int Length(std::initializer_list<int> list) {
  const auto found = DecodeX86(Bytes(list) + std::string(15, '\x90'));
  return found ? found->length : -1;
}

// Written down by GNU as.
TEST(X86Instruction, LengthsAreTheAssemblers) {
  EXPECT_EQ(Length({0xc3}), 1);                                         // ret
  EXPECT_EQ(Length({0x0f, 0x05}), 2);                                   // syscall
  EXPECT_EQ(Length({0xcd, 0x80}), 2);                                   // int $0x80
  EXPECT_EQ(Length({0x48, 0x89, 0xe5}), 3);                             // mov %rsp,%rbp
  EXPECT_EQ(Length({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}), 10);          // movabs
  EXPECT_EQ(Length({0xb8, 1, 2, 3, 4}), 5);                             // mov $imm32,%eax
  EXPECT_EQ(Length({0x66, 0xb8, 1, 2}), 4);                             // mov $imm16,%ax
  EXPECT_EQ(Length({0x8b, 0x44, 0x24, 0x08}), 4);                       // mov 8(%rsp),%eax
  EXPECT_EQ(Length({0x8b, 0x04, 0x25, 1, 2, 3, 4}), 7);                 // mov absolute,%eax
  EXPECT_EQ(Length({0x48, 0x8b, 0x05, 1, 2, 3, 4}), 7);                 // mov x(%rip),%rax
  EXPECT_EQ(Length({0xf6, 0x45, 0xff, 0x01}), 4);                       // testb $1,-1(%rbp)
  EXPECT_EQ(Length({0xf7, 0xd8}), 2);                                   // neg %eax
  EXPECT_EQ(Length({0xc7, 0x45, 0xfc, 1, 2, 3, 4}), 7);                 // movl $imm,-4(%rbp)
  EXPECT_EQ(Length({0x66, 0x0f, 0x3a, 0x0a, 0xc1, 0x0b}), 6);           // roundss $11
  EXPECT_EQ(Length({0xc5, 0xf8, 0x77}), 3);                             // vzeroupper
  EXPECT_EQ(Length({0xc5, 0xf9, 0x70, 0xc1, 0x55}), 5);                 // vpshufd $0x55
  EXPECT_EQ(Length({0xc4, 0xe2, 0x79, 0x18, 0x05, 1, 2, 3, 4}), 9);     // vbroadcastss x(%rip)
  EXPECT_EQ(Length({0x62, 0xf1, 0x7c, 0x48, 0x28, 0x44, 0x24, 1}), 8);  // vmovaps 64(%rsp),%zmm0
  EXPECT_EQ(Length({0x06}), -1);                                        // not in 64-bit mode
  EXPECT_FALSE(DecodeX86(Bytes({0xb8, 1, 2})).has_value()) << "cut off";
  EXPECT_FALSE(DecodeX86({}).has_value());
}

TEST(X86Instruction, KnowsDistances) {
  const auto call = DecodeX86(Bytes({0xe8, 1, 2, 3, 4}));
  ASSERT_TRUE(call);
  EXPECT_EQ(call->relative_at, 1);
  EXPECT_EQ(call->relative_bytes, 4);
  EXPECT_TRUE(call->jumps);
  // cmpl $7, x(%rip): the distance counts from the end, behind the immediate.
  const auto compare = DecodeX86(Bytes({0x83, 0x3d, 1, 2, 3, 4, 7}));
  ASSERT_TRUE(compare);
  EXPECT_EQ(compare->relative_at, 2);
  EXPECT_FALSE(compare->jumps);
  EXPECT_EQ(compare->length, 7);
  const auto plain = DecodeX86(Bytes({0x8b, 0x80, 1, 2, 3, 4}));  // mov x(%rax),%eax
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->relative_bytes, 0);
}

}  // namespace
}  // namespace kernelsmith
