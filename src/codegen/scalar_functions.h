// The functions of scalars (scalar.h) as C++, for whoever computes instead of writing CUDA.
#pragma once

#include <string_view>

namespace kernelsmith::codegen {

using ScalarFunction = double (*)(const double* args);

// `floats`: its operands are; otherwise they are integers or truth values, which a double holds.
// Null: there is none of that name.
ScalarFunction FindScalarFunction(std::string_view name, bool floats);

}  // namespace kernelsmith::codegen
