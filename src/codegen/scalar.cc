#include "codegen/scalar.h"

#include <algorithm>
#include <bit>
#include <map>

#include "support/check.h"

namespace kernelsmith::codegen {
namespace {

constexpr Function kFunctions[] = {
    {"add", "{0} + {1}", "{0} + {1}", "{0} + {1}"},
    {"sub", "{0} - {1}", "{0} - {1}", "{0} - {1}"},
    {"mul", "{0} * {1}", "{0} * {1}", "{0} * {1}"},
    {"div", "{0} / {1}", "{0} / {1}", nullptr, false, 4},
    {"quotient", "truncf({0} / {1})", "trunc({0} / {1})", "{0} / {1}", false, 8},
    {"floor_quotient", "floorf({0} / {1})", "floor({0} / {1})", "FloorQuotient({0}, {1})", false,
     8},
    {"fmod", "fmodf({0}, {1})", "fmod({0}, {1})", "{0} % {1}", false, 16},
    {"floor_remainder", "({0} - floorf({0} / {1}) * {1})", "({0} - floor({0} / {1}) * {1})",
     "({0} - FloorQuotient({0}, {1}) * {1})", false, 16},
    {"neg", "-{0}", "-{0}", "-{0}"},
    {"abs", "fabsf({0})", "fabs({0})", "({0} < 0 ? -{0} : {0})"},
    // As PyTorch: a NaN has the sign 0.
    {"sign", "({0} > 0.0f ? 1.0f : {0} < 0.0f ? -1.0f : 0.0f)",
     "({0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : 0.0)", "({0} > 0 ? 1 : {0} < 0 ? -1 : 0)"},
    {"sqrt", "sqrtf({0})", "sqrt({0})", nullptr, false, 8},
    {"rsqrt", "rsqrtf({0})", "rsqrt({0})", nullptr, false, 4},
    {"pow", "powf({0}, {1})", "pow({0}, {1})", nullptr, false, 24},
    {"hypot", "hypotf({0}, {1})", "hypot({0}, {1})", nullptr, false, 12},
    {"floor", "floorf({0})", "floor({0})", "{0}"},
    {"ceil", "ceilf({0})", "ceil({0})", "{0}"},
    {"round", "rintf({0})", "rint({0})", "{0}"},
    {"trunc", "truncf({0})", "trunc({0})", "{0}"},
    {"exp", "expf({0})", "exp({0})", nullptr, false, 6},
    {"exp2", "exp2f({0})", "exp2({0})", nullptr, false, 6},
    {"expm1", "expm1f({0})", "expm1({0})", nullptr, false, 12},
    {"log", "logf({0})", "log({0})", nullptr, false, 8},
    {"log2", "log2f({0})", "log2({0})", nullptr, false, 8},
    {"log10", "log10f({0})", "log10({0})", nullptr, false, 10},
    {"log1p", "log1pf({0})", "log1p({0})", nullptr, false, 12},
    {"sin", "sinf({0})", "sin({0})", nullptr, false, 16},
    {"cos", "cosf({0})", "cos({0})", nullptr, false, 16},
    {"tan", "tanf({0})", "tan({0})", nullptr, false, 20},
    {"asin", "asinf({0})", "asin({0})", nullptr, false, 16},
    {"acos", "acosf({0})", "acos({0})", nullptr, false, 16},
    {"atan", "atanf({0})", "atan({0})", nullptr, false, 16},
    {"atan2", "atan2f({0}, {1})", "atan2({0}, {1})", nullptr, false, 20},
    {"sinh", "sinhf({0})", "sinh({0})", nullptr, false, 16},
    {"cosh", "coshf({0})", "cosh({0})", nullptr, false, 16},
    {"tanh", "tanhf({0})", "tanh({0})", nullptr, false, 12},
    {"asinh", "asinhf({0})", "asinh({0})", nullptr, false, 16},
    {"acosh", "acoshf({0})", "acosh({0})", nullptr, false, 16},
    {"atanh", "atanhf({0})", "atanh({0})", nullptr, false, 16},
    {"erf", "erff({0})", "erf({0})", nullptr, false, 16},
    {"erfc", "erfcf({0})", "erfc({0})", nullptr, false, 20},
    {"lgamma", "lgammaf({0})", "lgamma({0})", nullptr, false, 40},
    // As PyTorch: a NaN among the operands is the result; fmaxf would drop it.
    {"max", "Maximum({0}, {1})", "Maximum({0}, {1})", "max({0}, {1})", false, 2},
    {"min", "Minimum({0}, {1})", "Minimum({0}, {1})", "min({0}, {1})", false, 2},
    {"eq", "{0} == {1}", "{0} == {1}", "{0} == {1}", true},
    {"ne", "{0} != {1}", "{0} != {1}", "{0} != {1}", true},
    {"lt", "{0} < {1}", "{0} < {1}", "{0} < {1}", true},
    {"le", "{0} <= {1}", "{0} <= {1}", "{0} <= {1}", true},
    {"gt", "{0} > {1}", "{0} > {1}", "{0} > {1}", true},
    {"ge", "{0} >= {1}", "{0} >= {1}", "{0} >= {1}", true},
    {"isnan", "isnan({0})", "isnan({0})", "false", true},
    {"isinf", "isinf({0})", "isinf({0})", "false", true},
    {"and", nullptr, nullptr, "{0} && {1}", true},
    {"or", nullptr, nullptr, "{0} || {1}", true},
    {"xor", nullptr, nullptr, "{0} != {1}", true},
    {"not", nullptr, nullptr, "!{0}", true},
    {"bit_and", nullptr, nullptr, "{0} & {1}"},
    {"bit_or", nullptr, nullptr, "{0} | {1}"},
    {"bit_xor", nullptr, nullptr, "{0} ^ {1}"},
    {"bit_not", nullptr, nullptr, "~{0}"},
    {"shift_left", nullptr, nullptr, "{0} << {1}"},
    {"shift_right", nullptr, nullptr, "{0} >> {1}"},
    {"where", "{0} ? {1} : {2}", "{0} ? {1} : {2}", "{0} ? {1} : {2}"},
};

uint64_t Mix(uint64_t seed, uint64_t value) {
  uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
uint64_t HashText(uint64_t seed, const std::string& text) {
  uint64_t hash = Mix(seed, text.size());
  for (const char c : text) hash = Mix(hash, static_cast<unsigned char>(c));
  return hash;
}

bool Wide(DType dtype) { return dtype == DType::kFloat64 || dtype == DType::kInt64; }

// As PyTorch promotes, apart from half types, which are float in registers.
DType Common(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if (IsFloat(a) && IsFloat(b)) return Wide(a) || Wide(b) ? DType::kFloat64 : DType::kFloat32;
  if (IsFloat(a)) return a;
  if (IsFloat(b)) return b;
  return SizeOf(a) >= SizeOf(b) ? a : b;
}

}  // namespace

const Function& FunctionByName(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return function;
  }
  KS_CHECK(false, "a function that the table lacks: " + std::string(name));
  return kFunctions[0];
}

DType RegisterType(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBfloat16:
      return DType::kFloat32;
    case DType::kInt8:
    case DType::kInt16:
    case DType::kUint8:
      return DType::kInt32;
    default:
      return dtype;
  }
}

Scalar ScalarNode::Make(ScalarNode node) {
  uint64_t parts[2];
  for (int i = 0; i < 2; ++i) {
    uint64_t hash = Mix(0x1234567 + i, static_cast<uint64_t>(node.kind));
    hash = Mix(hash, static_cast<uint64_t>(node.dtype));
    hash = Mix(hash, std::bit_cast<uint64_t>(node.number));
    hash = Mix(hash, static_cast<uint64_t>(node.integer));
    hash = Mix(hash, node.buffer);
    for (const Int& index : node.index) hash = HashText(hash, index.key());
    hash = HashText(hash, node.name);
    if (node.function) hash = HashText(hash, node.function->name);
    for (const Scalar& arg : node.args) hash = Mix(hash, i ? arg->hash_.second : arg->hash_.first);
    parts[i] = hash;
  }
  node.hash_ = {parts[0], parts[1]};
  return std::make_shared<const ScalarNode>(std::move(node));
}

Scalar Number(double value, DType dtype) {
  ScalarNode node;
  node.dtype = RegisterType(dtype);
  if (!IsFloat(node.dtype)) return Integer(static_cast<int64_t>(value), dtype);
  node.number = value;
  return ScalarNode::Make(std::move(node));
}
Scalar Integer(int64_t value, DType dtype) {
  ScalarNode node;
  node.dtype = RegisterType(dtype);
  if (IsFloat(node.dtype)) return Number(static_cast<double>(value), dtype);
  if (dtype == DType::kBool) value = value != 0;
  node.integer = value;
  return ScalarNode::Make(std::move(node));
}
Scalar Truth(bool value) { return Integer(value ? 1 : 0, DType::kBool); }
Scalar Load(BufferId buffer, std::vector<Int> index, DType dtype) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::kLoad;
  node.dtype = RegisterType(dtype);
  node.buffer = buffer;
  node.index = std::move(index);
  return ScalarNode::Make(std::move(node));
}
Scalar Index(const Int& index, DType dtype) {
  if (const auto value = index.constant()) return Integer(*value, dtype);
  ScalarNode node;
  node.kind = ScalarNode::Kind::kIndex;
  node.dtype = DType::kInt64;
  node.index = {index};
  return Cast(ScalarNode::Make(std::move(node)), dtype);
}
Scalar HostNumber(const std::string& text, DType dtype) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::kParameter;
  node.dtype = RegisterType(dtype);
  node.name = text;
  return ScalarNode::Make(std::move(node));
}
Scalar Variable(const std::string& name, DType dtype) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::kVariable;
  node.dtype = RegisterType(dtype);
  node.name = name;
  return ScalarNode::Make(std::move(node));
}
Scalar Cast(const Scalar& value, DType dtype) {
  const DType wanted = RegisterType(dtype);
  // Narrow integers live in an int: the cast to them still has to wrap.
  const bool wraps = !IsFloat(dtype) && dtype != DType::kBool && SizeOf(dtype) < 4;
  if (value->dtype == wanted && !wraps) return value;
  if (value->kind == ScalarNode::Kind::kConstant && !wraps) {
    if (IsFloat(value->dtype)) {
      if (IsFloat(wanted)) return Number(value->number, wanted);
      if (wanted == DType::kBool) return Truth(value->number != 0);
    } else {
      return Integer(value->integer, wanted);
    }
  }
  ScalarNode node;
  node.kind = ScalarNode::Kind::kCast;
  node.dtype = wanted;
  node.integer = static_cast<int64_t>(dtype);
  node.args = {value};
  return ScalarNode::Make(std::move(node));
}

Scalar Call(std::string_view name, std::vector<Scalar> args) {
  const Function& function = FunctionByName(name);
  const bool where = name == "where";
  DType type = args[where ? 1 : 0]->dtype;
  for (size_t i = where ? 1 : 0; i < args.size(); ++i) type = Common(type, args[i]->dtype);
  if (!IsFloat(type) && function.in_integer == nullptr) type = DType::kFloat32;
  const bool logical = function.truth && function.in_float == nullptr;
  if (logical) type = DType::kBool;
  // Arithmetic of bools is that of integers, as C has it; PyTorch never asks for it.
  for (size_t i = where ? 1 : 0; i < args.size(); ++i) args[i] = Cast(args[i], type);
  if (where) args[0] = Cast(args[0], DType::kBool);
  const auto is = [&](size_t i, double x) { return IsConstant(args[i], x); };
  if (name == "mul" && is(0, 1)) return args[1];
  if (name == "mul" && is(1, 1)) return args[0];
  if (name == "add" && is(1, 0)) return args[0];
  if (name == "add" && is(0, 0)) return args[1];
  if (name == "sub" && is(1, 0)) return args[0];
  if (name == "div" && is(1, 1)) return args[0];
  if (name == "and" && args[0]->kind == ScalarNode::Kind::kConstant)
    return args[0]->integer ? args[1] : args[0];
  if (name == "and" && args[1]->kind == ScalarNode::Kind::kConstant)
    return args[1]->integer ? args[0] : args[1];
  if (name == "or" && args[0]->kind == ScalarNode::Kind::kConstant)
    return args[0]->integer ? args[0] : args[1];
  if (name == "or" && args[1]->kind == ScalarNode::Kind::kConstant)
    return args[1]->integer ? args[1] : args[0];
  if (name == "not" && args[0]->kind == ScalarNode::Kind::kConstant)
    return Truth(args[0]->integer == 0);
  if (where && args[0]->kind == ScalarNode::Kind::kConstant)
    return args[0]->integer ? args[1] : args[2];
  if (where && SameScalar(args[1], args[2])) return args[1];
  ScalarNode node;
  node.kind = ScalarNode::Kind::kCall;
  node.dtype = function.truth ? DType::kBool : type;
  node.function = &function;
  node.args = std::move(args);
  return ScalarNode::Make(std::move(node));
}

Scalar Guard(const Scalar& condition, const Scalar& value, const Scalar& otherwise) {
  if (condition->kind == ScalarNode::Kind::kConstant) return condition->integer ? value : otherwise;
  ScalarNode node;
  node.kind = ScalarNode::Kind::kGuard;
  node.dtype = value->dtype;
  node.args = {condition, value, Cast(otherwise, value->dtype)};
  return ScalarNode::Make(std::move(node));
}

Scalar operator+(const Scalar& a, const Scalar& b) { return Call("add", {a, b}); }
Scalar operator-(const Scalar& a, const Scalar& b) { return Call("sub", {a, b}); }
Scalar operator*(const Scalar& a, const Scalar& b) { return Call("mul", {a, b}); }
Scalar operator/(const Scalar& a, const Scalar& b) { return Call("div", {a, b}); }

Scalar LessThan(const Int& a, const Int& b) {
  if (const auto difference = (b - a).constant()) return Truth(*difference > 0);
  if (KnownLess(a, b)) return Truth(true);
  return Call("lt", {Index(a), Index(b)});
}
Scalar NotNegative(const Int& a) {
  if (const auto value = a.constant()) return Truth(*value >= 0);
  if (KnownNonNegative(a)) return Truth(true);
  return Call("ge", {Index(a), Integer(0)});
}
Scalar And(const Scalar& a, const Scalar& b) { return Call("and", {a, b}); }

bool SameScalar(const Scalar& a, const Scalar& b) { return a == b || a->hash() == b->hash(); }

std::optional<Int> AsIndex(const Scalar& value) {
  if (IsFloat(value->dtype)) return std::nullopt;
  if (value->kind == ScalarNode::Kind::kIndex) return value->index[0];
  if (value->kind == ScalarNode::Kind::kConstant) return Int(value->integer);
  if (value->kind == ScalarNode::Kind::kCast && value->dtype == DType::kInt64 &&
      value->args[0]->dtype == DType::kInt32) {
    return AsIndex(value->args[0]);
  }
  if (value->kind == ScalarNode::Kind::kCall && value->args.size() == 2 &&
      IsInteger(value->dtype)) {
    const std::string_view name = value->function->name;
    if (name != "add" && name != "sub" && name != "mul") return std::nullopt;
    const auto a = AsIndex(value->args[0]), b = AsIndex(value->args[1]);
    if (!a || !b) return std::nullopt;
    return name == "add" ? *a + *b : name == "sub" ? *a - *b : *a * *b;
  }
  return std::nullopt;
}
bool IsConstant(const Scalar& value, double number) {
  if (value->kind != ScalarNode::Kind::kConstant) return false;
  return IsFloat(value->dtype) ? value->number == number
                               : static_cast<double>(value->integer) == number;
}

bool IsMinusInfinity(const Scalar& value) {
  return value->kind == ScalarNode::Kind::kConstant && IsFloat(value->dtype) &&
         std::isinf(value->number) && value->number < 0;
}

bool IsCall(const Scalar& value, std::string_view name) {
  return value->kind == ScalarNode::Kind::kCall && value->function->name == name;
}

namespace {

void Visit(const Scalar& value, std::set<ScalarNode::Hash>& seen,
           const std::function<void(const Scalar&)>& visit) {
  if (!seen.insert(value->hash()).second) return;
  for (const Scalar& arg : value->args) Visit(arg, seen, visit);
  for (const Int& index : value->index) {
    VisitAtoms(index, [&](const Atom& atom) {
      if (atom->kind == AtomNode::Kind::kValue) Visit(atom->value, seen, visit);
    });
  }
  visit(value);
}

}  // namespace

void VisitScalars(const Scalar& value, const std::function<void(const Scalar&)>& visit) {
  std::set<ScalarNode::Hash> seen;
  Visit(value, seen, visit);
}
bool UsesAxis(const Scalar& value, const Atom& axis) {
  bool found = false;
  VisitScalars(value, [&](const Scalar& node) {
    for (const Int& index : node->index) {
      VisitAtoms(index, [&](const Atom& atom) { found = found || atom->key == axis->key; });
    }
  });
  return found;
}
std::set<BufferId> Loaded(const Scalar& value) {
  std::set<BufferId> buffers;
  VisitScalars(value, [&](const Scalar& node) {
    if (node->kind == ScalarNode::Kind::kLoad) buffers.insert(node->buffer);
  });
  return buffers;
}
bool LoadsFrom(const Scalar& value, BufferId buffer) { return Loaded(value).contains(buffer); }
int CostOf(const Scalar& value) {
  int cost = 0;
  VisitScalars(value, [&](const Scalar& node) {
    if (node->kind == ScalarNode::Kind::kCall) cost += node->function->cost;
  });
  return cost;
}

namespace {

using Memo = std::map<ScalarNode::Hash, Scalar>;

Scalar Rebuild(const Scalar& value, std::vector<Scalar> args, std::vector<Int> index) {
  switch (value->kind) {
    case ScalarNode::Kind::kCall:
      return Call(value->function->name, std::move(args));
    case ScalarNode::Kind::kCast:
      return Cast(args[0], static_cast<DType>(value->integer));
    case ScalarNode::Kind::kGuard:
      return Guard(args[0], args[1], args[2]);
    case ScalarNode::Kind::kIndex:
      return Index(index[0], value->dtype);
    case ScalarNode::Kind::kLoad:
      return Load(value->buffer, std::move(index), value->dtype);
    default:
      return value;
  }
}

Scalar ReplaceIndices(const Scalar& value, Memo& memo,
                      const std::function<std::optional<Int>(const Atom&)>& replace) {
  const auto known = memo.find(value->hash());
  if (known != memo.end()) return known->second;
  std::vector<Scalar> args;
  for (const Scalar& arg : value->args) args.push_back(ReplaceIndices(arg, memo, replace));
  std::vector<Int> index;
  for (const Int& each : value->index) index.push_back(Substitute(each, replace));
  return memo[value->hash()] = Rebuild(value, std::move(args), std::move(index));
}

Scalar ReplaceLoads(const Scalar& value, Memo& memo,
                    const std::function<Scalar(const ScalarNode&)>& replace) {
  const auto known = memo.find(value->hash());
  if (known != memo.end()) return known->second;
  std::vector<Scalar> args;
  for (const Scalar& arg : value->args) args.push_back(ReplaceLoads(arg, memo, replace));
  std::vector<Int> index;
  for (const Int& each : value->index) {
    index.push_back(Substitute(each, [&](const Atom& atom) -> std::optional<Int> {
      if (atom->kind != AtomNode::Kind::kValue) return std::nullopt;
      return Value(ReplaceLoads(atom->value, memo, replace));
    }));
  }
  Scalar result = Rebuild(value, std::move(args), std::move(index));
  if (result->kind == ScalarNode::Kind::kLoad) {
    if (const Scalar other = replace(*result)) result = Cast(other, result->dtype);
  }
  return memo[value->hash()] = result;
}

}  // namespace

Scalar SubstituteIndices(const Scalar& value,
                         const std::function<std::optional<Int>(const Atom&)>& replace) {
  Memo memo;
  return ReplaceIndices(value, memo, replace);
}
Scalar SubstituteLoads(const Scalar& value,
                       const std::function<Scalar(const ScalarNode&)>& replace) {
  Memo memo;
  return ReplaceLoads(value, memo, replace);
}

}  // namespace kernelsmith::codegen
