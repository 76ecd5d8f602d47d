#include "codegen/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace kernelsmith::codegen {
namespace {

// Two blocks for each multiprocessor of an H100; parts are made until there are four times as many.
constexpr int64_t kEnoughBlocks = 264;
// Elements of a part that are worth a block, or a thread where neighbouring threads have
// neighbouring results.
constexpr int64_t kBlockPart = 2048, kThreadPart = 64;
constexpr int64_t kThreads = 128;

std::optional<Scalar> IdentityOf(Combine combine, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (combine) {
    case Combine::kSum:
      return Number(0, dtype);
    case Combine::kProduct:
      return Number(1, dtype);
    case Combine::kMax:
      return IsFloat(dtype) ? std::optional(Number(-kInfinity, dtype)) : std::nullopt;
    case Combine::kMin:
      return IsFloat(dtype) ? std::optional(Number(kInfinity, dtype)) : std::nullopt;
    case Combine::kAny:
      return Truth(false);
    case Combine::kAll:
      return Truth(true);
    default:
      return std::nullopt;
  }
}

// Some result axis is missing in a load: a product of matrices or a convolution, whose blocks are
// tiles.
bool IsContraction(const Nest& nest) {
  bool missing = false;
  VisitScalars(nest.body, [&](const Scalar& node) {
    if (node->kind != ScalarNode::Kind::kLoad || node->index.size() < 2) return;
    for (const Int& axis : nest.axes) {
      if (!axis.atom()) continue;
      missing = missing || std::none_of(node->index.begin(), node->index.end(),
                                        [&](const Int& i) { return Uses(i, axis.atom()); });
    }
  });
  return missing && std::count_if(nest.axes.begin(), nest.axes.end(),
                                  [](const Int& axis) { return axis.atom() != nullptr; }) > 1;
}

bool ReducesNeighbours(const Nest& nest) {
  int by_reduced = 0, by_result = 0;
  VisitScalars(nest.body, [&](const Scalar& node) {
    if (node->kind != ScalarNode::Kind::kLoad || node->index.empty()) return;
    const auto unit = [&](const Int& axis) {
      const auto factor = CoefficientOf(node->index.back(), axis.atom());
      return factor && factor->is(1);
    };
    if (unit(nest.reduced.back())) ++by_reduced;
    for (const Int& axis : nest.axes) {
      if (axis.atom() && unit(axis)) ++by_result;
    }
  });
  return by_reduced >= by_result;
}

// The value where `condition` holds, 0 elsewhere; of a product every factor, so that it stays one.
Scalar GuardedFactors(const Scalar& condition, const Scalar& value, const Scalar& zero) {
  if (value->kind == ScalarNode::Kind::kCall && std::string_view(value->function->name) == "mul") {
    return GuardedFactors(condition, value->args[0], zero) *
           GuardedFactors(condition, value->args[1], zero);
  }
  return Guard(condition, value, Cast(zero, value->dtype));
}

// Lengths of parts that are worth trying. Products of matrices get a few dozen parts at most: each
// writes a whole result.
std::vector<int64_t> ChunksOf(int64_t steps, int64_t all, bool contraction) {
  std::vector<int64_t> chunks{0};
  if (!contraction) {
    for (int64_t c = 1; c < steps && c <= 65536; c *= 4) chunks.push_back(c);
    return chunks;
  }
  for (int64_t c = 1; c < steps; c *= 2) {
    if (c * (all / steps) >= 64 && steps <= 64 * c) chunks.push_back(c);
  }
  return chunks;
}

// Steps of the outermost reduced axis in one part; 0: no parts.
int64_t DefaultChunk(const Nest& nest, const Family& family) {
  if (IsContraction(nest)) return 0;
  int64_t rows = 1, rest = 1;
  for (const Int& axis : nest.axes) {
    if (axis.atom()) rows *= family.LargestOf(axis.atom()->extent);
  }
  for (size_t i = 1; i < nest.reduced.size(); ++i)
    rest *= family.LargestOf(nest.reduced[i].atom()->extent);
  const int64_t steps = family.LargestOf(nest.reduced[0].atom()->extent);
  const bool by_blocks = ReducesNeighbours(nest);
  const int64_t blocks = by_blocks ? rows : (rows + kThreads - 1) / kThreads;
  if (blocks >= kEnoughBlocks) return 0;
  const int64_t part = by_blocks ? kBlockPart : kThreadPart;
  const int64_t parts = std::min(4 * kEnoughBlocks / blocks, steps * rest / part);
  if (parts < 4) return 0;
  int64_t chunk = 1;
  while (chunk * parts < steps) chunk *= 2;
  return chunk < steps ? chunk : 0;
}

}  // namespace

Program SplitReductions(Program program, const Family& family, const Schedule& schedule,
                        std::vector<Gene>* genes) {
  std::vector<Nest> nests;
  for (Nest& nest : program.nests) {
    const DType type = nest.body ? nest.body->dtype : DType::kFloat32;
    const auto identity =
        nest.kind == Nest::Kind::kReduce ? IdentityOf(nest.combine, type) : std::optional<Scalar>();
    const bool contraction = IsContraction(nest);
    if (!identity || nest.reduced.empty() || (contraction && nest.combine != Combine::kSum)) {
      nests.push_back(std::move(nest));
      continue;
    }
    const Buffer whole = program.buffers[nest.outputs[0]];
    const int64_t wanted = DefaultChunk(nest, family);
    const std::string gene = whole.name + ".chunk";
    int64_t chunk = schedule.Get(gene, wanted);
    if (chunk < 0) chunk = wanted;
    const int64_t steps = family.LargestOf(nest.reduced[0].atom()->extent);
    int64_t all = steps;
    for (size_t i = 1; i < nest.reduced.size(); ++i)
      all *= family.LargestOf(nest.reduced[i].atom()->extent);
    const int64_t least = contraction ? 256 : 1024;
    if (all < least || chunk >= steps) chunk = 0;
    if (genes && all >= least) {
      std::vector<int64_t> values = ChunksOf(steps, all, contraction);
      if (std::find(values.begin(), values.end(), chunk) == values.end()) values.push_back(chunk);
      genes->push_back({gene, values, chunk});
    }
    if (chunk == 0) {
      nests.push_back(std::move(nest));
      continue;
    }
    const Int first = nest.reduced[0];
    const Int count = CeilDivide(first.atom()->extent, Int(chunk));
    const Int part = Axis(first.atom()->name + "_part", count);
    const Int step = Axis(first.atom()->name + "_step", Int(chunk));
    const Int position = chunk == 1 ? part : part * Int(chunk) + step;
    const bool parts_last = !contraction && ReducesNeighbours(nest);

    Buffer partial = whole;
    partial.name = whole.name + "_parts";
    partial.kind = Buffer::Kind::kTemporary;
    partial.dtype = type;
    partial.shape.insert(parts_last ? partial.shape.end() : partial.shape.begin(), count);
    const BufferId id = program.buffers.size();
    program.buffers.push_back(partial);

    Nest parts = nest;
    parts.outputs = {id};
    parts.axes.insert(parts_last ? parts.axes.end() : parts.axes.begin(), part);
    if (chunk == 1) {
      parts.reduced.erase(parts.reduced.begin());
    } else {
      parts.reduced[0] = step;
    }
    parts.body = SubstituteIndices(nest.body, [&](const Atom& atom) -> std::optional<Int> {
      return atom->key == first.atom()->key ? std::optional(position) : std::nullopt;
    });
    if (chunk > 1) {
      const Scalar exists = LessThan(position, first.atom()->extent);
      parts.body = contraction ? GuardedFactors(exists, parts.body, *identity)
                               : Guard(exists, parts.body, *identity);
    }
    if (parts.reduced.empty()) parts.kind = Nest::Kind::kMap;
    nests.push_back(std::move(parts));

    // The results' axes once more: kernels may rename those of the parts.
    Nest total = nest;
    std::vector<Int> index;
    for (Int& axis : total.axes) {
      if (axis.atom()) axis = Axis(axis.atom()->name + "_whole", axis.atom()->extent);
      index.push_back(axis);
    }
    const Int each = Axis(first.atom()->name + "_each", count);
    index.insert(parts_last ? index.end() : index.begin(), each);
    total.reduced = {each};
    total.body = Load(id, index, type);
    nests.push_back(std::move(total));
  }
  program.nests = std::move(nests);
  return program;
}

}  // namespace kernelsmith::codegen
