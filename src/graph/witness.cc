#include "graph/witness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "graph/aten_ops.h"

namespace kernelsmith {
namespace {

Result<std::vector<Tensor<Bounded>>> EvaluateAt(const Graph& graph,
                                                const std::vector<Tensor<Bounded>>& inputs,
                                                const std::vector<ValueRef>& values) {
  Graph part = graph;
  part.outputs.clear();
  for (const ValueRef value : values) part.outputs.push_back({.value = value});
  return Evaluate<Bounded>(part, inputs);
}

ValueRef Operand(const Node& node, size_t i) {
  const auto* ref = i < node.args.size() ? std::get_if<ValueRef>(&node.args[i].value) : nullptr;
  KS_CHECK(ref != nullptr);
  return *ref;
}

std::vector<int64_t> Integers(const Argument& argument) {
  if (const auto* one = std::get_if<int64_t>(&argument.value)) return {*one};
  std::vector<int64_t> result;
  if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
    for (const Argument& item : *list) {
      if (const auto* value = std::get_if<int64_t>(&item.value)) result.push_back(*value);
    }
  }
  return result;
}

bool Close(const Bounded& a, const Bounded& b, double eps) {
  return a.v == b.v || (std::isnan(a.v) && std::isnan(b.v)) ||
         std::fabs(a.v - b.v) <= eps * (a.m + b.m);
}

// Index i of the answer as a position below n; −1 if it is none.
int64_t Position(const HostTensor& answer, int64_t i, int64_t n) {
  const double value = answer.at(i);
  return value >= 0 && value < static_cast<double>(n) && value == std::floor(value)
             ? static_cast<int64_t>(value)
             : -1;
}

// The dimension along which elements are chosen, as [outer, n, inner].
struct Line {
  int64_t outer = 1, n = 1, inner = 1;
};
Line LineOf(const Shape& shape, std::optional<int64_t> dim) {
  Line line;
  const auto rank = static_cast<int64_t>(shape.size());
  if (!dim || rank == 0) {
    for (const int64_t size : shape) line.n *= size;
    return line;
  }
  const int64_t at = *dim < 0 ? *dim + rank : *dim;
  for (int64_t d = 0; d < rank; ++d) {
    (d < at ? line.outer : d == at ? line.n : line.inner) *= shape[static_cast<size_t>(d)];
  }
  return line;
}

// The dimension that is chosen along; the argument may be None (all elements).
std::optional<int64_t> DimensionOf(const Node& node) {
  const std::optional<size_t> at = OperatorOf(node.aten).FindParameter("dim");
  KS_CHECK(at.has_value(), node.op);
  if (const auto* dim = std::get_if<int64_t>(&node.args[*at].value)) return *dim;
  return std::nullopt;
}

// The chosen values must be the reference's, element by element; within a line no position twice.
std::vector<int64_t> WrongIndices(const Tensor<Bounded>& source, const Tensor<Bounded>& reference,
                                  const Line& line, const HostTensor& answer, double eps) {
  std::vector<int64_t> wrong;
  const int64_t lines = line.outer * line.inner;
  const int64_t chosen = lines == 0 ? 0 : answer.count() / lines;
  std::vector<bool> used(static_cast<size_t>(line.n));
  for (int64_t o = 0; o < line.outer; ++o) {
    for (int64_t i = 0; i < line.inner; ++i) {
      std::fill(used.begin(), used.end(), false);
      for (int64_t k = 0; k < chosen; ++k) {
        const int64_t at = (o * chosen + k) * line.inner + i;
        const int64_t position = Position(answer, at, line.n);
        const auto expected = static_cast<int64_t>(reference[at].v);
        const auto value = [&](int64_t p) -> const Bounded& {
          return source[(o * line.n + p) * line.inner + i];
        };
        if (position < 0 || used[static_cast<size_t>(position)] ||
            !Close(value(position), value(expected), eps)) {
          wrong.push_back(at);
        }
        if (position >= 0) used[static_cast<size_t>(position)] = true;
      }
    }
  }
  return wrong;
}

// The windows of a max pool, by output position: flat positions in the plane.
struct Windows {
  int64_t plane = 1;
  std::vector<std::vector<int64_t>> positions;
};

// Arguments from `first` on: kernel, stride, padding, dilation. `out` is the extent of the result.
Windows PoolWindows(const Node& node, size_t first, const Shape& in_shape, const Shape& out_shape) {
  const size_t spatial = OperatorOf(node.aten).facts.chooses.spatial;
  const std::vector<int64_t> in(in_shape.end() - static_cast<int64_t>(spatial), in_shape.end());
  const std::vector<int64_t> out(out_shape.end() - static_cast<int64_t>(spatial), out_shape.end());
  const auto per_dimension = [&](size_t argument, const std::vector<int64_t>& fallback) {
    std::vector<int64_t> values = Integers(node.args[argument]);
    if (values.empty()) values = fallback;
    values.resize(spatial, values.back());
    // The gradient's operator is evaluated without a look at these; nothing a file says may
    // overflow below.
    for (int64_t& value : values) value = std::clamp<int64_t>(value, 0, int64_t{1} << 20);
    return values;
  };
  const std::vector<int64_t> kernel = per_dimension(first, {1});
  const std::vector<int64_t> stride = per_dimension(first + 1, kernel);
  const std::vector<int64_t> padding = per_dimension(first + 2, {0});
  const std::vector<int64_t> dilation = per_dimension(first + 3, {1});
  Windows windows;
  int64_t out_count = 1;
  for (size_t d = 0; d < spatial; ++d) {
    windows.plane *= in[d];
    out_count *= out[d];
  }
  for (int64_t o = 0; o < out_count; ++o) {
    std::vector<int64_t> cell{0};
    std::vector<int64_t> at(spatial);
    int64_t rest = o;
    for (size_t d = spatial; d-- > 0;) {
      at[d] = rest % out[d];
      rest /= out[d];
    }
    for (size_t d = 0; d < spatial; ++d) {
      std::vector<int64_t> next;
      for (const int64_t base : cell) {
        for (int64_t k = 0; k < kernel[d]; ++k) {
          const int64_t p = at[d] * stride[d] - padding[d] + k * dilation[d];
          if (p >= 0 && p < in[d]) next.push_back(base * in[d] + p);
        }
      }
      cell = std::move(next);
    }
    windows.positions.push_back(std::move(cell));
  }
  return windows;
}

std::vector<int64_t> WrongPoolIndices(const Tensor<Bounded>& source,
                                      const Tensor<Bounded>& reference, const Windows& windows,
                                      const HostTensor& answer, double eps) {
  std::vector<int64_t> wrong;
  const auto outputs = static_cast<int64_t>(windows.positions.size());
  for (int64_t i = 0; i < answer.count(); ++i) {
    const int64_t base = i / outputs * windows.plane;
    const std::vector<int64_t>& cell = windows.positions[static_cast<size_t>(i % outputs)];
    const int64_t position = Position(answer, i, windows.plane);
    const bool inside = std::find(cell.begin(), cell.end(), position) != cell.end();
    if (!inside ||
        !Close(source[base + position], source[base + static_cast<int64_t>(reference[i].v)], eps))
      wrong.push_back(i);
  }
  return wrong;
}

// Where equal elements share a window, any of them may have taken the gradient: positions joined by
// such ties are one group, and the group's sum must be right.
std::vector<int64_t> WrongPoolGradients(const Tensor<Bounded>& source,
                                        const Tensor<Bounded>& reference, const Windows& windows,
                                        const HostTensor& answer, double eps) {
  std::vector<int64_t> group(static_cast<size_t>(source.count()));
  std::iota(group.begin(), group.end(), 0);
  const auto find = [&](int64_t x) {
    while (group[static_cast<size_t>(x)] != x)
      x = group[static_cast<size_t>(x)] = group[static_cast<size_t>(group[static_cast<size_t>(x)])];
    return x;
  };
  for (int64_t base = 0; base < source.count(); base += windows.plane) {
    for (const std::vector<int64_t>& cell : windows.positions) {
      int64_t best = -1;
      for (const int64_t position : cell) {
        if (best < 0 || source[base + position].v > source[best].v) best = base + position;
      }
      for (const int64_t position : cell) {
        if (Close(source[base + position], source[best], eps))
          group[static_cast<size_t>(find(base + position))] = find(best);
      }
    }
  }
  std::map<int64_t, std::pair<Bounded, double>> sums;
  for (int64_t i = 0; i < source.count(); ++i) {
    auto& [expected, actual] = sums.try_emplace(find(i), Bounded(0.0), 0.0).first->second;
    expected = expected + reference[i];
    actual += answer.at(i);
  }
  std::vector<int64_t> wrong;
  for (int64_t i = 0; i < source.count(); ++i) {
    const auto& [expected, actual] = sums.at(find(i));
    if (!(std::fabs(expected.v - actual) <= eps * expected.m)) wrong.push_back(i);
  }
  return wrong;
}

}  // namespace

std::optional<Choice> FindChoice(const Graph& graph, const GraphOutput& output) {
  ValueRef value = output.value;
  while (true) {
    const Node& node = graph.nodes[value.node];
    if (node.kind != NodeKind::kOperator) return std::nullopt;
    const OperatorFacts& facts = OperatorOf(node.aten).facts;
    const Chooses& chooses = facts.chooses;
    if (chooses.kind != ChoiceKind::kNoChoice && chooses.kind != ChoiceKind::kUnchecked &&
        value.index == chooses.result) {
      return Choice{chooses.kind, value.node};
    }
    if (!facts.in_order || node.args.empty()) return std::nullopt;
    const auto* operand = std::get_if<ValueRef>(&node.args[0].value);
    if (operand == nullptr) return std::nullopt;
    value = *operand;
  }
}

Result<std::vector<int64_t>> WrongChoices(const Graph& graph, const Choice& choice,
                                          const std::vector<Tensor<Bounded>>& inputs,
                                          const HostTensor& answer, double eps) {
  const Node& node = graph.nodes[choice.node];
  const bool gradient = choice.kind == ChoiceKind::kPoolGradient;
  const size_t result = node.outputs.size() > 1 ? 1 : 0;
  std::vector<ValueRef> wanted{Operand(node, gradient ? 1 : 0), {choice.node, result}};
  if (gradient) wanted.push_back(Operand(node, 0));
  KS_TRY(const std::vector<Tensor<Bounded>> values, EvaluateAt(graph, inputs, wanted));
  const Tensor<Bounded>&source = values[0], &reference = values[1];
  if (answer.count() != reference.count()) {
    return InvalidInput(fmt::format("{}: an answer of {} elements where the graph has {}",
                                    graph.file, answer.count(), reference.count()));
  }
  switch (choice.kind) {
    case ChoiceKind::kExtreme:
    case ChoiceKind::kOrder:
      return WrongIndices(source, reference, LineOf(source.shape, DimensionOf(node)), answer, eps);
    case ChoiceKind::kPool:
      return WrongPoolIndices(source, reference,
                              PoolWindows(node, 1, source.shape, reference.shape), answer, eps);
    case ChoiceKind::kPoolGradient:
      return WrongPoolGradients(source, reference,
                                PoolWindows(node, 2, source.shape, values[2].shape), answer, eps);
    case ChoiceKind::kNoChoice:
    case ChoiceKind::kUnchecked:
      break;  // FindChoice never gives these
  }
  KS_UNREACHABLE();
}

}  // namespace kernelsmith
