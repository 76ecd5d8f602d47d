#include "graph/operators.h"

#include <cstdlib>
#include <map>

#include "support/check.h"

namespace kernelsmith {
namespace {

// The defaults of operators.def: none, true, false, [], 'text', 3, 0.01.
Argument ParseDefault(std::string_view text) {
  if (text == "none") return {Argument::None{}};
  if (text == "true") return {true};
  if (text == "false") return {false};
  if (text == "[]") return {Argument::List{}};
  if (text.starts_with('\'')) return {std::string(text.substr(1, text.size() - 2))};
  const std::string number(text);
  if (text.find('.') != std::string_view::npos) return {std::strtod(number.c_str(), nullptr)};
  return {static_cast<int64_t>(std::strtoll(number.c_str(), nullptr, 10))};
}

std::vector<Parameter> ParseParameters(std::string_view text) {
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const size_t equals = item.find('=');
    Parameter parameter{.name = std::string(item.substr(0, equals))};
    if (equals != std::string_view::npos)
      parameter.fallback = ParseDefault(item.substr(equals + 1));
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::vector<Operator> MakeTable() {
  std::vector<Operator> table;
  const auto add = [&](const char* name, OperatorClass kind, const char* parameters) {
    table.push_back({.name = name,
                     .kind = kind,
                     .parameters = ParseParameters(parameters),
                     .number = table.size()});
  };
#define KS_POINTWISE(name, parameters, implementation) \
  add(name, OperatorClass::kPointwise, parameters);
#define KS_REDUCTION(name, parameters, implementation) \
  add(name, OperatorClass::kReduction, parameters);
#define KS_LAYOUT(name, parameters, implementation) add(name, OperatorClass::kLayout, parameters);
#define KS_CREATION(name, parameters, implementation) \
  add(name, OperatorClass::kCreation, parameters);
#define KS_LINEAR(name, parameters, implementation) add(name, OperatorClass::kLinear, parameters);
#define KS_WINDOW(name, parameters, implementation) add(name, OperatorClass::kWindow, parameters);
#define KS_NORM(name, parameters, implementation) add(name, OperatorClass::kNorm, parameters);
#define KS_RANDOM(name) add(name, OperatorClass::kRandom, "");
#include "graph/operators.def"
  return table;
}

const std::vector<Operator>& Table() {
  static const std::vector<Operator> table = MakeTable();
  return table;
}

}  // namespace

std::span<const Operator> AllOperators() { return Table(); }

const Operator* FindOperator(std::string_view name) {
  static const std::map<std::string_view, const Operator*> index = [] {
    std::map<std::string_view, const Operator*> by_name;
    for (const Operator& op : Table()) by_name.emplace(op.name, &op);
    return by_name;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

std::string_view OperatorClassName(OperatorClass kind) {
  switch (kind) {
    case OperatorClass::kPointwise:
      return "pointwise";
    case OperatorClass::kReduction:
      return "reduction";
    case OperatorClass::kLayout:
      return "layout";
    case OperatorClass::kCreation:
      return "creation";
    case OperatorClass::kLinear:
      return "linear";
    case OperatorClass::kWindow:
      return "window";
    case OperatorClass::kNorm:
      return "norm";
    case OperatorClass::kRandom:
      return "random";
  }
  KS_UNREACHABLE();
}

}  // namespace kernelsmith
