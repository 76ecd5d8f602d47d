#include "counters/ptxas.h"

#include <gtest/gtest.h>

namespace kernelsmith::counters {
namespace {

// Printed by ptxas 13.0.
constexpr std::string_view kText = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 8 bytes cumulative stack size
ptxas info    : Compile time = 8.123 ms
ptxas info    : Function properties for helper
    64 bytes stack frame, 60 bytes spill stores, 60 bytes spill loads
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
)";

TEST(Ptxas, RegistersAndSpillsOfEachKernel) {
  const auto kernels = ParsePtxas(kText);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels.at("_Z1kPf").registers, 24u);
  EXPECT_EQ(kernels.at("_Z1kPf").spill_store_bytes, 12u);
  EXPECT_EQ(kernels.at("_Z1kPf").spill_load_bytes, 16u);
  EXPECT_EQ(kernels.at("_Z1kPf").stack_bytes, 8u);
  EXPECT_EQ(kernels.at("second").registers, 255u);
}

TEST(Ptxas, OnlyErrorsAboutTheCodeAreRefusals) {
  EXPECT_EQ(RefusalOf("ptxas info    : 0 bytes gmem\n"
                      "ptxas error   : Entry function 'k' uses too much shared data (0x14000 "
                      "bytes, 0xc000 max)\n"),
            "Entry function 'k' uses too much shared data (0x14000 bytes, 0xc000 max)");
  EXPECT_EQ(RefusalOf("ptxas a.ptx, line 12; error   : Arguments mismatch for instruction 'mov'\n"),
            "Arguments mismatch for instruction 'mov'");
  // A ptxas that is older than the PTX.
  EXPECT_EQ(RefusalOf("ptxas a.ptx, line 9; fatal   : Unsupported .version 9.9; current version is "
                      "'9.0'\nptxas fatal   : Ptx assembly aborted due to errors\n"),
            "");
  EXPECT_EQ(RefusalOf("Segmentation fault"), "");
}

TEST(Ptxas, NothingOfNothing) { EXPECT_TRUE(ParsePtxas("ptxas fatal : no").empty()); }

}  // namespace
}  // namespace kernelsmith::counters
