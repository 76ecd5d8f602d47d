// The operators, from operators.def.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace kernelsmith {

enum class OperatorClass {
  kPointwise,
  kReduction,
  kLayout,
  kCreation,
  kLinear,
  kWindow,
  kNorm,
  kRandom
};

struct Parameter {
  std::string name;
  std::optional<Argument> fallback;  // none: required
};

struct Operator {
  std::string name;
  OperatorClass kind = OperatorClass::kPointwise;
  std::vector<Parameter> parameters;
  size_t number = 0;  // position in AllOperators()
};

// In the order of operators.def.
std::span<const Operator> AllOperators();
const Operator* FindOperator(std::string_view name);
std::string_view OperatorClassName(OperatorClass kind);

}  // namespace kernelsmith
