#include "checkers/pointer_origins.h"

#include <gtest/gtest.h>

#include "ptx/ptx.h"

namespace kernelsmith::checkers {
namespace {

// What the address of the last access in `body` was made from: the name of a shared array or of a
// parameter, "number" or "unknown".
std::string OriginOf(const std::string& body) {
  const Result<ptx::Module> module = ptx::Parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.shared .b32 a[32]; .shared .b32 b[32];\n"
      ".func (.param .b32 r) f(.param .b32 x) { ret; }\n"
      ".entry k(.param .u64 x, .param .u64 y, .param .u32 n) {\n"
      ".reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>; .param .b32 in, out;\n"
      "ld.param.u32 %r8, [n];\n" +
          body + "\nret;\n}",
      "k.ptx");
  if (!module.ok()) return module.error().message();
  const ptx::Function& function = *module->FindFunction("k");
  const PointerOrigins origins(*module, function);
  const PointerOrigin origin = origins.OfAddress(function.instructions.end()[-2]);
  switch (origin.kind) {
    case PointerOrigin::Kind::kShared:
      return SharedVariable(*module, function, origin.symbol)->name;
    case PointerOrigin::Kind::kParameter:
      return function.parameters[origin.symbol.index].name;
    case PointerOrigin::Kind::kUnknown:
      return "unknown";
    default:
      return "number";
  }
}

TEST(PointerOrigins, FollowsAddressesAndIndices) {
  EXPECT_EQ(OriginOf("ld.shared.u32 %r0, [a+64];"), "a");
  EXPECT_EQ(OriginOf("mov.u32 %r1, a; add.s32 %r2, %r8, %r1; st.shared.u32 [%r2], %r0;"), "a");
  EXPECT_EQ(OriginOf("mov.u32 %r1, b; mad.lo.s32 %r2, %r8, 4, %r1; red.shared.add.u32 [%r2], 1;"),
            "b");
  EXPECT_EQ(OriginOf("mov.u32 %r1, a; or.b32 %r2, %r1, 4; ld.shared.u32 %r0, [%r2];"), "a");
  EXPECT_EQ(OriginOf("mov.u64 %d1, a; cvta.shared.u64 %d2, %d1; cvt.u64.u32 %d3, %r8;\n"
                     "add.s64 %d4, %d2, %d3; ld.u32 %r0, [%d4];"),
            "a");
  // An index from memory.
  EXPECT_EQ(OriginOf("ld.shared.u32 %r3, [b]; mov.u32 %r1, a; add.s32 %r2, %r1, %r3;\n"
                     "ld.shared.u32 %r0, [%r2];"),
            "a");
  // A pointer that goes through an array.
  EXPECT_EQ(OriginOf("mov.u32 %r1, a; L: add.s32 %r1, %r1, 4; setp.ne.u32 %p, %r1, %r8;\n"
                     "@%p bra L; ld.shared.u32 %r0, [%r1];"),
            "a");
  EXPECT_EQ(OriginOf("ld.param.u64 %d1, [y]; cvta.to.global.u64 %d2, %d1;\n"
                     "mad.wide.s32 %d3, %r8, 4, %d2; st.global.u32 [%d3], %r0;"),
            "y");
}

TEST(PointerOrigins, SaysNothingWhereItCannotTell) {
  // One or the other.
  EXPECT_EQ(OriginOf("mov.u32 %r1, a; mov.u32 %r2, b; selp.b32 %r3, %r1, %r2, %p;\n"
                     "ld.shared.u32 %r0, [%r3];"),
            "unknown");
  EXPECT_EQ(OriginOf("mov.u32 %r1, a; @%p mov.u32 %r1, b; ld.shared.u32 %r0, [%r1];"), "unknown");
  // The difference of two arrays and one of them.
  EXPECT_EQ(OriginOf("mov.u32 %r1, a; mov.u32 %r2, b; sub.s32 %r3, %r2, %r1;\n"
                     "add.s32 %r4, %r1, %r3; ld.shared.u32 %r0, [%r4];"),
            "unknown");
  // Bits of an address.
  EXPECT_EQ(OriginOf("mov.u32 %r1, a; xor.b32 %r2, %r1, 64; ld.shared.u32 %r0, [%r2];"), "unknown");
  EXPECT_EQ(OriginOf("mov.u32 %r1, a; and.b32 %r2, %r1, -128; ld.shared.u32 %r0, [%r2];"),
            "unknown");
  // What a function returns.
  EXPECT_EQ(OriginOf("call (out), f, (in); ld.param.u32 %r1, [out]; ld.shared.u32 %r0, [%r1];"),
            "unknown");
  EXPECT_EQ(OriginOf("ld.shared.u32 %r0, [%r8];"), "number");
}

}  // namespace
}  // namespace kernelsmith::checkers
