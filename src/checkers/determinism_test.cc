#include "checkers/determinism.h"

#include <gtest/gtest.h>

#include "vgpu/testing.h"

namespace kernelsmith::checkers {
namespace {

// Findings of one launch with a buffer of ones; `*word` is the buffer's first word afterwards.
std::vector<Finding> Find(const std::string& body, uint32_t* word = nullptr) {
  vgpu::TestGpu gpu;
  const Status loaded = gpu.Load(
      ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"
      "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; "
      "mad.lo.u32 %r2, %r1, 64, %r0;\n" +
      body + "\nret;\n}\n");
  EXPECT_TRUE(loaded.ok());
  const uint64_t buffer = gpu.Buffer(std::vector<uint32_t>(4096, 0));
  const std::vector<uint64_t> arguments{buffer};
  FindingSink sink;
  const auto result = LaunchInSeveralOrders(gpu.gpu(),
                                            {.module = &gpu.module(),
                                             .entry = "k",
                                             .grid = {4, 1, 1},
                                             .block = {64, 1, 1},
                                             .parameters = std::as_bytes(std::span(arguments))},
                                            sink);
  EXPECT_TRUE(result.ok() && !result->fault);
  if (word != nullptr) *word = gpu.Read<uint32_t>(buffer, 1)[0];
  return sink.Findings();
}

TEST(Determinism, SumOfFloatsInAnyOrder) {
  uint32_t word = 0;
  // 1/(1+i): sums that round differently in different orders.
  const auto found = Find(
      "cvt.rn.f32.u32 %f0, %r2; add.f32 %f0, %f0, 0f3F800000; rcp.rn.f32 %f1, %f0;\n"
      "red.global.add.f32 [%rd0], %f1;",
      &word);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FindingKind::kNondeterministic);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].place.ptx.line, 8);
  // Memory is as the first run left it: the sum in ascending order.
  float sum = 0;
  for (int i = 0; i < 256; ++i) sum += 1.0f / (1.0f + static_cast<float>(i));
  EXPECT_EQ(std::bit_cast<float>(word), sum);
}

TEST(Determinism, SumOfIntegersIsTheSameInAnyOrder) {
  uint32_t word = 0;
  EXPECT_TRUE(Find("red.global.add.u32 [%rd0], %r2;", &word).empty());
  EXPECT_EQ(word, 255u * 256 / 2);
}

TEST(Determinism, TicketsDecideThePlace) {
  const auto found = Find(
      "atom.global.add.u32 %r3, [%rd0], 1;\n"
      "mul.wide.u32 %rd1, %r3, 4; add.u64 %rd1, %rd0, %rd1;\n"
      "st.global.u32 [%rd1+4], %r2;");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place.ptx.line, 9);  // the store
  ASSERT_TRUE(found[0].other.has_value());
  EXPECT_EQ(found[0].other->ptx.line, 7);  // and the ticket
}

TEST(Determinism, TicketsThatOnlyCountAreFine) {
  // The maximum of all tickets is the same in every order.
  EXPECT_TRUE(Find("atom.global.add.u32 %r3, [%rd0], 1;\n"
                   "red.global.max.u32 [%rd0+8], %r3;")
                  .empty());
}

}  // namespace
}  // namespace kernelsmith::checkers
