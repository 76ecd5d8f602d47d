// Operators, terms, factors, constants, functions, precision.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <set>
#include <string>

#include "mutate/operators.h"

namespace kernelsmith::mutate {
namespace {

bool IsFloatLiteral(std::string_view word) {
  return !word.starts_with("0x") && !word.starts_with("0X") &&
         word.find_first_of(".eEfF") != std::string_view::npos;
}

void ForBinary(const Source& source, std::initializer_list<std::string_view> operators,
               const std::function<void(size_t)>& visit) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    for (const std::string_view each : operators) {
      if (source.Is(i, each) && source.IsBinary(i)) visit(i);
    }
  });
}

void FlippedSign(const Source& source, Sites& sites) {
  ForBinary(source, {"+", "-"}, [&](size_t i) { sites.Replace(i, source.Is(i, "+") ? "-" : "+"); });
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (source.Is(i, "+=")) sites.Replace(i, "-=");
    if (source.Is(i, "-=")) sites.Replace(i, "+=");
    // Puts a minus in front.
    if (source.Is(i, "-") && !source.IsBinary(i)) sites.Replace(i, " ");
  });
}

void WrongOperator(const Source& source, Sites& sites) {
  ForBinary(source, {"*", "/", "%"}, [&](size_t i) {
    sites.Replace(i, source.Is(i, "*") ? "+" : source.Is(i, "/") ? "*" : "/");
  });
}

void SwappedOperands(const Source& source, Sites& sites) {
  ForBinary(source, {"-", "/", "%"}, [&](size_t i) {
    const Range left = source.LeftOperand(i), right = source.RightOperand(i);
    if (left.empty() || right.empty()) return;
    sites.Replace({left.begin, right.end}, fmt::format("({}) {} ({})", source.Text(right),
                                                       source.Word(i), source.Text(left)));
  });
}

// `+ eps`, `- mean`, `+ bias[i]`: a term forgotten.
void LostTerm(const Source& source, Sites& sites) {
  ForBinary(source, {"+", "-"}, [&](size_t i) {
    const Range right = source.RightOperand(i);
    if (!right.empty()) sites.Replace({i, right.end}, "");
  });
}

void LostFactor(const Source& source, Sites& sites) {
  ForBinary(source, {"*", "/"}, [&](size_t i) {
    const Range right = source.RightOperand(i);
    if (!right.empty()) sites.Replace({i, right.end}, "");
  });
}

// exp(x - max) without the maximum: right on small values, infinite on large ones.
void LostMaximum(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    const std::string_view word = source.Word(i);
    if (word != "expf" && word != "__expf" && word != "exp" && word != "exp2f") return;
    if (!source.Is(i + 1, "(")) return;
    for (size_t j = i + 2; j < source.Partner(i + 1); ++j) {
      if (!source.Is(j, "-") || !source.IsBinary(j)) continue;
      const Range right = source.RightOperand(j);
      if (!right.empty()) sites.Replace({j, right.end}, "");
      return;
    }
  });
}

void WrongConstant(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (source[i].kind != TokenKind::kNumber) return;
    const std::string word(source.Word(i));
    if (!IsFloatLiteral(word)) return;
    const double value = std::strtod(word.c_str(), nullptr);
    const char* suffix = word.ends_with('f') || word.ends_with('F') ? "f" : "";
    // A third digit wrong: what an eye misses and a loose tolerance lets pass.
    const double other = value == 0 ? 1 : value == 1 ? 2 : value * 1.004;
    sites.Replace(i, fmt::format("{:#.9g}{}", other, suffix));
  });
}

void WrongInteger(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (source[i].kind != TokenKind::kNumber) return;
    const std::string_view word = source.Word(i);
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) return;
    sites.Replace(i, fmt::format("{}", value + 1));
    if (value >= 4 && value % 2 == 0) sites.Replace(i, fmt::format("{}", value / 2));
  });
}

void SwappedExtremes(const Source& source, Sites& sites) {
  constexpr std::array<std::array<const char*, 2>, 6> kOther = {{{"fmaxf", "fminf"},
                                                                 {"fminf", "fmaxf"},
                                                                 {"max", "min"},
                                                                 {"min", "max"},
                                                                 {"atomicMax", "atomicMin"},
                                                                 {"atomicMin", "atomicMax"}}};
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (!source.Is(i + 1, "(")) return;
    for (const auto& [from, to] : kOther) {
      if (source.Is(i, from)) sites.Replace(i, to);
    }
  });
}

void WrongFunction(const Source& source, Sites& sites) {
  constexpr std::array<std::array<const char*, 2>, 20> kOther = {
      {{"expf", "exp2f"},   {"__expf", "exp2f"}, {"exp", "exp2"},     {"exp2f", "expf"},
       {"logf", "log2f"},   {"__logf", "log2f"}, {"log", "log2"},     {"log2f", "logf"},
       {"rsqrtf", "sqrtf"}, {"sqrtf", "rsqrtf"}, {"sqrt", "cbrt"},    {"tanhf", "erff"},
       {"erff", "tanhf"},   {"fabsf", "fdimf"},  {"rintf", "truncf"}, {"roundf", "truncf"},
       {"floorf", "ceilf"}, {"sinf", "cosf"},    {"cosf", "sinf"},    {"__frcp_rn", "__fsqrt_rn"}}};
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (!source.Is(i + 1, "(")) return;
    for (const auto& [from, to] : kOther) {
      if (source.Is(i, from)) sites.Replace(i, to);
    }
  });
}

// A float sum that is rounded to half after every step.
void HalfAccumulation(const Source& source, Sites& sites) {
  size_t include = source.size();
  for (size_t i = 0; i < source.size() && include == source.size(); ++i) {
    if (source[i].kind == TokenKind::kDirective && source.Word(i).starts_with("#include")) {
      include = i;
    }
  }
  if (include == source.size()) return;
  ForDeviceTokens(source, [&](size_t i, const Function& function) {
    if (!source.Is(i, "+=") || !source.IsIdentifier(i - 1)) return;
    const std::string name(source.Word(i - 1));
    bool is_float = false;
    for (size_t j = function.body.begin + 1; j < i && !is_float; ++j) {
      if (!source.Is(j, name)) continue;
      // Back over other names of the same declaration.
      for (size_t k = j; k-- > function.body.begin && !source.Is(k, ";") && !source.Is(k, "{");) {
        if (source.Is(k, "float") || source.Is(k, "acc_t")) is_float = true;
      }
    }
    const Range statement = source.Statement(i, function.body);
    if (!is_float || statement.empty() || statement.begin != i - 1) return;
    const std::string value = source.Text({i + 1, statement.end - 1});
    const Token& first = source[statement.begin];
    const Token& last = source[statement.end - 1];
    sites.Change({{source[include].begin, source[include].begin, "#include <cuda_fp16.h>\n"},
                  {first.begin, last.end,
                   fmt::format("{0} = __half2float(__float2half({0} + ({1})));", name, value)}},
                 statement.begin);
  });
}

}  // namespace

std::vector<Operator> ArithmeticOperators() {
  return {
      {"flipped_sign", "+ for -, and the other way round", FlippedSign},
      {"wrong_operator", "+ for *, * for /, / for %", WrongOperator},
      {"swapped_operands", "a - b, a / b or a % b the wrong way round", SwappedOperands},
      {"lost_term", "a term of a sum is missing (eps, bias, mean, offset)", LostTerm},
      {"lost_factor", "a factor or divisor is missing (scale, stride, count)", LostFactor},
      {"lost_maximum", "exponentials without the maximum subtracted", LostMaximum},
      {"wrong_constant", "a float constant is slightly off; 1 for 0, 2 for 1", WrongConstant},
      {"wrong_integer", "an integer constant is one more, or half", WrongInteger},
      {"swapped_extremes", "max for min, and the other way round", SwappedExtremes},
      {"wrong_function", "exp2 for exp, sqrt for rsqrt and the like", WrongFunction},
      {"half_accumulation", "a sum is kept in half precision", HalfAccumulation},
  };
}

}  // namespace kernelsmith::mutate
