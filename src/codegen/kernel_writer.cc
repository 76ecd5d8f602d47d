#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codegen/emit.h"
#include "support/check.h"

namespace kernelsmith::codegen {
namespace {

// No operator at the top level: needs no parentheses as an operand.
bool IsSimple(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && (c == ' ' || ((c == '-' || c == '!' || c == '~') && i == 0))) return false;
  }
  return true;
}

std::string FloatLiteral(double value, bool is_double) {
  if (std::isnan(value)) return is_double ? "double(NAN)" : "NAN";
  if (std::isinf(value)) {
    const std::string text = is_double ? "double(INFINITY)" : "INFINITY";
    return value > 0 ? text : "-" + text;
  }
  // The shortest text that is this number in its own type.
  std::string text =
      is_double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return is_double ? text : text + "f";
}

std::string CastText(DType from, DType to, DType stored, const std::string& text) {
  if (to == DType::kBool) return fmt::format("({} != 0)", IsSimple(text) ? text : "(" + text + ")");
  // Integers that wrap: int8 and uint8 live in an int.
  if (stored == DType::kInt8 || stored == DType::kUint8 || stored == DType::kInt16) {
    return fmt::format("int({}({}))", MemoryType(stored),
                       IsFloat(from) ? fmt::format("int({})", text) : text);
  }
  return fmt::format("{}({})", ValueType(to), text);
}

constexpr size_t kLongLine = 88;

// A guarded value may be computed anyway, with loads of element 0 where the guard fails: cheaper
// than a branch, and the loads of several values are in flight together.
bool MaySpeculate(const Scalar& value) {
  constexpr int kMostCost = 6;
  bool possible = CostOf(value) <= kMostCost;
  VisitScalars(value, [&](const Scalar& node) {
    possible = possible && node->kind != ScalarNode::Kind::kGuard;
    for (const Int& index : node->index) {
      VisitAtoms(index, [&](const Atom& atom) {
        possible = possible && atom->kind != AtomNode::Kind::kValue;
      });
    }
  });
  return possible;
}

}  // namespace

int64_t EmitContext::Choose(const std::string& gene, const std::vector<int64_t>& values,
                            int64_t otherwise) {
  int64_t chosen = schedule.Get(gene, otherwise);
  if (std::find(values.begin(), values.end(), chosen) == values.end()) chosen = otherwise;
  if (genes) genes->push_back({gene, values, chosen, kernel});
  return chosen;
}

std::string MemoryType(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return "__half";
    case DType::kBfloat16:
      return "__nv_bfloat16";
    case DType::kFloat32:
      return "float";
    case DType::kFloat64:
      return "double";
    case DType::kInt8:
      return "int8_t";
    case DType::kInt16:
      return "int16_t";
    case DType::kInt32:
      return "int";
    case DType::kInt64:
      return "int64_t";
    case DType::kUint8:
      return "uint8_t";
    case DType::kBool:
      return "bool";
  }
  return "";
}
std::string ValueType(DType dtype) { return MemoryType(RegisterType(dtype)); }

Int Count(const std::vector<Int>& axes) {
  Int count(1);
  for (const Int& axis : axes) count = count * axis.atom()->extent;
  return count;
}

std::string HostText(const Int& size) {
  return ToText(size, [](const Atom& atom) { return atom->name; });
}

KernelWriter::KernelWriter(EmitContext& context, std::string name)
    : context_(context), name_(std::move(name)) {
  // Whatever may become a parameter later on keeps its name.
  for (const Buffer& buffer : context.program.buffers) names_.insert(buffer.name);
  for (const Family::Symbol& symbol : context.family.symbols()) names_.insert(symbol.name);
  for (const char* used : {"item", "lane"}) names_.insert(used);
}

void KernelWriter::Line(const std::string& text) {
  body_ += std::string(static_cast<size_t>(2 * depth_), ' ') + text + "\n";
}

std::string KernelWriter::Fresh(const std::string& hint) {
  std::string name = hint;
  for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}{}", hint, n);
  return name;
}

void KernelWriter::Bind(BufferId buffer, const std::string& variable) { bound_[buffer] = variable; }

void KernelWriter::CountUses(const Scalar& value) {
  if (++uses_[value->hash()] > 1) return;
  for (const Scalar& arg : value->args) CountUses(arg);
  for (const Int& index : value->index) {
    VisitAtoms(index, [&](const Atom& atom) {
      if (atom->kind == AtomNode::Kind::kValue) CountUses(atom->value);
    });
  }
}
void KernelWriter::Share(const std::vector<Scalar>& values) {
  for (const Scalar& value : values) CountUses(value);
}

std::string KernelWriter::Operand(const std::string& text) const {
  return IsSimple(text) ? text : "(" + text + ")";
}

std::string KernelWriter::Text(const Int& value) {
  return ToText(value, [&](const Atom& atom) -> std::string {
    switch (atom->kind) {
      case AtomNode::Kind::kSize:
        return SizeParameter(Int(atom));
      case AtomNode::Kind::kAxis: {
        const auto at = axis_names_.find(atom->key);
        KS_CHECK(at != axis_names_.end(), "an axis without a name: " + atom->key);
        return at->second;
      }
      default:
        return fmt::format("{}({})", context_.index_type, Text(atom->value));
    }
  });
}

std::string KernelWriter::SizeParameter(const Int& size) {
  const std::string& name = size.atom()->name;
  if (std::find(sizes_.begin(), sizes_.end(), name) == sizes_.end()) sizes_.push_back(name);
  names_.insert(name);
  return name;
}

void KernelWriter::OpenUnrolled(const std::string& variable, int64_t count, int64_t step,
                                int64_t rounds) {
  const bool whole = rounds == 0 || rounds * step >= count;
  Line(whole ? "#pragma unroll" : fmt::format("#pragma unroll {}", rounds));
  Open(fmt::format("for (int {0} = 0; {0} < {1}; {2}) {{", variable, count,
                   step == 1 ? "++" + variable : fmt::format("{} += {}", variable, step)));
}

std::string KernelWriter::Text(const Scalar& value) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto at = scope->known.find(value->hash());
    if (at != scope->known.end()) return at->second;
  }
  std::string text = Expression(value);
  const bool trivial = value->kind == ScalarNode::Kind::kConstant ||
                       value->kind == ScalarNode::Kind::kParameter ||
                       value->kind == ScalarNode::Kind::kVariable ||
                       (value->kind == ScalarNode::Kind::kLoad && bound_.contains(value->buffer));
  if (!trivial && value->kind != ScalarNode::Kind::kGuard &&
      (uses_[value->hash()] > 1 || text.size() > kLongLine)) {
    const std::string name = Fresh(value->kind == ScalarNode::Kind::kLoad ? "x" : "t");
    Line(fmt::format("const {} {} = {};", ValueType(value->dtype), name, text));
    text = name;
  }
  if (!trivial) scopes_.back().known[value->hash()] = text;
  return text;
}

std::string KernelWriter::Variable(const Scalar& value, const std::string& hint) {
  const std::string text = Text(value);
  if (names_.contains(text)) return text;
  const std::string name = Fresh(hint);
  Line(fmt::format("const {} {} = {};", ValueType(value->dtype), name, text));
  scopes_.back().known[value->hash()] = name;
  return name;
}

std::string KernelWriter::GuardVariable(const Scalar& value) {
  if (MaySpeculate(value->args[1]) && MaySpeculate(value->args[2])) {
    const std::string inside = Variable(value->args[0], "inside");
    const auto with_loads = [&](const Scalar& part, bool holds) {
      return SubstituteLoads(part, [&](const ScalarNode& load) -> Scalar {
        if (bound_.contains(load.buffer)) return nullptr;
        const Buffer& buffer = context_.program.buffers[load.buffer];
        const Int flat = load.index.empty()       ? Int(0)
                         : load.index.size() == 1 ? load.index[0]
                                                  : FlatIndex(buffer.shape, load.index);
        const std::string index = flat.constant() ? Text(flat)
                                  : holds         ? fmt::format("{} ? {} : 0", inside, Text(flat))
                                                  : fmt::format("{} ? 0 : {}", inside, Text(flat));
        return codegen::Variable(Element(load.buffer, index), load.dtype);
      });
    };
    const std::string body = Operand(Text(with_loads(value->args[1], true)));
    const std::string otherwise = Text(with_loads(value->args[2], false));
    const std::string name = Fresh("g");
    Line(fmt::format("const {} {} = {} ? {} : {};", ValueType(value->dtype), name, inside, body,
                     otherwise));
    return name;
  }
  const std::string condition = Text(value->args[0]);
  const std::string name = Fresh("g");
  const bool constant = value->args[2]->kind == ScalarNode::Kind::kConstant;
  if (constant) {
    Line(fmt::format("{} {} = {};", ValueType(value->dtype), name, Text(value->args[2])));
  } else {
    Line(fmt::format("{} {};", ValueType(value->dtype), name));
  }
  Open(fmt::format("if ({}) {{", condition));
  Line(fmt::format("{} = {};", name, Text(value->args[1])));
  if (!constant) {
    Close("} else {");
    ++depth_;
    scopes_.emplace_back();
    Line(fmt::format("{} = {};", name, Text(value->args[2])));
  }
  Close();
  return name;
}

std::string KernelWriter::Expression(const Scalar& value) {
  switch (value->kind) {
    case ScalarNode::Kind::kConstant:
      if (IsFloat(value->dtype))
        return FloatLiteral(value->number, value->dtype == DType::kFloat64);
      if (value->dtype == DType::kBool) return value->integer ? "true" : "false";
      if (value->integer == INT64_MIN) return "INT64_MIN";
      return value->integer > INT32_MAX || value->integer < INT32_MIN
                 ? fmt::format("{}LL", value->integer)
                 : std::to_string(value->integer);
    case ScalarNode::Kind::kVariable:
      return value->name;
    case ScalarNode::Kind::kIndex:
      return Text(value->index[0]);
    case ScalarNode::Kind::kParameter: {
      for (const auto& [name, number] : numbers_) {
        if (SameScalar(number, value)) return name;
      }
      const bool is_name = std::all_of(value->name.begin(), value->name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
      });
      const std::string name = Fresh(is_name ? value->name : "factor");
      numbers_.emplace_back(name, value);
      return name;
    }
    case ScalarNode::Kind::kLoad: {
      const auto bound = bound_.find(value->buffer);
      if (bound != bound_.end()) return bound->second;
      const Buffer& buffer = context_.program.buffers[value->buffer];
      return Element(value->buffer,
                     value->index.empty()
                         ? "0"
                         : Text(value->index.size() == 1 ? value->index[0]
                                                         : FlatIndex(buffer.shape, value->index)));
    }
    case ScalarNode::Kind::kCast: {
      const auto stored = static_cast<DType>(value->integer);
      return CastText(value->args[0]->dtype, value->dtype, stored, Text(value->args[0]));
    }
    case ScalarNode::Kind::kGuard:
      return GuardVariable(value);
    case ScalarNode::Kind::kCall:
      break;
  }
  const Function& function = *value->function;
  const bool where = std::string_view(function.name) == "where";
  const DType type = value->args[where ? 1 : 0]->dtype;
  const char* format = type == DType::kFloat64 ? function.in_double
                       : IsFloat(type)         ? function.in_float
                                               : function.in_integer;
  KS_CHECK(format != nullptr,
           std::string("a function without a form for its type: ") + function.name);
  const std::string pattern = format;
  for (const char* helper : {"Maximum", "Minimum", "FloorQuotient"}) {
    if (pattern.rfind(helper, 0) == 0 ||
        pattern.find(std::string(helper) + "(") != std::string::npos) {
      context_.helpers.insert(helper);
    }
  }
  const bool is_call = std::isalpha(static_cast<unsigned char>(pattern[0])) &&
                       pattern.back() == ')' && pattern.find(")") == pattern.size() - 1;
  std::vector<std::string> args;
  for (size_t i = 0; i < value->args.size(); ++i) {
    const std::string mark = fmt::format("{{{}}}", i);
    const size_t first = pattern.find(mark);
    const bool again =
        first != std::string::npos && pattern.find(mark, first + 1) != std::string::npos;
    std::string text = again ? Variable(value->args[i], "t") : Text(value->args[i]);
    // max() of CUDA takes two of one type.
    if (!IsFloat(type) &&
        (std::string_view(function.name) == "max" || std::string_view(function.name) == "min")) {
      text = fmt::format("{}({})", ValueType(type), text);
    }
    args.push_back(is_call ? text : Operand(text));
  }
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{') {
      text += args[static_cast<size_t>(pattern[i + 1] - '0')];
      i += 2;
    } else {
      text += pattern[i];
    }
  }
  return text;
}

std::string KernelWriter::Pointer(BufferId id, bool written) {
  const BufferId root = context_.Root(id);
  for (auto& [buffer, is_written] : pointers_) {
    if (buffer != root) continue;
    is_written = is_written || written;
    return context_.program.buffers[root].name;
  }
  pointers_.emplace_back(root, written);
  names_.insert(context_.program.buffers[root].name);
  return context_.program.buffers[root].name;
}

std::string KernelWriter::Element(BufferId id, const std::string& index) {
  return Converted(id, fmt::format("{}[{}]", Pointer(id, false), index));
}
std::string KernelWriter::Converted(BufferId id, const std::string& element) const {
  switch (context_.program.buffers[id].dtype) {
    case DType::kFloat16:
      return fmt::format("__half2float({})", element);
    case DType::kBfloat16:
      return fmt::format("__bfloat162float({})", element);
    default:
      return element;
  }
}

std::string KernelWriter::StoreText(BufferId id, const std::string& value) const {
  switch (context_.program.buffers[id].dtype) {
    case DType::kFloat16:
      return fmt::format("__float2half({})", value);
    case DType::kBfloat16:
      return fmt::format("__float2bfloat16({})", value);
    default:
      return value;
  }
}
void KernelWriter::Store(BufferId id, const Int& flat, const std::string& value) {
  const std::string at = Text(flat);
  Line(fmt::format("{}[{}] = {};", Pointer(id, true), at, StoreText(id, value)));
}

void KernelWriter::Decompose(const std::vector<Int>& axes, const std::string& position) {
  if (axes.size() == 1) return Name(axes[0].atom(), position);
  // From the last axis on: remainders of what is left.
  std::string rest = position;
  static constexpr const char* kNames[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
  std::vector<std::string> lines;
  Int inner(1);
  for (size_t d = axes.size(); d-- > 0;) {
    const std::string name = Fresh(kNames[std::min<size_t>(d, 7)]);
    const std::string extent = Operand(Text(axes[d].atom()->extent));
    const std::string quotient =
        inner.is(1) ? position : fmt::format("{} / {}", position, Operand(Text(inner)));
    lines.push_back(d == 0 ? fmt::format("const {} {} = {};", context_.index_type, name, quotient)
                           : fmt::format("const {} {} = {} % {};", context_.index_type, name,
                                         quotient, extent));
    Name(axes[d].atom(), name);
    inner = inner * axes[d].atom()->extent;
  }
  for (size_t i = lines.size(); i-- > 0;) Line(lines[i]);
}

std::string KernelWriter::Source(const std::string& comment, const std::string& attributes) const {
  std::vector<std::string> parameters;
  // Two names of one memory would make __restrict__ a lie.
  for (const bool written : {false, true}) {
    for (const auto& [id, is_written] : pointers_) {
      if (is_written != written) continue;
      const Buffer& buffer = context_.program.buffers[id];
      parameters.push_back(fmt::format("{}{}* __restrict__ {}", written ? "" : "const ",
                                       MemoryType(buffer.dtype), buffer.name));
    }
  }
  for (const std::string& size : sizes_)
    parameters.push_back(fmt::format("{} {}", context_.index_type, size));
  for (const auto& [name, number] : numbers_) {
    parameters.push_back(fmt::format("{} {}", ValueType(number->dtype), name));
  }
  std::string text = comment;
  std::string line =
      fmt::format("__global__ void {}{}(", attributes.empty() ? "" : attributes + " ", name_);
  const std::string indent(line.size() > 60 ? 4 : line.size(), ' ');
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string item = parameters[i] + (i + 1 < parameters.size() ? "," : ") {");
    if (line.size() + item.size() + 1 > 100) {
      text += line + "\n";
      line = indent + item;
    } else {
      line += (line.back() == '(' ? "" : " ") + item;
    }
  }
  if (parameters.empty()) line += ") {";
  return text + line + "\n" + body_ + "}\n";
}

std::vector<std::string> KernelWriter::Arguments() const {
  std::vector<std::string> arguments;
  for (const bool written : {false, true}) {
    for (const auto& [id, is_written] : pointers_) {
      if (is_written == written)
        arguments.push_back(fmt::format("@{}", context_.program.buffers[id].name));
    }
  }
  for (const std::string& size : sizes_) arguments.push_back(fmt::format("#{}", size));
  for (const auto& [name, number] : numbers_) {
    arguments.push_back(
        number->dtype == DType::kFloat64
            ? number->name
            : fmt::format("static_cast<{}>({})", ValueType(number->dtype), number->name));
  }
  return arguments;
}

Scalar Flattened(const Program& program, const Scalar& value) {
  return SubstituteLoads(value, [&](const ScalarNode& load) -> Scalar {
    const auto& shape = program.buffers[load.buffer].shape;
    if (load.index.size() != shape.size()) return nullptr;  // flat already
    return Load(load.buffer, {FlatIndex(shape, load.index)}, load.dtype);
  });
}

namespace {

// The factor of an axis; loaded indices are looked at on their own.
std::optional<Int> Linear(const Int& value, const Atom& axis) {
  Int coefficient;
  for (const auto& [monomial, factor] : value.terms()) {
    int count = 0;
    Int rest(factor);
    for (const Atom& atom : monomial) {
      if (atom->key == axis->key) {
        ++count;
        continue;
      }
      if (atom->kind != AtomNode::Kind::kSize && atom->kind != AtomNode::Kind::kValue &&
          Uses(Int(atom), axis)) {
        return std::nullopt;
      }
      rest = rest * Int(atom);
    }
    if (count > 1) return std::nullopt;
    if (count == 1) coefficient = coefficient + rest;
  }
  return coefficient;
}

bool MergeableIn(const Int& flat, const Atom& outer, const Atom& inner) {
  const auto a = Linear(flat, outer), b = Linear(flat, inner);
  return a && b && *a == *b * inner->extent;
}

bool MergeableIn(const Scalar& value, const Atom& outer, const Atom& inner) {
  bool mergeable = true;
  VisitScalars(value, [&](const Scalar& node) {
    if (node->kind == ScalarNode::Kind::kIndex) {
      mergeable = mergeable && MergeableIn(node->index[0], outer, inner);
    }
    if (node->kind == ScalarNode::Kind::kLoad) {
      for (const Int& index : node->index)
        mergeable = mergeable && MergeableIn(index, outer, inner);
    }
  });
  return mergeable;
}

}  // namespace

void Collapse(const CollapseInput& input) {
  std::vector<Int>& axes = *input.axes;
  for (size_t d = axes.size(); d-- > 1;) {
    const Atom outer = axes[d - 1].atom(), inner = axes[d].atom();
    bool mergeable = true;
    for (const Int* flat : input.flats) mergeable = mergeable && MergeableIn(*flat, outer, inner);
    for (const Scalar* value : input.values)
      mergeable = mergeable && (!*value || MergeableIn(*value, outer, inner));
    if (!mergeable) continue;
    const Int merged = Axis(outer->name + inner->name, outer->extent * inner->extent);
    const auto replace = [&](const Atom& atom) -> std::optional<Int> {
      if (atom->key == outer->key) return Int(0);
      if (atom->key == inner->key) return merged;
      return std::nullopt;
    };
    for (Int* flat : input.flats) *flat = Substitute(*flat, replace);
    for (Scalar* value : input.values) {
      if (*value) *value = SubstituteIndices(*value, replace);
    }
    axes[d - 1] = merged;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(d));
  }
}

std::string Comment(const Kernel& kernel) {
  std::vector<std::string> ops;
  std::string where;
  for (const Nest& nest : kernel.nests) {
    std::string op = nest.op;
    if (const size_t dot = op.rfind('.'); dot != std::string::npos) op = op.substr(0, dot);
    if (op.rfind("aten.", 0) == 0) op = op.substr(5);
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
    if (where.empty()) where = nest.where;
  }
  std::string list;
  for (const std::string& op : ops) list += (list.empty() ? "" : ", ") + op;
  return fmt::format("// {}{}\n", list, where.empty() ? "" : " (" + where + ")");
}

}  // namespace kernelsmith::codegen
