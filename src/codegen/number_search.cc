#include "codegen/number_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace kernelsmith::codegen {
namespace {

constexpr double kTolerance = 1e-12;

bool Close(const std::vector<double>& a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= kTolerance * std::max(std::abs(a[i]), 1e-300))) return false;
  }
  return true;
}

constexpr const char* kOperations = "+-*/^";

double Apply(char operation, double a, double b) {
  switch (operation) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    default:
      return std::pow(a, b);
  }
}

std::string TextOf(char operation, const std::string& a, const std::string& b) {
  if (operation == '^') return fmt::format("std::pow({}, {})", a, b);
  const auto wrapped = [](const std::string& text) {
    int depth = 0;
    bool simple = true;
    for (const char c : text) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      simple = simple && (depth > 0 || c != ' ');
    }
    return simple && text[0] != '-' ? text : "(" + text + ")";
  };
  return fmt::format("{} {} {}", wrapped(a), operation, wrapped(b));
}

KnownNumber Combined(char operation, const KnownNumber& a, const KnownNumber& b) {
  KnownNumber result{TextOf(operation, a.text, b.text), {}};
  for (size_t i = 0; i < a.values.size(); ++i)
    result.values.push_back(Apply(operation, a.values[i], b.values[i]));
  return result;
}

bool Usable(const KnownNumber& number) {
  return std::all_of(number.values.begin(), number.values.end(),
                     [](double v) { return std::isfinite(v); });
}

// The number itself, its negative, its root, the negative of that.
std::optional<std::string> Match(const KnownNumber& number, const std::vector<double>& target) {
  std::vector<double> changed = number.values;
  for (const auto& [format, change] :
       {std::pair<const char*, double (*)(double)>{"{}", [](double v) { return v; }},
        {"-({})", [](double v) { return -v; }},
        {"std::sqrt({})", [](double v) { return std::sqrt(v); }},
        {"1.0 / std::sqrt({})", [](double v) { return 1 / std::sqrt(v); }}}) {
    for (size_t i = 0; i < changed.size(); ++i) changed[i] = change(number.values[i]);
    if (Close(target, changed)) return fmt::format(fmt::runtime(format), number.text);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindExpression(const std::vector<KnownNumber>& known,
                                          const std::vector<double>& values) {
  if (std::set<double>(values.begin(), values.end()).size() < 3) return std::nullopt;
  std::vector<KnownNumber> leaves = known;
  leaves.push_back({"1.0", std::vector<double>(values.size(), 1.0)});
  for (const KnownNumber& leaf : leaves) {
    if (const auto text = Match(leaf, values)) return text;
  }
  std::vector<KnownNumber> pairs;
  for (const KnownNumber& a : leaves) {
    for (const KnownNumber& b : leaves) {
      for (const char* operation = kOperations; *operation; ++operation) {
        KnownNumber pair = Combined(*operation, a, b);
        if (!Usable(pair)) continue;
        if (const auto text = Match(pair, values)) return text;
        pairs.push_back(std::move(pair));
      }
    }
  }
  // A leaf and a pair, then one more leaf: only numbers, their text is made for the one that fits.
  for (const KnownNumber& pair : pairs) {
    for (const KnownNumber& leaf : leaves) {
      for (const char* operation = kOperations; *operation; ++operation) {
        for (const bool swapped : {false, true}) {
          KnownNumber triple =
              swapped ? Combined(*operation, leaf, pair) : Combined(*operation, pair, leaf);
          if (!Usable(triple)) continue;
          if (const auto text = Match(triple, values)) return text;
          for (const KnownNumber& last : leaves) {
            // The first configuration alone is checked before anything is built.
            for (const char* outer = kOperations; *outer; ++outer) {
              const double first = Apply(*outer, last.values[0], triple.values[0]);
              if (!(std::abs(std::abs(first) - std::abs(values[0])) <= 1e-9 * std::abs(values[0])))
                continue;
              const KnownNumber whole = Combined(*outer, last, triple);
              if (!Usable(whole)) continue;
              if (const auto text = Match(whole, values)) return text;
            }
          }
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace kernelsmith::codegen
