#include "plan/plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "plan/plan_text.h"
#include "support/rng.h"

namespace kernelsmith {
namespace {

// One of everything.
Plan Sample() {
  Plan plan;
  plan.buffers = {
      {.kind = PlanBuffer::Kind::kInput, .bytes = 64, .name = "x", .argument = 0},
      {.kind = PlanBuffer::Kind::kWorkspace, .bytes = 128, .prepared = true},
      {.kind = PlanBuffer::Kind::kVariable, .bytes = 12, .name = "kTaps"},
  };
  const PlanTensor tensor{
      .dtype = DType::kFloat32, .shape = {4, 4}, .strides = {4, 1}, .at = {1, 64}};
  plan.preparation.push_back(
      {FillStep{.to = {1, 0}, .element_bytes = 4, .width = 16}, 0, false, 5});
  plan.steps.push_back({LaunchStep{.kernel = "k \"q\"\n",
                                   .grid = {2, 3, 4},
                                   .block = {32, 1, 1},
                                   .dynamic_shared = 100,
                                   .cooperative = true,
                                   .programmatic = true,
                                   .parameters = std::vector<std::byte>(20, std::byte{7}),
                                   .pointers = {{0, {0, 0}}, {8, {1, 128}}}},
                        2, true, 0x1234});
  plan.steps.push_back({CopyStep{
      .to = {1, 0}, .from = {0, 0}, .width = 8, .height = 2, .to_pitch = 16, .from_pitch = 32}});
  plan.steps.push_back(
      {UploadStep{.to = {2, 0}, .data = std::vector<std::byte>(12, std::byte{0xab})}});
  plan.steps.push_back({HostReadStep{.from = {1, 120}, .bytes = 8}});
  plan.steps.push_back({LibraryStep{.op = "aten.relu.default",
                                    .arguments = "[{\"tensor\":0}]",
                                    .tensors = {tensor},
                                    .outputs = {tensor}}});
  plan.steps.push_back({EventStep{.kind = EventStep::Kind::kWait, .event = 3}});
  plan.outputs = {tensor, {.dtype = DType::kInt64, .at = {0, 8}}};
  return plan;
}

TEST(Plan, SampleIsValid) {
  const Status status = Validate(Sample());
  EXPECT_TRUE(status.ok()) << status.error().message();
}

TEST(Plan, TextRoundTrip) {
  const Plan plan = Sample();
  const std::string text = FormatPlan(plan);
  const auto parsed = ParsePlan(text, "p");
  ASSERT_TRUE(parsed.ok()) << parsed.error().Format() << text;
  EXPECT_EQ(*parsed, plan);
  EXPECT_EQ(FormatPlan(*parsed), text);
}

TEST(Plan, TextErrorsNameTheLine) {
  const auto parsed = ParsePlan("plan 1\nbuffer 0 workspace 4\nfill 0+0 value x\n", "p");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().diagnostics()[0].where, (SourceLocation{"p", 3, 0}));
  EXPECT_FALSE(ParsePlan("", "p").ok());
  EXPECT_FALSE(ParsePlan("plan 2\n", "p").ok());
  EXPECT_FALSE(ParsePlan("plan 1\ndance\n", "p").ok());
  EXPECT_FALSE(ParsePlan("plan 1\nbuffer 1 workspace 4\n", "p").ok());
  EXPECT_FALSE(ParsePlan("plan 1\nbuffer 0 workspace 4 trailing\n", "p").ok());
}

// Each change makes the plan reach outside of its buffers.
TEST(Plan, ValidationFindsEveryEscape) {
  const std::vector<std::function<void(Plan&)>> changes = {
      [](Plan& p) { p.outputs[0].at.buffer = 3; },
      [](Plan& p) { p.outputs[0].at.offset = 68; },
      [](Plan& p) { p.outputs[0].shape[0] = 5; },
      [](Plan& p) { p.outputs[0].strides[0] = 5; },
      [](Plan& p) { p.outputs[0].strides = {1}; },
      [](Plan& p) { p.outputs[0].shape = {int64_t{1} << 47, int64_t{1} << 47}; },
      [](Plan& p) { std::get<FillStep>(p.preparation[0].action).width = 33; },
      [](Plan& p) { std::get<FillStep>(p.preparation[0].action).width = uint64_t{1} << 63; },
      [](Plan& p) { std::get<FillStep>(p.preparation[0].action).element_bytes = 3; },
      [](Plan& p) {
        auto& fill = std::get<FillStep>(p.preparation[0].action);
        fill.height = uint64_t{1} << 40;
        fill.pitch = uint64_t{1} << 40;
      },
      [](Plan& p) { std::get<LaunchStep>(p.steps[0].action).pointers[0].at = 13; },
      [](Plan& p) { std::get<LaunchStep>(p.steps[0].action).pointers[1].target.offset = 129; },
      [](Plan& p) { std::get<LaunchStep>(p.steps[0].action).pointers[1].target.buffer = 9; },
      [](Plan& p) { std::get<LaunchStep>(p.steps[0].action).kernel.clear(); },
      [](Plan& p) { std::get<LaunchStep>(p.steps[0].action).parameters.resize(40000); },
      [](Plan& p) { std::get<CopyStep>(p.steps[1].action).from.offset = 40; },
      [](Plan& p) { std::get<CopyStep>(p.steps[1].action).to_pitch = 200; },
      [](Plan& p) { std::get<UploadStep>(p.steps[2].action).data.resize(13); },
      [](Plan& p) { std::get<HostReadStep>(p.steps[3].action).bytes = 9; },
      [](Plan& p) { std::get<LibraryStep>(p.steps[4].action).outputs[0].at.offset = 100; },
      [](Plan& p) { p.buffers[1].bytes = ~uint64_t{0}; },
      [](Plan& p) { p.buffers[2].name.clear(); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Plan plan = Sample();
    changes[i](plan);
    EXPECT_FALSE(Validate(plan).ok()) << "change " << i;
  }
}

TEST(Plan, RandomTextNeverCrashes) {
  const std::string text = FormatPlan(Sample());
  Rng rng(3);
  int valid = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string mutated = text;
    for (uint64_t edits = 1 + rng.Below(4); edits > 0; --edits) {
      if (mutated.empty()) break;
      const size_t at = rng.Below(mutated.size());
      switch (rng.Below(4)) {
        case 0:
          mutated[at] = static_cast<char>(rng.Below(256));
          break;
        case 1:
          mutated.erase(at, rng.Below(8));
          break;
        case 2:
          mutated.insert(at, mutated.substr(rng.Below(mutated.size()), rng.Below(20)));
          break;
        default:
          mutated.resize(at + 1);
      }
    }
    const auto parsed = ParsePlan(mutated, "p");
    if (parsed.ok() && Validate(*parsed).ok()) ++valid;
  }
  EXPECT_GT(valid, 0);
  EXPECT_LT(valid, 20'000);
}

}  // namespace
}  // namespace kernelsmith
