#include "graph/aten_ops.h"

#include <cstdlib>
#include <limits>
#include <map>

#include "support/check.h"

namespace kernelsmith {
namespace {

// The defaults of aten_ops.def: none, true, false, [], 'text', 3, 0.01.
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

// An Operator as aten_ops.def has it.
struct Row {
  AtenOp op;
  const char* name;
  OperatorClass kind;
  Codegen codegen;
  EagerCost eager;
  Degree degree;
  const char* parameters;
  OperatorFacts facts;
};

// Row i is the operator whose enumerator is i.
std::vector<Operator> MakeTable() {
  using enum SumKind;
  using enum ChoiceKind;
  constexpr int64_t kDim = Cut::kDim;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<Operator> table = {{.op = AtenOp::kUnknown}};
  const auto add = [&](const Row& row) __attribute__((noinline)) {
    table.push_back({.op = row.op,
                     .name = row.name,
                     .kind = row.kind,
                     .codegen = row.codegen,
                     .eager = row.eager,
                     .degree = row.degree,
                     .parameters = ParseParameters(row.parameters),
                     .facts = row.facts});
  };
  // A row is a call: hundreds of rows in place would be a function that takes long to compile.
#define KS_ROW(class_, enumerator_, name_, implementation_, codegen_, eager_, degree_, \
               parameters_, ...)                                                       \
  add({.op = AtenOp::k##enumerator_,                                                   \
       .name = name_,                                                                  \
       .kind = OperatorClass::class_,                                                  \
       .codegen = Codegen::k##codegen_,                                                \
       .eager = EagerCost::k##eager_,                                                  \
       .degree = Degree::k##degree_,                                                   \
       .parameters = parameters_,                                                      \
       .facts = {__VA_ARGS__}});
#define KS_POINTWISE(...) KS_ROW(kPointwise, __VA_ARGS__)
#define KS_REDUCTION(...) KS_ROW(kReduction, __VA_ARGS__)
#define KS_LAYOUT(...) KS_ROW(kLayout, __VA_ARGS__)
#define KS_CREATION(...) KS_ROW(kCreation, __VA_ARGS__)
#define KS_LINEAR(...) KS_ROW(kLinear, __VA_ARGS__)
#define KS_WINDOW(...) KS_ROW(kWindow, __VA_ARGS__)
#define KS_NORM(...) KS_ROW(kNorm, __VA_ARGS__)
#define KS_RANDOM(enumerator, name) \
  KS_ROW(kRandom, enumerator, name, , NotLowered, Pointwise, Unbounded, "")
#define KS_FOREIGN(enumerator, name, eager, ...) \
  KS_ROW(kForeign, enumerator, name, , NotLowered, eager, Unbounded, "", __VA_ARGS__)
#include "graph/aten_ops.def"
#undef KS_ROW
  return table;
}

const std::vector<Operator>& Table() {
  static const std::vector<Operator> table = MakeTable();
  return table;
}

// "aten.add_.Tensor" -> "add".
std::string_view FunctionName(std::string_view op) {
  const size_t first = op.find('.');
  if (first != std::string_view::npos) op.remove_prefix(first + 1);
  op = op.substr(0, op.find('.'));
  if (op.ends_with('_')) op.remove_suffix(1);
  return op;
}

using Index = std::map<std::string_view, AtenOp>;

// The first row of each key.
Index IndexBy(std::string_view (*key)(std::string_view name)) {
  Index index;
  for (const Operator& row : AllOperators()) index.emplace(key(row.name), row.op);
  return index;
}

AtenOp Find(const Index& index, std::string_view key) {
  const auto found = index.find(key);
  return found == index.end() ? AtenOp::kUnknown : found->second;
}

}  // namespace

std::optional<size_t> Operator::FindParameter(std::string_view parameter) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == parameter) return i;
  }
  return std::nullopt;
}

std::span<const Operator> AllOperators() { return std::span(Table()).subspan(1); }

const Operator& OperatorOf(AtenOp op) { return Table()[static_cast<size_t>(op)]; }

AtenOp FindOperator(std::string_view name) {
  static const Index index = IndexBy([](std::string_view whole) { return whole; });
  return Find(index, name);
}

AtenOp FindFunction(std::string_view name) {
  static const Index index = IndexBy(FunctionName);
  return Find(index, FunctionName(name));
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
    case OperatorClass::kForeign:
      return "foreign";
  }
  KS_UNREACHABLE();
}

}  // namespace kernelsmith
