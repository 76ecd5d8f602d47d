// Which functions count as ones that may read a register before it was written.

#include <gtest/gtest.h>

#include "vgpu/ir.h"
#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

// The answer for a kernel with this body; p and q are two conditions of the thread's number.
bool MayReadUnwritten(const std::string& body) {
  TestGpu gpu;
  const Status loaded = gpu.Load(
      ".visible .entry k(.param .u64 a) {\n"
      ".reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p, %q, %always;\n"
      "ld.param.u64 %rd0, [a]; mov.u32 %r0, %tid.x;\n"
      "setp.lt.u32 %p, %r0, 7; setp.lt.u32 %q, %r0, 9;\n" +
      body + "\nend: ret;\n}\n");
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
  if (!loaded.ok()) return false;
  const auto kernel = gpu.module().Prepare("k");
  EXPECT_TRUE(kernel.ok());
  return kernel.ok() && (*kernel)->functions[0]->may_read_unwritten;
}

TEST(UnwrittenRegisters, NeedAWayOnWhichNothingIsContradicted) {
  const std::string write = "@%p bra next; mov.u32 %r1, 1;\nnext:\n";
  EXPECT_FALSE(MayReadUnwritten(write + "@%p bra end; st.global.u32 [%rd0], %r1;"));
  EXPECT_TRUE(MayReadUnwritten(write + "@%q bra end; st.global.u32 [%rd0], %r1;"));
  EXPECT_TRUE(MayReadUnwritten(write + "@!%p bra end; st.global.u32 [%rd0], %r1;"));
  EXPECT_TRUE(MayReadUnwritten(write + "st.global.u32 [%rd0], %r1;"));
}

TEST(UnwrittenRegisters, APredicateCountsUntilItIsWrittenAgain) {
  EXPECT_TRUE(
      MayReadUnwritten("@%p bra next; mov.u32 %r1, 1;\nnext: setp.lt.u32 %p, %r0, 3;\n"
                       "@%p bra end; st.global.u32 [%rd0], %r1;"));
  // Within a loop, too.
  EXPECT_TRUE(
      MayReadUnwritten("mov.u32 %r2, 0;\nloop: @%p bra next; mov.u32 %r1, 1;\nnext:\n"
                       "setp.lt.u32 %p, %r2, 3; add.u32 %r2, %r2, 1; @%p bra loop;\n"
                       "@%p bra end; st.global.u32 [%rd0], %r1;"));
}

TEST(UnwrittenRegisters, GuardsOfInstructionsCountLikeBranches) {
  EXPECT_FALSE(MayReadUnwritten("@%p mov.u32 %r1, 1;\n@%p st.global.u32 [%rd0], %r1;"));
  EXPECT_FALSE(MayReadUnwritten("@!%p mov.u32 %r1, 1;\n@%p bra end; st.global.u32 [%rd0], %r1;"));
  EXPECT_TRUE(MayReadUnwritten("@%p mov.u32 %r1, 1;\n@!%p st.global.u32 [%rd0], %r1;"));
  EXPECT_FALSE(
      MayReadUnwritten("@%p ld.global.v2.u32 {%r1, %r2}, [%rd0];\n@%p st.global.u32 [%rd0], %r2;"));
}

}  // namespace
}  // namespace kernelsmith::vgpu
