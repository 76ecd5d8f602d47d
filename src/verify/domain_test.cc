#include "verify/domain.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

TEST(Domain, TransposedTensorsHaveTheirRowsApart) {
  EXPECT_EQ(TransposedStrides({2, 3, 4}), (Shape{12, 1, 3}));
  EXPECT_EQ(TransposedStrides({5, 1, 7}),
            (Shape{1, 5, 5}));  // an axis of one element lies anywhere
  EXPECT_EQ(TransposedStrides({6}), (Shape{2}));
}

TEST(Domain, PaddedTensorsHaveLongerRows) {
  EXPECT_EQ(PaddedStrides({2, 3, 4}), (Shape{21, 7, 1}));
  EXPECT_EQ(PaddedStrides({6}), (Shape{2}));
}

PlanStep On(uint32_t stream, bool apart, decltype(PlanStep::action) action) {
  PlanStep step{.action = std::move(action)};
  step.stream = stream;
  step.apart = apart;
  return step;
}

TEST(Domain, TheCallersStreamBecomesTheDefaultOne) {
  Plan plan;
  plan.steps = {On(1, true, EventStep{.kind = EventStep::Kind::kRecord}), On(1, true, LaunchStep{}),
                On(0, false, LaunchStep{}), On(2, true, LaunchStep{})};
  ASSERT_TRUE(CallerOnDefaultStream(plan));
  EXPECT_EQ(plan.steps[1].stream, 0u);
  EXPECT_FALSE(plan.steps[1].apart);
  // What was launched on the default stream is not ordered with the caller's any more.
  EXPECT_EQ(plan.steps[2].stream, 1u);
  EXPECT_TRUE(plan.steps[2].apart);
  EXPECT_EQ(plan.steps[3].stream, 2u);
}

TEST(Domain, APlanWithoutTheCallersMarkTellsNothing) {
  Plan plan;
  plan.steps = {On(1, true, LaunchStep{})};
  EXPECT_FALSE(CallerOnDefaultStream(plan));
}

}  // namespace
}  // namespace kernelsmith
