#include "codegen/attention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "codegen/group.h"

namespace kernelsmith::codegen {
namespace {

void Factors(const Scalar& value, std::vector<Scalar>& factors) {
  if (IsCall(value, "mul")) {
    Factors(value->args[0], factors);
    Factors(value->args[1], factors);
  } else {
    factors.push_back(value);
  }
}

bool UsesOneOf(const Scalar& value, const std::vector<Int>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Int& axis) { return UsesAxis(value, axis.atom()); });
}

// One candidate after the other is tried; what does not have the form of attention gives nothing.
class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {
    readers_.resize(program.buffers.size());
    for (size_t i = 0; i < program.nests.size(); ++i) {
      for (const BufferId id : LoadedBy(program.nests[i])) readers_[id].insert(i);
      for (const BufferId id : program.nests[i].outputs) producer_[id] = i;
    }
    kept_.insert(program.results.begin(), program.results.end());
    for (const auto& [target, source] : program.updates) kept_.insert(source);
  }

  std::optional<Attention> At(size_t position) {
    const Nest& nest = program_.nests[position];
    if (nest.kind != Nest::Kind::kReduce || nest.combine != Combine::kSum ||
        nest.reduced.size() != 1 || nest.body->dtype != DType::kFloat32) {
      return std::nullopt;
    }
    std::vector<Scalar> factors;
    Factors(nest.body, factors);
    for (size_t i = 0; i < factors.size(); ++i) {
      found_ = {};
      found_.nest = position;
      found_.key = nest.reduced[0];
      const Scalar weight = WithMaps(factors[i]);
      if (!Weights(weight)) continue;
      found_.values = factors;
      found_.values.erase(found_.values.begin() + static_cast<std::ptrdiff_t>(i));
      if (found_.values.empty() || !Sides(nest, weight) || !Product() || !PartsServeOnlyThis())
        return std::nullopt;
      return found_;
    }
    return std::nullopt;
  }

 private:
  const Nest* Producer(BufferId buffer) {
    const auto at = producer_.find(buffer);
    return at == producer_.end() ? nullptr : &program_.nests[at->second];
  }

  // The body of a nest at an index of its result; null if its axes are not plain ones.
  Scalar BodyAt(const Nest& nest, const std::vector<Int>& index, const Int& reduced) const {
    std::map<std::string, Int> replacement;
    if (nest.axes.size() != index.size()) return nullptr;
    for (size_t d = 0; d < nest.axes.size(); ++d) {
      if (const Atom axis = nest.axes[d].atom()) {
        replacement[axis->key] = index[d];
      } else if (!nest.axes[d].constant()) {
        return nullptr;
      }
    }
    if (nest.reduced.size() == 1) replacement[nest.reduced[0].atom()->key] = reduced;
    return SubstituteIndices(nest.body, [&](const Atom& atom) -> std::optional<Int> {
      const auto at = replacement.find(atom->key);
      return at == replacement.end() ? std::nullopt : std::optional(at->second);
    });
  }

  // The value with the bodies of maps in place of their results, until it loads only sums and
  // arguments.
  Scalar WithMaps(const Scalar& value) {
    constexpr int kMostMaps = 8;  // a chain longer than this is no mask or scale
    Scalar result = value;
    for (int i = 0; i < kMostMaps; ++i) {
      bool changed = false;
      result = SubstituteLoads(result, [&](const ScalarNode& load) -> Scalar {
        const Nest* producer = Producer(load.buffer);
        if (!producer || producer->kind != Nest::Kind::kMap) return nullptr;
        const Scalar body = BodyAt(*producer, load.index, Int(0));
        if (!body) return nullptr;
        changed = true;
        found_.parts.insert(producer_.at(load.buffer));
        return body;
      });
      if (!changed) break;
    }
    return result;
  }

  // What a reduction over the keys combines, at the row that `load` names.
  Scalar Reduced(const Scalar& load, Combine combine) {
    if (load->kind != ScalarNode::Kind::kLoad) return nullptr;
    const Nest* producer = Producer(load->buffer);
    if (!producer || producer->kind != Nest::Kind::kReduce || producer->combine != combine ||
        producer->reduced.size() != 1 ||
        !(producer->reduced[0].atom()->extent == found_.key.atom()->extent)) {
      return nullptr;
    }
    const Scalar body = BodyAt(*producer, load->index, found_.key);
    if (!body) return nullptr;
    found_.parts.insert(producer_.at(load->buffer));
    return WithMaps(body);
  }

  // [no score is finite ? 0 :] exp(score - largest) / sum
  bool Weights(Scalar weight) {
    Scalar any;
    if (IsCall(weight, "where") && IsConstant(weight->args[1], 0) &&
        IsCall(weight->args[0], "not")) {
      any = weight->args[0]->args[0];
      weight = weight->args[2];
    }
    if (!IsCall(weight, "div") || !IsCall(weight->args[0], "exp")) return false;
    const Scalar power = weight->args[0];
    const Scalar difference = power->args[0];
    if (!IsCall(difference, "sub")) return false;
    const Scalar score = difference->args[0];
    const Scalar largest = Reduced(difference->args[1], Combine::kMax);
    const Scalar sum = Reduced(weight->args[1], Combine::kSum);
    if (!largest || !sum || !SameScalar(largest, score) || !SameScalar(sum, power)) return false;
    if (any) {
      const Scalar seen = Reduced(any, Combine::kAny);
      if (!seen || !IsCall(seen, "not") || !IsCall(seen->args[0], "eq") ||
          !SameScalar(seen->args[0]->args[0], score) || !IsMinusInfinity(seen->args[0]->args[1])) {
        return false;
      }
      found_.empty_is_zero = true;
    }
    found_.score = score;
    return true;
  }

  bool Sides(const Nest& nest, const Scalar& weight) {
    for (const Int& axis : AxesIn(nest.axes)) {
      const bool in_weight = UsesAxis(weight, axis.atom());
      const bool in_values =
          std::any_of(found_.values.begin(), found_.values.end(),
                      [&](const Scalar& value) { return UsesAxis(value, axis.atom()); });
      if (!in_weight && !in_values) return false;
      (in_weight && in_values ? found_.batch
       : in_weight            ? found_.rows
                              : found_.columns)
          .push_back(axis);
    }
    return !found_.rows.empty() && !found_.columns.empty();
  }

  // The one sum of products that the score is made of.
  bool Product() {
    std::optional<Scalar> load;
    bool one = true;
    VisitScalars(found_.score, [&](const Scalar& node) {
      if (node->kind != ScalarNode::Kind::kLoad) return;
      const Nest* producer = Producer(node->buffer);
      if (!producer || producer->kind != Nest::Kind::kReduce ||
          !UsesAxis(node, found_.key.atom()) || !UsesOneOf(node, found_.rows)) {
        return;
      }
      one = one && !load;
      load = node;
    });
    if (!load || !one) return false;
    const Nest& producer = *Producer((*load)->buffer);
    if (producer.combine != Combine::kSum || producer.body->dtype != DType::kFloat32) return false;
    // Only the axes of its result are replaced: its own loops stay.
    Nest outer = producer;
    outer.reduced.clear();
    const Scalar body = BodyAt(outer, (*load)->index, Int(0));
    if (!body) return false;
    std::vector<Scalar> factors;
    Factors(body, factors);
    for (const Scalar& factor : factors) {
      const bool key = UsesAxis(factor, found_.key.atom());
      if (key && UsesOneOf(factor, found_.rows)) return false;
      if (UsesOneOf(factor, found_.columns)) return false;
      (key ? found_.right : found_.left).push_back(factor);
    }
    if (found_.left.empty() || found_.right.empty()) return false;
    found_.depth = producer.reduced;
    found_.product = (*load)->buffer;
    found_.parts.insert(producer_.at(found_.product));
    return true;
  }

  bool IsRead(size_t part) const {
    for (const BufferId id : program_.nests[part].outputs) {
      if (kept_.contains(id)) return true;
      for (const size_t reader : readers_[id]) {
        if (reader != found_.nest && !found_.parts.contains(reader)) return true;
      }
    }
    return false;
  }

  // Nothing else needs what is no longer stored: the scores and what is made of them. A mask that
  // others read as well stays, for them.
  bool PartsServeOnlyThis() {
    std::set<size_t> of_scores{producer_.at(found_.product)};
    for (const size_t part : found_.parts) {  // in the order of the program
      for (const BufferId id : LoadedBy(program_.nests[part])) {
        const auto at = producer_.find(id);
        if (at != producer_.end() && of_scores.contains(at->second)) of_scores.insert(part);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const size_t part : found_.parts) {
        if (!IsRead(part)) continue;
        if (of_scores.contains(part)) return false;
        found_.parts.erase(part);
        changed = true;
        break;
      }
    }
    return true;
  }

  const Program& program_;
  std::vector<std::set<size_t>> readers_;
  std::map<BufferId, size_t> producer_;
  std::set<BufferId> kept_;  // results and updates
  Attention found_;
};

}  // namespace

std::vector<Attention> FindAttention(const Program& program) {
  std::vector<Attention> all;
  std::set<size_t> taken;
  Finder finder(program);
  for (size_t i = 0; i < program.nests.size(); ++i) {
    auto found = finder.At(i);
    if (!found) continue;
    const bool free = std::none_of(found->parts.begin(), found->parts.end(),
                                   [&](size_t part) { return taken.contains(part); });
    if (!free || taken.contains(i)) continue;
    taken.insert(found->parts.begin(), found->parts.end());
    taken.insert(i);
    all.push_back(*std::move(found));
  }
  return all;
}

}  // namespace kernelsmith::codegen
