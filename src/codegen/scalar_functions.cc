#include "codegen/scalar_functions.h"

#include <cmath>
#include <cstdint>

namespace kernelsmith::codegen {
namespace {

int64_t Whole(double value) { return static_cast<int64_t>(value); }

struct Row {
  const char* name;
  ScalarFunction of_floats;    // null: as for integers
  ScalarFunction of_integers;  // null: as for floats
};

// Integers divide as C does; "floor_..." as Python does.
constexpr Row kRows[] = {
    {"add", [](const double* a) { return a[0] + a[1]; }, nullptr},
    {"sub", [](const double* a) { return a[0] - a[1]; }, nullptr},
    {"mul", [](const double* a) { return a[0] * a[1]; }, nullptr},
    {"div", [](const double* a) { return a[0] / a[1]; }, nullptr},
    {"quotient", [](const double* a) { return std::trunc(a[0] / a[1]); },
     [](const double* a) { return a[1] == 0 ? 0.0 : double(Whole(a[0]) / Whole(a[1])); }},
    {"floor_quotient", [](const double* a) { return std::floor(a[0] / a[1]); },
     [](const double* a) { return a[1] == 0 ? 0.0 : std::floor(a[0] / a[1]); }},
    {"fmod", [](const double* a) { return std::fmod(a[0], a[1]); },
     [](const double* a) { return a[1] == 0 ? 0.0 : double(Whole(a[0]) % Whole(a[1])); }},
    {"floor_remainder", [](const double* a) { return a[0] - std::floor(a[0] / a[1]) * a[1]; },
     [](const double* a) { return a[1] == 0 ? 0.0 : a[0] - std::floor(a[0] / a[1]) * a[1]; }},
    {"neg", [](const double* a) { return -a[0]; }, nullptr},
    {"abs", [](const double* a) { return std::fabs(a[0]); }, nullptr},
    {"sign", [](const double* a) { return a[0] > 0   ? 1.0
                                          : a[0] < 0 ? -1.0
                                                     : 0.0; }, nullptr},
    {"sqrt", [](const double* a) { return std::sqrt(a[0]); }, nullptr},
    {"rsqrt", [](const double* a) { return 1 / std::sqrt(a[0]); }, nullptr},
    {"pow", [](const double* a) { return std::pow(a[0], a[1]); }, nullptr},
    {"hypot", [](const double* a) { return std::hypot(a[0], a[1]); }, nullptr},
    {"floor", [](const double* a) { return std::floor(a[0]); }, nullptr},
    {"ceil", [](const double* a) { return std::ceil(a[0]); }, nullptr},
    {"round", [](const double* a) { return std::rint(a[0]); }, nullptr},
    {"trunc", [](const double* a) { return std::trunc(a[0]); }, nullptr},
    {"exp", [](const double* a) { return std::exp(a[0]); }, nullptr},
    {"exp2", [](const double* a) { return std::exp2(a[0]); }, nullptr},
    {"expm1", [](const double* a) { return std::expm1(a[0]); }, nullptr},
    {"log", [](const double* a) { return std::log(a[0]); }, nullptr},
    {"log2", [](const double* a) { return std::log2(a[0]); }, nullptr},
    {"log10", [](const double* a) { return std::log10(a[0]); }, nullptr},
    {"log1p", [](const double* a) { return std::log1p(a[0]); }, nullptr},
    {"sin", [](const double* a) { return std::sin(a[0]); }, nullptr},
    {"cos", [](const double* a) { return std::cos(a[0]); }, nullptr},
    {"tan", [](const double* a) { return std::tan(a[0]); }, nullptr},
    {"asin", [](const double* a) { return std::asin(a[0]); }, nullptr},
    {"acos", [](const double* a) { return std::acos(a[0]); }, nullptr},
    {"atan", [](const double* a) { return std::atan(a[0]); }, nullptr},
    {"atan2", [](const double* a) { return std::atan2(a[0], a[1]); }, nullptr},
    {"sinh", [](const double* a) { return std::sinh(a[0]); }, nullptr},
    {"cosh", [](const double* a) { return std::cosh(a[0]); }, nullptr},
    {"tanh", [](const double* a) { return std::tanh(a[0]); }, nullptr},
    {"asinh", [](const double* a) { return std::asinh(a[0]); }, nullptr},
    {"acosh", [](const double* a) { return std::acosh(a[0]); }, nullptr},
    {"atanh", [](const double* a) { return std::atanh(a[0]); }, nullptr},
    {"erf", [](const double* a) { return std::erf(a[0]); }, nullptr},
    {"erfc", [](const double* a) { return std::erfc(a[0]); }, nullptr},
    {"lgamma", [](const double* a) { return std::lgamma(a[0]); }, nullptr},
    {"max", [](const double* a) { return std::isnan(a[0]) || a[0] > a[1] ? a[0] : a[1]; }, nullptr},
    {"min", [](const double* a) { return std::isnan(a[0]) || a[0] < a[1] ? a[0] : a[1]; }, nullptr},
    {"eq", [](const double* a) { return double(a[0] == a[1]); }, nullptr},
    {"ne", [](const double* a) { return double(a[0] != a[1]); }, nullptr},
    {"lt", [](const double* a) { return double(a[0] < a[1]); }, nullptr},
    {"le", [](const double* a) { return double(a[0] <= a[1]); }, nullptr},
    {"gt", [](const double* a) { return double(a[0] > a[1]); }, nullptr},
    {"ge", [](const double* a) { return double(a[0] >= a[1]); }, nullptr},
    {"isnan", [](const double* a) { return double(std::isnan(a[0])); }, nullptr},
    {"isinf", [](const double* a) { return double(std::isinf(a[0])); }, nullptr},
    {"and", nullptr, [](const double* a) { return double(a[0] != 0 && a[1] != 0); }},
    {"or", nullptr, [](const double* a) { return double(a[0] != 0 || a[1] != 0); }},
    {"xor", nullptr, [](const double* a) { return double((a[0] != 0) != (a[1] != 0)); }},
    {"not", nullptr, [](const double* a) { return double(a[0] == 0); }},
    {"bit_and", nullptr, [](const double* a) { return double(Whole(a[0]) & Whole(a[1])); }},
    {"bit_or", nullptr, [](const double* a) { return double(Whole(a[0]) | Whole(a[1])); }},
    {"bit_xor", nullptr, [](const double* a) { return double(Whole(a[0]) ^ Whole(a[1])); }},
    {"bit_not", nullptr, [](const double* a) { return double(~Whole(a[0])); }},
    {"shift_left", nullptr,
     [](const double* a) { return double(Whole(a[0]) << (Whole(a[1]) & 63)); }},
    {"shift_right", nullptr,
     [](const double* a) { return double(Whole(a[0]) >> (Whole(a[1]) & 63)); }},
    {"where", [](const double* a) { return a[0] != 0 ? a[1] : a[2]; }, nullptr},
};

}  // namespace

ScalarFunction FindScalarFunction(std::string_view name, bool floats) {
  for (const Row& row : kRows) {
    if (name != row.name) continue;
    if (floats) return row.of_floats != nullptr ? row.of_floats : row.of_integers;
    return row.of_integers != nullptr ? row.of_integers : row.of_floats;
  }
  return nullptr;
}

}  // namespace kernelsmith::codegen
