#include "llm/budget.h"

#include <fmt/format.h>

namespace kernelsmith::llm {

double CostOf(int64_t input_tokens, int64_t output_tokens, const Prices& prices) {
  return (static_cast<double>(input_tokens) * prices.input +
          static_cast<double>(output_tokens) * prices.output) /
         1e6;
}

int64_t EstimateTokens(size_t bytes) { return static_cast<int64_t>(bytes + 2) / 3; }

Status Budget::Reserve(int64_t input_tokens, int64_t output_tokens,
                       const std::optional<Prices>& prices) {
  const std::lock_guard lock(mutex_);
  const int64_t tokens = input_tokens + output_tokens;
  const double cost = prices ? CostOf(input_tokens, output_tokens, *prices) : 0;
  const int64_t taken = spent_.input_tokens + spent_.output_tokens;
  if (limits_.tokens && taken + reserved_tokens_ + tokens > *limits_.tokens) {
    return TimedOut(
        fmt::format("the token budget is used up: {} of {} spent, {} set aside, and "
                    "this question may take {}",
                    taken, *limits_.tokens, reserved_tokens_, tokens));
  }
  if (limits_.cost) {
    if (!prices) return InvalidInput("a money budget needs the model's prices");
    if (spent_.cost + reserved_cost_ + cost > *limits_.cost) {
      return TimedOut(
          fmt::format("the money budget is used up: {:.4f} of {:.4f} spent, {:.4f} set "
                      "aside, and this question may cost {:.4f}",
                      spent_.cost, *limits_.cost, reserved_cost_, cost));
    }
  }
  reserved_tokens_ += tokens;
  reserved_cost_ += cost;
  return {};
}

void Budget::Settle(int64_t reserved_input, int64_t reserved_output, int64_t input_tokens,
                    int64_t output_tokens, const std::optional<Prices>& prices) {
  const std::lock_guard lock(mutex_);
  reserved_tokens_ -= reserved_input + reserved_output;
  if (prices) reserved_cost_ -= CostOf(reserved_input, reserved_output, *prices);
  ++spent_.questions;
  spent_.input_tokens += input_tokens;
  spent_.output_tokens += output_tokens;
  if (prices) spent_.cost += CostOf(input_tokens, output_tokens, *prices);
}

Spent Budget::spent() const {
  const std::lock_guard lock(mutex_);
  return spent_;
}

}  // namespace kernelsmith::llm
