// Numbers that Python computed before the graph saw them: -rate / (1 - beta1**step) is just -0.037
// there.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kernelsmith::codegen {

struct KnownNumber {
  std::string text;            // C++ of the host
  std::vector<double> values;  // its value in every configuration
};

// C++ of an expression over `known` that has these values, the simplest first: up to three
// operations, a sign, a root. Values must agree to 1e-12 in every configuration; with four of them
// a chance hit among the some hundred thousand expressions is out of the question, which is why
// fewer than three distinct values are not searched for.
std::optional<std::string> FindExpression(const std::vector<KnownNumber>& known,
                                          const std::vector<double>& values);

}  // namespace kernelsmith::codegen
