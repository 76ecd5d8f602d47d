#include "codegen/fold.h"

#include <algorithm>
#include <map>

namespace kernelsmith::codegen {
namespace {

// Above this many multiply-adds of repeated work a value is stored instead (a store and a load of
// four bytes cost an H100 about as much as 160 of them, of which its other work hides most).
constexpr int kRepeatedCost = 40;
// For operands of a contraction, which reads each element once for every row or column of the
// result.
constexpr int kContractionCost = 6;

Scalar Inlined(const Nest& producer, const std::vector<Int>& index) {
  std::map<std::string, Int> replacement;
  for (size_t d = 0; d < producer.axes.size(); ++d) {
    if (const Atom axis = producer.axes[d].atom()) replacement[axis->key] = index[d];
  }
  return SubstituteIndices(producer.body, [&](const Atom& atom) -> std::optional<Int> {
    if (atom->kind != AtomNode::Kind::kAxis) return std::nullopt;
    const auto at = replacement.find(atom->key);
    return at == replacement.end() ? std::nullopt : std::optional(at->second);
  });
}

// Loads elements that other results load again: not every axis occurs in the index.
bool ReadsAgain(const Nest& nest, BufferId buffer) {
  if (nest.kind != Nest::Kind::kReduce) return false;
  bool again = false;
  VisitScalars(nest.body, [&](const Scalar& node) {
    if (node->kind != ScalarNode::Kind::kLoad || node->buffer != buffer) return;
    for (const Int& axis : nest.axes) {
      if (!axis.atom()) continue;
      again = again || std::none_of(node->index.begin(), node->index.end(),
                                    [&](const Int& index) { return Uses(index, axis.atom()); });
    }
  });
  return again;
}

struct Readers {
  int readers = 0;
  bool contraction = false;
};

}  // namespace

Program Fold(const Program& program, const Schedule& schedule, std::vector<Gene>* genes) {
  Program folded = program;
  // Readers of each buffer; a reader that only moves elements counts as its own readers.
  std::vector<Readers> uses(program.buffers.size());
  std::map<BufferId, size_t> map_of;
  for (size_t i = program.nests.size(); i-- > 0;) {
    const Nest& nest = program.nests[i];
    const bool moves = nest.kind == Nest::Kind::kMap && CostOf(nest.body) == 0 &&
                       program.buffers[nest.outputs[0]].kind == Buffer::Kind::kTemporary;
    for (const BufferId buffer : LoadedBy(nest)) {
      const Readers& own = uses[nest.outputs[0]];
      uses[buffer].readers += moves ? std::max(own.readers, 1) : 1;
      uses[buffer].contraction =
          uses[buffer].contraction || (moves && own.contraction) || ReadsAgain(nest, buffer);
    }
    if (nest.kind == Nest::Kind::kMap) map_of[nest.outputs[0]] = i;
  }
  for (const auto& [target, source] : program.updates) ++uses[source].readers;

  std::vector<char> stored(program.buffers.size(), 1);
  for (Nest& nest : folded.nests) {
    const auto replace = [&](const ScalarNode& load) -> Scalar {
      const auto at = map_of.find(load.buffer);
      if (at == map_of.end() || stored[load.buffer]) return nullptr;
      return Inlined(folded.nests[at->second], load.index);
    };
    const auto fold = [&](Scalar& value) {
      if (value) value = SubstituteLoads(value, replace);
    };
    fold(nest.body);
    fold(nest.base);
    fold(nest.condition);
    for (Int& index : nest.target) {
      index = Substitute(index, [&](const Atom& atom) -> std::optional<Int> {
        if (atom->kind != AtomNode::Kind::kValue) return std::nullopt;
        return Value(SubstituteLoads(atom->value, replace));
      });
    }
    if (nest.kind != Nest::Kind::kMap) continue;
    const BufferId id = nest.outputs[0];
    const Buffer& buffer = folded.buffers[id];
    const int cost = CostOf(nest.body);
    const Readers& use = uses[id];
    const bool is_output = buffer.kind == Buffer::Kind::kResult;
    bool store;
    bool free = false;  // both make sense
    if (cost == 0) {
      store = false;
    } else if (use.contraction) {
      store = cost > kContractionCost;
      free = !store || cost <= 4 * kContractionCost;
    } else {
      const int repeated = cost * (use.readers - (is_output ? 0 : 1));
      store = repeated > kRepeatedCost;
      free = use.readers > 1 || is_output;
    }
    const std::string gene = buffer.name + ".store";
    if (free && use.readers > 0) {
      store = schedule.Get(gene, store) != 0;
      if (genes) genes->push_back({gene, {0, 1}, store ? 1 : 0});
    }
    stored[id] = store;
  }

  // Drops what nobody reads any more.
  std::set<BufferId> needed(folded.results.begin(), folded.results.end());
  for (const auto& [target, source] : folded.updates) needed.insert(source);
  std::vector<Nest> kept;
  for (size_t i = folded.nests.size(); i-- > 0;) {
    Nest& nest = folded.nests[i];
    if (std::none_of(nest.outputs.begin(), nest.outputs.end(),
                     [&](BufferId id) { return needed.contains(id); })) {
      continue;
    }
    needed.merge(LoadedBy(nest));
    kept.push_back(std::move(nest));
  }
  std::reverse(kept.begin(), kept.end());
  folded.nests = std::move(kept);
  return folded;
}

}  // namespace kernelsmith::codegen
