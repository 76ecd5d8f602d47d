// What a run may spend on models. One budget is shared by all models and threads of a run.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "support/result.h"

namespace kernelsmith::llm {

// The prices of a million tokens, in whatever currency the user counts in.
struct Prices {
  double input = 0;
  double output = 0;
};

struct Limits {
  std::optional<int64_t> tokens;  // input and output together
  std::optional<double> cost;     // only with prices
};

struct Spent {
  int64_t questions = 0;  // attempts counted, each of which is paid for
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  double cost = 0;  // the cost of the tokens whose price is known
};

class Budget {
 public:
  explicit Budget(Limits limits = {}) : limits_(limits) {}

  // Sets aside what a question may take at most, so that questions asked at the same time don't
  // overdraw together. An error (kTimeout) if it does not fit.
  Status Reserve(int64_t input_tokens, int64_t output_tokens, const std::optional<Prices>& prices);
  // Gives back what was set aside and books what was taken.
  void Settle(int64_t reserved_input, int64_t reserved_output, int64_t input_tokens,
              int64_t output_tokens, const std::optional<Prices>& prices);
  Spent spent() const;

 private:
  Limits limits_;
  mutable std::mutex mutex_;
  Spent spent_;
  int64_t reserved_tokens_ = 0;
  double reserved_cost_ = 0;
};

double CostOf(int64_t input_tokens, int64_t output_tokens, const Prices& prices);

// Tokens of a text if nobody says: a token is seldom shorter than 3 bytes of English or code.
int64_t EstimateTokens(size_t bytes);

}  // namespace kernelsmith::llm
