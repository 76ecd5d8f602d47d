#include <gtest/gtest.h>

#include "ptx/ptx.h"

namespace kernelsmith::ptx {
namespace {

// "" if the body is right, else the first message.
std::string Complaint(const std::string& body,
                      const std::string& header = ".version 8.0\n.target sm_90\n") {
  const Result<Module> module = Parse(
      header +
          ".global .b32 g; .shared .b32 s; .const .b32 c;\n"
          ".func (.param .b32 r) f(.param .b64 a) { ret; }\n"
          ".entry k(.param .u64 p) {\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; "
          ".reg .u32 %u<8>; .reg .s32 %i<8>; .reg .b64 %d<8>; .reg .f32 %f<8>; .reg .f64 %e<8>; "
          ".reg .v4 .f32 %v; .param .b32 x; .param .b64 y;\nL: T: .branchtargets L;\n" +
          body + "\n}",
      "k.ptx");
  return module.ok() ? "" : module.error().message();
}

TEST(ValidatorTest, AcceptsWhatTheIsaAllows) {
  for (const char* body : {"add.s32 %r0, %u1, %i2;",
                           "add.f32 %r0, %f1, 1.0;",
                           "ld.global.u8 %r0, [%d0];",
                           "ld.global.s8 %d0, [%d1];",
                           "ld.shared.u32 %r0, [s+0];",
                           "st.global.u8 [%d0], %h1;",
                           "cvt.u8.u32 %h0, %r1;",
                           "cvt.u64.u32 %d0, %r1;",
                           "mov.u64 %d0, f;",
                           "mov.u32 %r0, s;",
                           "setp.eq.s32 %p0|_, %r0, %r1;",
                           "setp.eq.s32 _|%p0, %r0, %r1;",
                           "bar.sync 0;",
                           "bar.sync %r0, 64;",
                           "brx.idx %r0, T;",
                           "call (x), f, (y);",
                           "atom.add.u32 _, [%d0], 1;",
                           "mul.wide.s32 %d0, %r1, 4;",
                           "st.shared.v4.f32 [s], %v;",
                           "add.f32 %f0, %v.x, %v.w;",
                           "mov.b64 %d0, {%r0, %r1};",
                           "mov.b32 {%h0, _}, %r0;",
                           "selp.b32 %r0, 1, 0, %p0;",
                           "vote.sync.any.pred %p0, !%p1, -1;",
                           "cp.async.cg.shared.global [s], [%d0], 16, %r0;",
                           "cp.async.cg.shared.global [s], [%d0], 16, %p0;",
                           "fma.rn.f16 %h0, %h1, %h2, %h3;",
                           "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [s];",
                           "mov.u32 %r0, %laneid;",
                           "@%p0 bra L;",
                           "isspacep.global %p0, %d0;",
                           "match.all.sync.b32 %r0|%p0, %r1, -1;"}) {
    EXPECT_EQ(Complaint(body), "") << body;
  }
}

constexpr char kNewest[] = ".version 8.8\n.target sm_100\n";

// What ptxas 13 takes; most of the refusals below are its refusals, too.
TEST(ValidatorTest, WholeVectors) {
  for (const char* body :
       {"ld.global.v4.f32 %v, [%d0];", "mov.v4.f32 %v, {%f0, %f1, %f2, %f3};",
        "mov.v4.f32 {%f0, %f1, %f2, %f3}, %v;", "mov.v4.f32 %v, {1.0, 2.0, %f2, %v.x};",
        "mov.v4.f32 {%v.w, %v.z, %v.y, %v.x}, %v;",
        "mov.v4.u16 {%h0, %h1, %h2, %h3}, {%h3, %h2, %h1, %h0};",
        ".reg .v4 .u32 t; mov.v4.u32 t, %tid;", ".reg .v2 .b32 t; mov.b64 %d0, t; mov.b64 t, %d0;",
        ".reg .v4 .b8 t; mov.b32 %r0, t; mov.b32 t, %r0;",
        ".reg .v2 .b64 t; .reg .b128 q; mov.b128 q, t; mov.b128 t, q;",
        ".reg .b128 q; mov.b128 {%r0, %r1, %r2, %r3}, q;",
        ".reg .v4 .u32 t; ld.global.v4.u8 t, [%d0]; st.global.v4.u8 [%d0], t;",
        ".reg .v2 .b64 %t<3>; st.global.v2.b64 [%d0], %t2;",
        "add.f32 %v.r, %v.g, %v.b; add.f32 %v.a, %v.x, %v.w;",
        ".reg .v4 .b32 a; .reg .v2 .b32 b; "
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %v, a, b, %v;",
        ".reg .v4 .b32 a; ldmatrix.sync.aligned.m8n8.x4.shared.b16 a, [s];",
        ".reg .v2 .f32 t; red.global.add.v2.f32 [%d0], t;",
        "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%d0];",
        "st.v4.b64 [%d0], {%d0, %d1, %d2, %d3};"}) {
    EXPECT_EQ(Complaint(body, kNewest), "") << body;
  }
}

TEST(ValidatorTest, VectorsThatDoNotExist) {
  constexpr char kSizes[] = "a vector has 2 or 4 elements and at most 128 bits";
  EXPECT_EQ(Complaint(".reg .v8 .b32 t;"), kSizes);
  EXPECT_EQ(Complaint(".reg .v4 .b64 t;"), kSizes);
  EXPECT_EQ(Complaint(".reg .v2 .b128 t;"), kSizes);
  EXPECT_EQ(Complaint(".shared .v4 .f64 t[4];"), kSizes);
  EXPECT_EQ(Complaint(".reg .v2 .pred t;"), "a vector of predicates");
  EXPECT_EQ(Complaint("ld.global.v2.f32 %v, [%d0];"), "expected a vector of 2 elements");
  EXPECT_EQ(Complaint("ld.global.f32 %v, [%d0];"), "expected one element, '%v' is a vector");
  EXPECT_EQ(Complaint("add.f32 %v, %v, %v;"), "expected one element, '%v' is a vector");
  EXPECT_EQ(Complaint("ld.global.v4.f32 %f0, [%d0];"), "expected a vector of 4 elements");
  EXPECT_EQ(Complaint("mov.v4.f32 %v, %f0;"), "expected a vector of 4 elements");
  EXPECT_EQ(Complaint("mov.v4.f32 {1.0, 2.0, 3.0, 4.0}, %v;"), "expected a register");
  EXPECT_EQ(Complaint("mov.f32 %f0.x, 1.0;"), "'%f0' is no vector");
  EXPECT_EQ(Complaint(".reg .v2 .f32 t; mov.f32 %f0, t.z;"),
            "'t' has no such element, it is a vector of 2");
  EXPECT_EQ(Complaint(".reg .v2 .f32 t, u; ld.global.v2.f32 {t, u}, [%d0];"),
            "expected one element, 't' is a vector");
  EXPECT_EQ(Complaint(".reg .v2 .b64 t; ld.global.f32 %f0, [t.x];"),
            "expected a register, which no vector and no element of one can replace here");
  EXPECT_EQ(Complaint("mov.b64 {1, %r0}, %d0;"), "expected a register");
  EXPECT_EQ(Complaint(".reg .b8 c; mov.b64 %d0, {c, c, %h0, %r0};"),
            "the elements do not make up 64 bits");
  EXPECT_EQ(Complaint("ld.global.v8.b16 {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7}, [%d0];", kNewest),
            "'ld.global.v8.b16' has a vector of 8 times 16 bits, which does not exist");
  EXPECT_EQ(Complaint("ld.shared.v4.b64 {%d0, %d1, %d2, %d3}, [s];", kNewest),
            "vectors of 256 bits exist in .global memory only");
  EXPECT_EQ(Complaint("ld.global.v4.b64 {%d0, %d1, %d2, %d3}, [%d0];"),
            "'ld.global.v4.b64' needs .version 8.8 or later");
  EXPECT_EQ(Complaint("call (x), f, (%v);"), "expected a scalar");
  EXPECT_EQ(Complaint("call (x), f, ({%r0, %r1});"),
            "expected a .param variable, a register or a constant");
}

TEST(ValidatorTest, OperandCounts) {
  EXPECT_EQ(Complaint("add.s32 %r0, %r1;"), "'add.s32' takes 3 operands, 2 given");
  EXPECT_EQ(Complaint("ret %r0;"), "'ret' takes 0 operands, 1 given");
  EXPECT_EQ(Complaint("bar.sync 0, 64, 3;"), "'bar.sync' takes 1 to 2 operands, 3 given");
}

TEST(ValidatorTest, OperandTypes) {
  EXPECT_EQ(Complaint("add.s32 %r0, %d1, 1;"), "'%d1' has type .b64, expected .s32");
  EXPECT_EQ(Complaint("add.s32 %f0, %r1, 1;"), "'%f0' has type .f32, expected .s32");
  EXPECT_EQ(Complaint("add.f32 %f0, %u1, %f1;"), "'%u1' has type .u32, expected .f32");
  EXPECT_EQ(Complaint("mul.wide.s32 %r0, %r1, 4;"), "'%r0' has type .b32, expected 64 bits");
  EXPECT_EQ(Complaint("selp.b32 %r0, 1, 0, %r1;"), "'%r1' has type .b32, expected .pred");
  EXPECT_EQ(Complaint("add.s32 %r0, %p1, 1;"), "'%p1' has type .pred, expected .s32");
  EXPECT_EQ(Complaint("ld.global.u64 %r0, [%d0];"), "'%r0' has type .b32, expected .u64");
  EXPECT_EQ(Complaint("cvt.rn.f32.f64 %f0, %f1;"), "'%f1' has type .f32, expected .f64");
  EXPECT_EQ(Complaint("mov.b64 %d0, {%r0, %h1};"), "the elements do not make up 64 bits");
  EXPECT_EQ(Complaint("add.s32 %r0, %r1, 1.5;"), "expected an integer, for the type is .s32");
}

TEST(ValidatorTest, OperandForms) {
  EXPECT_EQ(Complaint("add.s32 5, %r0, %r1;"), "expected a register");
  EXPECT_EQ(Complaint("add.s32 %tid.x, %r0, %r1;"), "special registers cannot be written");
  EXPECT_EQ(Complaint("mov.u32 %r0, %tid;"), "expected one component of '%tid'");
  EXPECT_EQ(Complaint("ld.global.u32 %r0, %d0;"), "expected an address in brackets");
  EXPECT_EQ(Complaint("ld.global.v4.f32 {%f0, %f1}, [%d0];"), "expected a vector of 4 elements");
  EXPECT_EQ(Complaint("ld.global.f32 {%f0, %f1}, [%d0];"), "expected a register");
  EXPECT_EQ(Complaint("lop3.b32 %r0, %r1, %r2, %r3, %r4;"), "expected an integer constant");
  EXPECT_EQ(Complaint("add.s32 %r0, !%r1, 1;"), "this operand cannot be negated");
  EXPECT_EQ(Complaint("add.s32 %r0|%p0, %r1, 1;"), "expected one operand, not a pair");
  EXPECT_EQ(Complaint("elect.sync %r0, -1;"), "expected a pair 'a|b'");
  EXPECT_EQ(Complaint("add.s32 %r0, %r1.b0, 1;"),
            "only video instructions select bytes of registers");
  EXPECT_EQ(Complaint("add.f32 %f0, %v, 1.0;"), "expected one element, '%v' is a vector");
  EXPECT_EQ(Complaint("ld.global.u32 %r0, [%f0];"), "expected an address, '%f0' has type .f32");
}

TEST(ValidatorTest, NamesAndSpaces) {
  EXPECT_EQ(Complaint("add.s32 %r0, %r8, 1;"), "undeclared name '%r8'");
  EXPECT_EQ(Complaint("bra M;"), "undeclared name 'M'");
  EXPECT_EQ(Complaint("bra g;"), "expected a label");
  EXPECT_EQ(Complaint("{ M: ret; } bra M;"), "undeclared name 'M'");
  EXPECT_EQ(Complaint(".reg .b32 %d<2>;"), "'%d' is declared twice");
  EXPECT_EQ(Complaint("L: ret;"), "'L' is declared twice");
  EXPECT_EQ(Complaint("@%r0 ret;"), "guard '%r0' is no predicate register");
  EXPECT_EQ(Complaint("ld.shared.u32 %r0, [g];"),
            "'g' is in .global, the instruction accesses .shared");
  EXPECT_EQ(Complaint("st.global.u32 [s], %r0;"),
            "'s' is in .shared, the instruction accesses .global");
  EXPECT_EQ(Complaint("brx.idx %r0, L;"), "expected the name of a .branchtargets list");
}

TEST(ValidatorTest, Calls) {
  EXPECT_EQ(Complaint("call f, (y);"), "expected 1 in the call's list, 0 given");
  EXPECT_EQ(Complaint("call (x), f, (y, y);"), "expected 1 in the call's list, 2 given");
  EXPECT_EQ(Complaint("call (x), f, (x);"), "'x' has 4 bytes, expected 8");
  EXPECT_EQ(Complaint("call (x), %d0, (y);"),
            "an indirect call needs a prototype or a list of targets");
  EXPECT_EQ(Complaint("call (x), g, (y);"), "expected a function or a register");
}

// Register counts of the ISA's tables of fragments.
TEST(ValidatorTest, MatrixFragments) {
  const std::string mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
  EXPECT_EQ(Complaint(mma + "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};"),
            "");
  EXPECT_EQ(Complaint(mma + "{%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r4,%r5}, {%f0,%f1,%f2,%f3};"),
            "expected 4 register(s), found 2");
  EXPECT_EQ(Complaint(mma + "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%d3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};"),
            "expected a register of 32 bits");
  EXPECT_EQ(Complaint("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e0,%e1}, {%e2}, {%e3}, "
                      "{%e0,%e1};"),
            "");
  EXPECT_EQ(Complaint("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r0,%r1,%r2,%r3}, "
                      "{%r0,%r1}, {%r2,%r3}, {%r0,%r1,%r2,%r3};"),
            "");
  EXPECT_EQ(Complaint("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, "
                      "{%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%f0,%f1,%f2,%f3}, %r0, 0;"),
            "");
  EXPECT_EQ(Complaint("wmma.load.b.sync.aligned.col.m8n32k16.global.s8 {%r0,%r1,%r2,%r3}, [%d0];"),
            "");
  EXPECT_EQ(Complaint("wmma.load.a.sync.aligned.col.m8n32k16.global.s8 {%r0,%r1}, [%d0], %r0;"),
            "expected 1 register(s), found 2");
  EXPECT_EQ(Complaint("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1}, [s];"),
            "expected 4 register(s), found 2");
  EXPECT_EQ(Complaint("mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, "
                      "{%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};")
                .substr(0, 20),
            "'mma.sync.aligned.m1");
}

TEST(ValidatorTest, OldVersionsAndTargets) {
  EXPECT_EQ(Complaint("add.bf16 %h0, %h1, %h2;", ".version 7.0\n.target sm_90\n"),
            "'add.bf16' needs .version 7.8 or later");
  EXPECT_EQ(Complaint("add.bf16 %h0, %h1, %h2;", ".version 8.0\n.target sm_80\n"),
            "'add.bf16' needs .target sm_90 or later");
  EXPECT_EQ(Complaint("wgmma.fence.sync.aligned;", ".version 8.0\n.target sm_90\n"),
            "'wgmma.fence.sync.aligned' needs .target sm_90a or later");
  EXPECT_EQ(Complaint("wgmma.fence.sync.aligned;", ".version 8.0\n.target sm_90a\n"), "");
}

TEST(ValidatorTest, ModifiersThatDoNotGoTogether) {
  EXPECT_EQ(
      Complaint("add.rn.s32 %r0, %r1, %r2;"),
      "'add.rn.s32' is no form of 'add': its modifiers do not go together, or one is missing");
  EXPECT_EQ(Complaint("add %r0, %r1, %r2;"),
            "'add' is no form of 'add': its modifiers do not go together, or one is missing");
  EXPECT_EQ(Complaint("ld.global.global.u32 %r0, [%d0];").substr(0, 42),
            "'ld.global.global.u32' is no form of 'ld':");
}

}  // namespace
}  // namespace kernelsmith::ptx
