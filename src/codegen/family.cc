#include "codegen/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "codegen/number_search.h"

namespace kernelsmith::codegen {
namespace {

bool AllEqual(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
}

bool SameArgument(const Argument& a, const Argument& b) {
  if (a.value.index() != b.value.index()) {
    // 1 in one configuration and 1.0 in another are both numbers.
    const auto number = [](const Argument& x) {
      return std::holds_alternative<int64_t>(x.value) || std::holds_alternative<double>(x.value);
    };
    return number(a) && number(b);
  }
  if (const auto* list = std::get_if<Argument::List>(&a.value)) {
    const auto& other = std::get<Argument::List>(b.value);
    if (list->size() != other.size()) return false;
    for (size_t i = 0; i < list->size(); ++i) {
      if (!SameArgument((*list)[i], other[i])) return false;
    }
    return true;
  }
  if (std::holds_alternative<int64_t>(a.value) || std::holds_alternative<double>(a.value))
    return true;
  return a == b;
}

// Values nobody would pass as an argument to mean anything but themselves.
bool IsTrivial(double value) {
  return value == 0 || value == 1 || value == -1 || value == 2 || value == 0.5;
}

bool Close(double a, double b) { return a == b || std::abs(a - b) <= 1e-12 * std::abs(b); }

std::string HostText(const Int& expression) {
  return ToText(expression, [](const Atom& atom) { return atom->name; });
}

}  // namespace

bool SameStructure(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size() || a.outputs.size() != b.outputs.size()) return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const Node &x = a.nodes[i], &y = b.nodes[i];
    if (x.kind != y.kind || x.name != y.name || x.op != y.op ||
        x.outputs.size() != y.outputs.size() || x.args.size() != y.args.size()) {
      return false;
    }
    for (size_t j = 0; j < x.outputs.size(); ++j) {
      if (x.outputs[j].has_value() != y.outputs[j].has_value()) return false;
      if (!x.outputs[j]) continue;
      if (x.outputs[j]->shape.size() != y.outputs[j]->shape.size() ||
          x.outputs[j]->dtype != y.outputs[j]->dtype) {
        return false;
      }
    }
    for (size_t j = 0; j < x.args.size(); ++j) {
      if (!SameArgument(x.args[j], y.args[j])) return false;
    }
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const GraphOutput &x = a.outputs[i], &y = b.outputs[i];
    if (x.role != y.role || x.index != y.index || x.of != y.of || !(x.value == y.value))
      return false;
  }
  return true;
}

void Family::AddCandidate(const Int& expression, std::vector<int64_t> values) {
  if (AllEqual(values) && count() > 1) return;
  if (!by_values_.emplace(values, candidates_.size()).second) return;
  candidates_.push_back({expression, std::move(values)});
}

void Family::Offer(const Int& expression) {
  if (!expression.constant()) AddCandidate(expression, ValuesOf(expression));
}

int64_t Family::LargestOf(const Int& expression) const {
  const std::vector<int64_t> values = ValuesOf(expression);
  return *std::max_element(values.begin(), values.end());
}

int64_t Family::ValueOf(const Int& expression, size_t configuration) const {
  return Evaluate(expression, [&](const std::string& name) -> int64_t {
    for (const Symbol& symbol : symbols_) {
      if (symbol.name == name) return symbol.values[configuration];
    }
    return 0;
  });
}
std::vector<int64_t> Family::ValuesOf(const Int& expression) const {
  std::vector<int64_t> values;
  for (size_t i = 0; i < count(); ++i) values.push_back(ValueOf(expression, i));
  return values;
}

Result<Family> Family::Make(std::vector<std::shared_ptr<const Graph>> graphs,
                            std::vector<NumberArgument> numbers,
                            const std::map<std::string, std::vector<int64_t>>& size_names,
                            const std::vector<std::string>& taken_names) {
  Family family;
  family.graphs_ = std::move(graphs);
  family.numbers_ = std::move(numbers);
  const Graph& graph = family.graph();
  std::set<std::string> taken(taken_names.begin(), taken_names.end());
  // With a single configuration nothing is known to vary; sizes from here on are taken to.
  constexpr int64_t kSmallestSize = 8;
  const auto varies = [&](const std::vector<int64_t>& values) {
    return family.count() > 1 ? !AllEqual(values) : values[0] >= kSmallestSize;
  };
  const auto add_symbol = [&](const std::string& wanted, const std::string& text,
                              const std::vector<int64_t>& values) {
    std::string name = wanted;
    for (int n = 2; taken.contains(name); ++n) name = fmt::format("{}_{}", wanted, n);
    taken.insert(name);
    family.symbols_.push_back({name, text, values});
    family.AddCandidate(Size(name), values);
  };
  for (const NumberArgument& number : family.numbers_) {
    if (!number.integer) continue;
    std::vector<int64_t> values(number.values.begin(), number.values.end());
    if (family.count() > 1 && !AllEqual(values)) {
      family.symbols_.push_back({number.name, "", values});
      family.AddCandidate(Size(number.name), values);
    }
  }
  for (const size_t at : graph.placeholders) {
    const Node& node = graph.nodes[at];
    if (std::find(taken_names.begin(), taken_names.end(), node.name) == taken_names.end()) continue;
    for (size_t d = 0; d < node.outputs[0]->shape.size(); ++d) {
      std::vector<int64_t> values;
      for (const auto& each : family.graphs_)
        values.push_back(each->nodes[at].outputs[0]->shape[d]);
      const std::string text = fmt::format("{}.size({})", node.name, d);
      if (!varies(values)) {
        family.assumptions_.push_back({text, Int(values[0])});
        continue;
      }
      const auto known = family.by_values_.find(values);
      if (known != family.by_values_.end()) {
        family.assumptions_.push_back({text, family.candidates_[known->second].expression});
        continue;
      }
      std::string name = fmt::format("{}_{}", node.name, d);
      for (const auto& [wanted, sizes] : size_names) {
        if (sizes == values) name = wanted;
      }
      add_symbol(name, text, values);
    }
  }
  // Products: what views merge sizes into.
  const size_t base = family.candidates_.size();
  for (size_t i = 0; i < base; ++i) {
    for (size_t j = i; j < base; ++j) {
      family.Offer(family.candidates_[i].expression * family.candidates_[j].expression);
    }
  }
  for (const size_t at : graph.placeholders) {
    std::vector<Int> shape;
    for (size_t d = 0; d < graph.nodes[at].outputs[0]->shape.size(); ++d) {
      std::vector<int64_t> values;
      for (const auto& each : family.graphs_)
        values.push_back(each->nodes[at].outputs[0]->shape[d]);
      const auto size = family.Fit(values);
      if (!size) break;  // a placeholder that the function does not get
      shape.push_back(*size);
    }
    for (size_t first = 0; first < shape.size(); ++first) {
      Int product(1);
      for (size_t last = first; last < shape.size(); ++last) {
        product = product * shape[last];
        family.Offer(product);
      }
    }
  }
  for (size_t i = 0; i < base; ++i) {
    for (size_t j = i; j < base; ++j) {
      for (size_t k = j; k < base; ++k) {
        family.Offer(family.candidates_[i].expression * family.candidates_[j].expression *
                     family.candidates_[k].expression);
      }
    }
  }
  return family;
}

std::optional<Int> Family::Fit(const std::vector<int64_t>& values) const {
  if (count() > 1 && AllEqual(values)) return Int(values[0]);
  const auto known = by_values_.find(values);
  if (known != by_values_.end()) return candidates_[known->second].expression;
  if (AllEqual(values)) return Int(values[0]);
  // c·a, a / c, a + c for a constant c; then quotients, sums and differences of two.
  for (const Candidate& candidate : candidates_) {
    const auto& a = candidate.values;
    if (a[0] != 0 && values[0] % a[0] == 0) {
      const int64_t factor = values[0] / a[0];
      bool fits = true;
      for (size_t i = 0; i < a.size(); ++i) fits = fits && values[i] == factor * a[i];
      if (fits) return Int(factor) * candidate.expression;
    }
  }
  for (const Candidate& candidate : candidates_) {
    const auto& a = candidate.values;
    bool offset = true;
    for (size_t i = 0; i < a.size(); ++i) offset = offset && values[i] - a[i] == values[0] - a[0];
    if (offset && std::abs(values[0] - a[0]) <= 16)
      return candidate.expression + Int(values[0] - a[0]);
  }
  for (const Candidate& candidate : candidates_) {
    const auto& a = candidate.values;
    for (int64_t divisor = 2; divisor <= 16; ++divisor) {
      bool floor = true, ceiling = true;
      for (size_t i = 0; i < a.size(); ++i) {
        floor = floor && values[i] == a[i] / divisor;
        ceiling = ceiling && values[i] == (a[i] + divisor - 1) / divisor;
      }
      if (floor) return Divide(candidate.expression, Int(divisor));
      if (ceiling) return CeilDivide(candidate.expression, Int(divisor));
    }
  }
  const size_t most = std::min<size_t>(candidates_.size(), 200);
  for (size_t i = 0; i < most; ++i) {
    for (size_t j = 0; j < most; ++j) {
      const auto &a = candidates_[i].values, &b = candidates_[j].values;
      bool sum = true, difference = true, product = true, quotient = true;
      for (size_t k = 0; k < a.size(); ++k) {
        sum = sum && values[k] == a[k] + b[k];
        difference = difference && values[k] == a[k] - b[k];
        product = product && values[k] == a[k] * b[k];
        quotient = quotient && b[k] != 0 && a[k] % b[k] == 0 && values[k] == a[k] / b[k];
      }
      const Int &x = candidates_[i].expression, &y = candidates_[j].expression;
      if (product) return x * y;
      if (quotient) return Divide(x, y);
      if (sum) return x + y;
      if (difference) return x - y;
    }
  }
  return std::nullopt;
}

std::optional<std::string> Family::FitNumber(const std::vector<double>& values) const {
  const bool constant = std::all_of(values.begin(), values.end(), [&](double v) {
    return v == values[0] || (std::isnan(v) && std::isnan(values[0]));
  });
  const auto matches = [&](const std::vector<double>& other) {
    bool same = other.size() == values.size();
    for (size_t i = 0; same && i < other.size(); ++i) same = Close(values[i], other[i]);
    return same;
  };
  if (!constant || !IsTrivial(values[0])) {
    for (const NumberArgument& number : numbers_) {
      if (matches(number.values)) return number.name;
    }
  }
  if (constant) return std::string();
  // c · size^p: scales of attention, means.
  constexpr std::pair<double, const char*> kPowers[] = {
      {-1, "{} / {}"},
      {1, "{} * {}"},
      {-0.5, "{} / std::sqrt(double({}))"},
      {0.5, "{} * std::sqrt(double({}))"},
      {-0.25, "{} / std::sqrt(std::sqrt(double({})))"},
      {0.25, "{} * std::sqrt(std::sqrt(double({})))"}};
  for (const auto& [power, format] : kPowers) {
    for (const Candidate& candidate : candidates_) {
      const double factor = values[0] / std::pow(double(candidate.values[0]), power);
      bool fits = std::isfinite(factor) && factor != 0;
      for (size_t i = 0; fits && i < values.size(); ++i) {
        fits = std::abs(values[i] - factor * std::pow(double(candidate.values[i]), power)) <=
               1e-9 * std::abs(values[i]);
      }
      if (!fits) continue;
      // The simplest decimal that still fits.
      std::string text;
      for (int digits = 1; digits <= 17; ++digits) {
        text = fmt::format("{:.{}g}", factor, digits);
        if (std::abs(std::stod(text) - factor) <= 1e-12 * std::abs(factor)) break;
      }
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      const std::string size = HostText(candidate.expression);
      return fmt::format(
          fmt::runtime(format), text,
          size.find(' ') != std::string::npos && power == -1 ? "(" + size + ")" : size);
    }
  }
  // One over a whole number, such as the number of elements of a mean.
  std::vector<int64_t> counts;
  for (const double v : values) counts.push_back(std::llround(1 / v));
  bool exact = true;
  for (size_t i = 0; i < values.size(); ++i)
    exact = exact && counts[i] != 0 && Close(values[i], 1.0 / counts[i]);
  if (exact) {
    if (const auto count = Fit(counts)) return fmt::format("1.0 / ({})", HostText(*count));
  }
  std::vector<KnownNumber> known;
  for (const NumberArgument& number : numbers_) known.push_back({number.name, number.values});
  return FindExpression(known, values);
}

}  // namespace kernelsmith::codegen
