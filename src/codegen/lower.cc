#include "codegen/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

const Rules& AllRules() {
  static const Rules rules = [] {
    Rules all;
    AddPointwiseRules(all);
    AddReductionRules(all);
    AddOrderRules(all);
    AddLayoutRules(all);
    AddIndexRules(all);
    AddLinearRules(all);
    AddConvolutionRules(all);
    AddPoolRules(all);
    AddNormRules(all);
    return all;
  }();
  return rules;
}

}  // namespace

bool HasRule(AtenOp op) { return AllRules().Find(op) != nullptr; }

std::vector<int64_t> NormalizedDims(std::vector<int64_t> dims, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (dims.empty()) {
    for (int64_t d = 0; d < n; ++d) dims.push_back(d);
  }
  for (int64_t& d : dims) {
    if (d < 0) d += n;
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

void Lowering::fail(const std::string& why) const {
  throw LoweringError(fmt::format("{}: {}", node_ ? node_->op : "graph", why));
}

bool Lowering::is_tensor(size_t i) const {
  return i < node_->args.size() && std::holds_alternative<ValueRef>(arg(i).value);
}
BufferId Lowering::tensor(size_t i) {
  const auto* ref = i < node_->args.size() ? std::get_if<ValueRef>(&arg(i).value) : nullptr;
  if (!ref) fail("a tensor is expected");
  return values_.at({ref->node, ref->index});
}
std::vector<std::optional<BufferId>> Lowering::tensors(size_t i) {
  std::vector<std::optional<BufferId>> result;
  const auto* list = std::get_if<Argument::List>(&arg(i).value);
  if (!list) fail("a list of tensors is expected");
  for (const Argument& item : *list) {
    if (const auto* ref = std::get_if<ValueRef>(&item.value)) {
      result.push_back(values_.at({ref->node, ref->index}));
    } else {
      result.push_back(std::nullopt);
    }
  }
  return result;
}

Scalar Lowering::read(size_t i, const Indices& index) {
  if (is_tensor(i)) return broadcast(tensor(i), index);
  return number(i, std::holds_alternative<double>(arg(i).value) ? DType::kFloat32 : DType::kInt64);
}

Scalar Lowering::number(size_t i, DType dtype) {
  if (is_tensor(i)) return Cast(broadcast(tensor(i), {}), dtype);
  std::vector<double> values;
  bool integers = true;
  for (const auto& graph : family_.graphs()) {
    const Argument& each = graph->nodes[position_].args[i];
    if (const auto* value = std::get_if<double>(&each.value)) {
      values.push_back(*value);
      integers = false;
    } else if (const auto* value = std::get_if<int64_t>(&each.value)) {
      values.push_back(static_cast<double>(*value));
    } else if (const auto* value = std::get_if<bool>(&each.value)) {
      values.push_back(*value ? 1 : 0);
    } else {
      fail("a number is expected");
    }
  }
  const bool varies =
      std::any_of(values.begin(), values.end(), [&](double v) { return v != values[0]; });
  if (varies) {
    std::vector<int64_t> whole;
    for (const double v : values) {
      integers = integers || v == std::floor(v);
      whole.push_back(static_cast<int64_t>(v));
    }
    const bool exact =
        std::all_of(values.begin(), values.end(), [](double v) { return v == std::floor(v); });
    if (exact) {
      if (const auto fitted = family_.Fit(whole)) return Index(*fitted, dtype);
    }
  }
  const auto text = family_.FitNumber(values);
  if (!text) {
    fail(fmt::format("the number {} varies over the family and follows no size or argument",
                     values[0]));
  }
  if (text->empty() || !IsFloat(dtype)) return Number(values[0], dtype);
  return HostNumber(*text, dtype);
}

int64_t Lowering::fixed(size_t i) const {
  const auto* value = std::get_if<int64_t>(&arg(i).value);
  if (!value) fail("an integer is expected");
  for (const auto& graph : family_.graphs()) {
    if (!(graph->nodes[position_].args[i] == arg(i))) fail("an axis that varies over the family");
  }
  return *value;
}
std::vector<int64_t> Lowering::fixed_list(size_t i) const {
  if (std::holds_alternative<int64_t>(arg(i).value)) return {fixed(i)};
  if (arg(i).is_none()) return {};
  const auto* list = std::get_if<Argument::List>(&arg(i).value);
  if (!list) fail("a list is expected");
  for (const auto& graph : family_.graphs()) {
    if (!(graph->nodes[position_].args[i] == arg(i))) fail("axes that vary over the family");
  }
  std::vector<int64_t> values;
  for (const Argument& item : *list) {
    const auto* value = std::get_if<int64_t>(&item.value);
    if (!value) fail("an integer is expected");
    values.push_back(*value);
  }
  return values;
}
bool Lowering::flag(size_t i) const {
  if (i >= node_->args.size()) return false;
  if (const auto* value = std::get_if<bool>(&arg(i).value)) return *value;
  if (const auto* value = std::get_if<int64_t>(&arg(i).value)) return *value != 0;
  return false;
}
std::string Lowering::text(size_t i) const {
  const auto* value = i < node_->args.size() ? std::get_if<std::string>(&arg(i).value) : nullptr;
  return value ? *value : "";
}

Int Lowering::fit(const std::vector<int64_t>& values) const {
  if (const auto fitted = family_.Fit(values)) return *fitted;
  if (const auto joined = joined_dimensions(values)) return *joined;
  std::string list;
  for (const int64_t v : values) list += fmt::format("{}{}", list.empty() ? "" : ", ", v);
  fail(fmt::format("no expression of the arguments' sizes gives {}", list));
}
std::optional<Int> Lowering::joined_dimensions(const std::vector<int64_t>& values) const {
  for (const Argument& each : node_->args) {
    const auto* ref = std::get_if<ValueRef>(&each.value);
    if (!ref) continue;
    const Indices& extents = shape(values_.at({ref->node, ref->index}));
    for (size_t first = 0; first < extents.size(); ++first) {
      Int product(1);
      for (size_t last = first; last < extents.size(); ++last) {
        product = product * extents[last];
        if (family_.ValuesOf(product) == values) return product;
      }
    }
  }
  return std::nullopt;
}
Int Lowering::integer(size_t i) {
  std::vector<int64_t> values;
  for (const auto& graph : family_.graphs()) {
    const auto* value = std::get_if<int64_t>(&graph->nodes[position_].args[i].value);
    if (!value) fail("an integer is expected");
    values.push_back(*value);
  }
  return fit(values);
}
std::vector<Int> Lowering::integers(size_t i) {
  if (std::holds_alternative<int64_t>(arg(i).value)) return {integer(i)};
  const auto* list = std::get_if<Argument::List>(&arg(i).value);
  if (!list) fail("a list of integers is expected");
  std::vector<Int> result;
  for (size_t item = 0; item < list->size(); ++item) {
    std::vector<int64_t> values;
    for (const auto& graph : family_.graphs()) {
      const auto& other = std::get<Argument::List>(graph->nodes[position_].args[i].value);
      const auto* value = std::get_if<int64_t>(&other[item].value);
      if (!value) fail("an integer is expected");
      values.push_back(*value);
    }
    result.push_back(fit(values));
  }
  return result;
}
Indices Lowering::result_shape(size_t result) {
  Indices shape;
  for (size_t d = 0; d < node_->outputs[result]->shape.size(); ++d) {
    std::vector<int64_t> values;
    for (const auto& graph : family_.graphs()) {
      values.push_back(graph->nodes[position_].outputs[result]->shape[d]);
    }
    shape.push_back(fit(values));
  }
  return shape;
}
DType Lowering::result_type(size_t result) const { return node_->outputs[result]->dtype; }

Scalar Lowering::load(BufferId id, Indices index) const {
  const Buffer& buffer = program.buffers[id];
  if (buffer.kind == Buffer::Kind::kConstant && buffer.data.count() == 1) {
    return Number(LoadElement(buffer.dtype, buffer.data.bytes.data()), buffer.dtype);
  }
  return Load(id, std::move(index), buffer.dtype);
}
Scalar Lowering::broadcast(BufferId id, const Indices& index) const {
  const Indices& own = shape(id);
  Indices at;
  for (size_t d = 0; d < own.size(); ++d) {
    const size_t from = index.size() - own.size() + d;
    if (own.size() > index.size() && d < own.size() - index.size()) {
      at.push_back(0);
      continue;
    }
    const Int& i = index[from];
    const Atom axis = i.atom();
    if (own[d].is(1)) {
      at.push_back(0);
    } else if (axis && axis->kind == AtomNode::Kind::kAxis && !equal(axis->extent, own[d])) {
      at.push_back(Min(i, own[d] - Int(1)));  // 1 in some configurations
    } else {
      at.push_back(i);
    }
  }
  return load(id, at);
}

Indices Lowering::axes(const Indices& shape) {
  Indices result;
  for (const Int& extent : shape) {
    result.push_back(extent.is(1) ? Int(0) : Axis(fmt::format("a{}", next_axis_++), extent));
  }
  return result;
}

BufferId Lowering::buffer(DType dtype, const Indices& shape, const std::string& hint) {
  std::string name = hint.empty() ? (node_ ? node_->name : "value") : hint;
  int& count = names_[name];
  if (++count > 1) name = fmt::format("{}_{}", name, count);
  while (count > 1 && names_.contains(name)) name = fmt::format("{}_", name);
  if (count > 1) names_[name] = 1;
  program.buffers.push_back({.name = name, .dtype = dtype, .shape = shape});
  return program.buffers.size() - 1;
}

namespace {

// Axes of extent 1 are index 0 and no loops.
Indices RealAxes(const Indices& index) {
  Indices real;
  for (const Int& i : index) {
    if (i.atom() && i.atom()->kind == AtomNode::Kind::kAxis) real.push_back(i);
  }
  return real;
}

}  // namespace

BufferId Lowering::add(Nest nest, DType dtype, const Indices& shape) {
  const BufferId id = buffer(dtype, shape);
  nest.outputs = {id};
  nest.op = node_ ? node_->op : "copy";
  nest.where = node_ ? node_->where : "";
  program.nests.push_back(std::move(nest));
  return id;
}

BufferId Lowering::map(DType dtype, const Indices& shape,
                       const std::function<Scalar(const Indices&)>& body) {
  Nest nest;
  nest.axes = axes(shape);
  nest.body = Cast(body(nest.axes), dtype);
  return add(std::move(nest), dtype, shape);
}

BufferId Lowering::reduce(DType dtype, const Indices& outer, const Indices& inner, Combine combine,
                          const std::function<Scalar(const Indices&, const Indices&)>& body) {
  Nest nest;
  nest.kind = Nest::Kind::kReduce;
  nest.axes = axes(outer);
  const Indices reduced = axes(inner);
  nest.reduced = RealAxes(reduced);
  nest.combine = combine;
  nest.body = Cast(body(nest.axes, reduced), dtype);
  if (nest.reduced.empty()) nest.kind = Nest::Kind::kMap;  // a map of one element
  return add(std::move(nest), dtype, outer);
}

std::pair<BufferId, BufferId> Lowering::arg_reduce(
    DType dtype, const Indices& outer, const Indices& inner, Combine combine,
    const std::function<Scalar(const Indices&, const Indices&)>& body) {
  Nest nest;
  nest.kind = Nest::Kind::kArgReduce;
  nest.axes = axes(outer);
  const Indices reduced = axes(inner);
  nest.reduced = RealAxes(reduced);
  nest.combine = combine;
  nest.body = Cast(body(nest.axes, reduced), dtype);
  if (nest.reduced.empty()) {
    nest.kind = Nest::Kind::kMap;
    const BufferId value = add(std::move(nest), dtype, outer);
    return {value, map(DType::kInt64, outer, [](const Indices&) { return Integer(0); })};
  }
  const BufferId value = add(std::move(nest), dtype, outer);
  const BufferId position = buffer(DType::kInt64, outer, node_->name + "_position");
  program.nests.back().outputs.push_back(position);
  return {value, position};
}

BufferId Lowering::reduce_dims(DType dtype, const Indices& shape, const std::vector<int64_t>& dims,
                               bool keep, Combine combine,
                               const std::function<Scalar(const Indices&)>& body) {
  const std::vector<int64_t> wanted = NormalizedDims(dims, shape.size());
  Indices outer, inner;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool reduced =
        std::find(wanted.begin(), wanted.end(), static_cast<int64_t>(d)) != wanted.end();
    if (reduced) inner.push_back(shape[d]);
    if (reduced && keep) outer.push_back(1);
    if (!reduced) outer.push_back(shape[d]);
  }
  return reduce(dtype, outer, inner, combine, [&](const Indices& out, const Indices& in) {
    Indices index;
    size_t next_out = 0, next_in = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const bool reduced =
          std::find(wanted.begin(), wanted.end(), static_cast<int64_t>(d)) != wanted.end();
      if (reduced) {
        index.push_back(in[next_in++]);
        if (keep) ++next_out;
      } else {
        index.push_back(out[next_out++]);
      }
    }
    return body(index);
  });
}

void Lowering::set(size_t result, BufferId id) { values_[{position_, result}] = id; }

bool Lowering::equal(const Int& a, const Int& b) const {
  return a == b || family_.ValuesOf(a) == family_.ValuesOf(b);
}

Indices Lowering::reshape(const Indices& from, const Indices& to, const Indices& index) const {
  Indices result(from.size(), Int(0));
  const auto sum = [&](const Int& x) {
    double total = 0;
    for (const int64_t v : family_.ValuesOf(x)) total += static_cast<double>(v);
    return total;
  };
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The smallest groups of dimensions that hold the same elements.
    const size_t first_i = i, first_j = j;
    Int have(1), want(1);
    while (true) {
      if (have == want && (i > first_i || j > first_j)) break;
      if (i > first_i && j > first_j && equal(have, want)) break;
      const bool more_from = i < from.size(), more_to = j < to.size();
      if (!more_from && !more_to) break;
      if (more_from && (!more_to || sum(have) < sum(want) || (i == first_i && j > first_j))) {
        have = have * from[i++];
      } else {
        want = want * to[j++];
      }
    }
    Int flat;
    for (size_t d = first_j; d < j; ++d) flat = flat * to[d] + index[d];
    // Only one dimension that is not 1: no arithmetic.
    for (size_t d = i; d-- > first_i;) {
      if (from[d].is(1)) continue;
      bool first = true;
      for (size_t e = first_i; e < d; ++e) first = first && from[e].is(1);
      result[d] = first ? flat : Modulo(flat, from[d]);
      flat = Divide(flat, from[d]);
    }
  }
  return result;
}

Result<Program> Lower(Family& family, const LowerOptions& options) {
  Lowering lowering(family);
  const Graph& graph = family.graph();
  Program& program = lowering.program;
  try {
    for (size_t at = 0; at < graph.nodes.size(); ++at) {
      const Node& node = graph.nodes[at];
      lowering.node_ = &node;
      lowering.position_ = at;
      if (node.kind != NodeKind::kOperator) {
        const BufferId id = lowering.buffer(node.outputs[0]->dtype, lowering.result_shape(0));
        program.buffers[id].kind =
            node.kind == NodeKind::kPlaceholder ? Buffer::Kind::kArgument : Buffer::Kind::kConstant;
        program.buffers[id].data = node.data;
        lowering.set(0, id);
        continue;
      }
      const Rule* const rule = AllRules().Find(node.aten);
      if (rule == nullptr) {
        return Unsupported(fmt::format("operator {} can't be translated", node.op));
      }
      (*rule)(lowering);
    }
    lowering.node_ = nullptr;
    // Every result has a buffer of its own that nobody else owns.
    std::set<BufferId> used;
    const auto own = [&](BufferId id) {
      if (program.buffers[id].kind == Buffer::Kind::kTemporary && used.insert(id).second) return id;
      const Indices shape = program.buffers[id].shape;
      const BufferId copy =
          lowering.map(program.buffers[id].dtype, shape,
                       [&](const Indices& index) { return lowering.load(id, index); });
      used.insert(copy);
      return copy;
    };
    for (const std::string& name : options.results) {
      for (const GraphOutput& output : graph.outputs) {
        if (graph.OutputName(output) != name) continue;
        const BufferId id = own(lowering.values_.at({output.value.node, output.value.index}));
        program.buffers[id].kind = Buffer::Kind::kResult;
        program.results.push_back(id);
      }
    }
    for (const GraphOutput& output : graph.outputs) {
      if (output.role != OutputRole::kMutated) continue;
      const BufferId source = lowering.values_.at({output.value.node, output.value.index});
      const BufferId target = lowering.values_.at({output.of, 0});
      if (source == target) continue;
      program.updates.emplace_back(target, own(source));
    }
  } catch (const LoweringError& error) {
    return Unsupported(error.what());
  } catch (const std::out_of_range&) {
    return Unsupported("the graph uses a result that no rule gives: " +
                       (lowering.node_ ? lowering.node_->op : std::string("an output")));
  }
  return program;
}

}  // namespace kernelsmith::codegen
