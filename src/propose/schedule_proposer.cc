#include "propose/schedule_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "propose/gene_model.h"
#include "support/demangle.h"
#include "support/hash.h"

namespace kernelsmith {
namespace {

using codegen::Gene;
using codegen::Schedule;

// Schedules that are known already are drawn again, this often. Emitting one takes milliseconds,
// compiling it a second.
constexpr int kAttempts = 40;
// Attempts after which a mutation changes one gene more: the neighbourhood is used up.
constexpr int kPatience = 6;
// Chance of one more gene.
constexpr double kMore = 0.4;
// Chance that all genes of one kernel are drawn anew: single steps do not leave a valley.
constexpr double kRedraw = 0.15;
// Chance that a changed gene takes a value next to its old one.
constexpr double kNeighbour = 0.6;
// What a gene weighs beside its kernel's share of the time: every gene must have its chance. Those
// that decide which kernels there are have no kernel.
constexpr double kLeastWeight = 0.1;
constexpr double kUnplacedWeight = 0.5;
// From so many timed schedules on, the most promising of several children is proposed; but not
// always, or what the model is wrong about would stay untried.
constexpr size_t kEnoughTimed = 6;
constexpr int kChildren = 24;
constexpr int kDrawn = 24;  // how many are drawn; a guided random proposal takes one of them
constexpr double kUnguided = 0.2;

bool HasGenes(const ArchivedCandidate& candidate) {
  return candidate.genes.is_object() && candidate.genes.contains("genes");
}

// As the archive has them: complete, or none.
Schedule ArchivedGenes(const ArchivedCandidate& candidate) {
  Schedule schedule;
  if (HasGenes(candidate)) {
    Result<Schedule> parsed = codegen::ParseSchedule(candidate.genes.dump(), "the archive");
    if (parsed.ok()) schedule = *std::move(parsed);
  }
  return schedule;
}

bool IsKnown(const ProposalRequest& request, const std::string& source) {
  return request.known_sources != nullptr && request.known_sources->contains(Sha256(source));
}

std::string KernelOf(const std::string& gene) { return gene.substr(0, gene.rfind('.')); }

// The share of the parent's time that the gene's kernel takes.
double Weight(const Gene& gene, const ArchivedCandidate& parent) {
  if (gene.kernel.empty() || !parent.limits.is_array()) return kUnplacedWeight;
  double share = 0;
  double all = 0;
  for (const nlohmann::json& step : parent.limits) {
    if (!step.is_object() || !step.contains("name") || !step["name"].is_string()) continue;
    const double us = step.value("us", 0.0);
    all += us;
    // The estimate has the name as the compiler mangles it.
    if (KernelName(step["name"].get<std::string>()) == gene.kernel) share += us;
  }
  return all > 0 ? kLeastWeight + share / all : kUnplacedWeight;
}

size_t DrawByWeight(const std::vector<double>& weights, Rng& rng) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  double at = rng.Uniform() * sum;
  for (size_t i = 0; i + 1 < weights.size(); ++i) {
    if (at < weights[i]) return i;
    at -= weights[i];
  }
  return weights.size() - 1;
}

int64_t OtherValue(const Gene& gene, Rng& rng) {
  std::vector<int64_t> values = gene.values;
  std::sort(values.begin(), values.end());
  const auto at = std::find(values.begin(), values.end(), gene.value);
  if (at != values.end() && rng.Uniform() < kNeighbour) {
    const bool first = at == values.begin();
    const bool last = at + 1 == values.end();
    const bool up = first || (!last && rng.Below(2) == 0);
    return up ? *(at + 1) : *(at - 1);
  }
  if (at != values.end()) values.erase(at);
  return values[rng.Below(values.size())];
}

// Changes `count` different genes.
Schedule Mutated(const ScheduleSpace& space, Schedule schedule, int count,
                 const ArchivedCandidate& parent, Rng& rng) {
  std::vector<std::string> changed;
  for (int i = 0; i < count; ++i) {
    // Asked again each time: a change may have removed genes or made new ones.
    std::vector<Gene> genes = space.genes(schedule);
    std::erase_if(genes, [&](const Gene& gene) {
      return gene.values.size() < 2 ||
             std::find(changed.begin(), changed.end(), gene.name) != changed.end();
    });
    if (genes.empty()) break;
    std::vector<double> weights;
    for (const Gene& gene : genes) weights.push_back(Weight(gene, parent));
    const Gene& gene = genes[DrawByWeight(weights, rng)];
    schedule.genes[gene.name] = OtherValue(gene, rng);
    changed.push_back(gene.name);
  }
  return Complete(space, std::move(schedule));
}

// All genes of one kernel drawn anew.
Schedule Redrawn(const ScheduleSpace& space, Schedule schedule, const ArchivedCandidate& parent,
                 Rng& rng) {
  const std::vector<Gene> genes = space.genes(schedule);
  if (genes.empty()) return schedule;
  std::vector<double> weights;
  for (const Gene& gene : genes) weights.push_back(Weight(gene, parent));
  const std::string kernel = KernelOf(genes[DrawByWeight(weights, rng)].name);
  for (const Gene& gene : genes) {
    if (KernelOf(gene.name) != kernel || gene.values.empty()) continue;
    schedule.genes[gene.name] = gene.values[rng.Below(gene.values.size())];
  }
  return Complete(space, std::move(schedule));
}

// Kernels are taken whole: their genes fit each other.
Schedule Crossed(const ScheduleSpace& space, const Schedule& a, const Schedule& b, Rng& rng) {
  std::map<std::string, bool> from_b;
  Schedule child;
  for (const Schedule* parent : {&a, &b}) {
    for (const auto& [gene, value] : parent->genes) {
      const auto [choice, fresh] = from_b.try_emplace(KernelOf(gene), false);
      if (fresh) choice->second = rng.Below(2) == 0;
      const bool own = choice->second == (parent == &b);
      if (own) {
        child.genes[gene] = value;
      } else {
        child.genes.try_emplace(gene, value);  // a gene that only this parent has
      }
    }
  }
  return Complete(space, std::move(child));
}

Result<Proposal> MakeProposal(const Schedule& schedule, std::string source, std::string note) {
  Proposal proposal;
  proposal.source = std::move(source);
  proposal.note = std::move(note);
  proposal.genes = ToJson(schedule);
  return proposal;
}

Error NothingNew(const char* where) {
  return Unsupported(
      fmt::format("{} attempts gave only schedules that were tried before{}", kAttempts, where));
}

}  // namespace

ScheduleSpace SpaceOf(const codegen::Model& model) {
  return {.genes = [&model](const Schedule& schedule) { return GenesOf(model, schedule); },
          .emit = [&model](const Schedule& schedule) { return EmitCandidate(model, schedule); }};
}

Schedule Complete(const ScheduleSpace& space, Schedule schedule) {
  Schedule complete;
  for (const Gene& gene : space.genes(schedule)) complete.genes[gene.name] = gene.value;
  return complete;
}

Schedule ScheduleOf(const ScheduleSpace& space, const ArchivedCandidate& candidate) {
  return Complete(space, ArchivedGenes(candidate));
}

std::string Difference(const Schedule& before, const Schedule& after) {
  std::string text;
  const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  for (const auto& [name, value] : after.genes) {
    const auto old = before.genes.find(name);
    if (old == before.genes.end()) {
      add(fmt::format("{} = {}", name, value));
    } else if (old->second != value) {
      add(fmt::format("{} {} -> {}", name, old->second, value));
    }
  }
  for (const auto& [name, value] : before.genes) {
    if (!after.genes.contains(name)) add(fmt::format("no {}", name));
  }
  return text;
}

namespace {

// Every gene drawn. Genes come and go with the values of others: until every one there is was
// drawn.
Schedule Drawn(const ScheduleSpace& space, Rng& rng) {
  Schedule schedule;
  for (bool more = true; more;) {
    more = false;
    for (const Gene& gene : space.genes(schedule)) {
      if (gene.values.empty() || schedule.genes.contains(gene.name)) continue;
      schedule.genes[gene.name] = gene.values[rng.Below(gene.values.size())];
      more = true;
    }
  }
  return Complete(space, std::move(schedule));
}

// Nothing: too little is known. `first` is the source of the first translation.
std::optional<GeneModel> ModelOf(const ScheduleSpace& space, const ProposalRequest& request,
                                 const std::string& first) {
  std::vector<GeneModel::Sample> samples;
  for (const ArchivedCandidate* each : request.timed) {
    if (!HasGenes(*each) && each->source != first) continue;
    // To complete what is complete would write each of them once more.
    samples.push_back(
        {HasGenes(*each) ? ArchivedGenes(*each) : Complete(space, {}), *each->time_ns * 1e-9});
  }
  if (samples.size() < kEnoughTimed) return std::nullopt;
  return GeneModel(samples);
}

}  // namespace

Result<Proposal> RandomScheduleProposer::Propose(const ProposalRequest& request, Rng& rng) {
  std::optional<GeneModel> model;
  if (guided_) {
    KS_TRY(const std::string first, space_.emit({}));
    model = ModelOf(space_, request, first);
    if (rng.Uniform() < kUnguided) model.reset();
  }
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Schedule schedule = Drawn(space_, rng);
    if (model) {
      double best = HUGE_VAL;
      for (int i = 0; i < kDrawn; ++i) {
        Schedule other = Drawn(space_, rng);
        const std::vector<Gene> genes = space_.genes(other);
        const double promise = model->Promise(other, genes, std::vector<double>(genes.size(), 1));
        if (promise >= best) continue;
        best = promise;
        schedule = std::move(other);
      }
    }
    KS_TRY(std::string source, space_.emit(schedule));
    if (IsKnown(request, source)) continue;
    return MakeProposal(schedule, std::move(source),
                        model ? fmt::format("the most promising of {} schedules at random", kDrawn)
                              : "a schedule at random");
  }
  return NothingNew("");
}

Result<Proposal> MutateScheduleProposer::Propose(const ProposalRequest& request, Rng& rng) {
  // Parents by others, a model's for example, have no genes to change.
  KS_TRY(const std::string first, space_.emit({}));
  std::vector<const ArchivedCandidate*> parents;
  for (const ArchivedCandidate* each : request.parents) {
    if (HasGenes(*each) || each->source == first) parents.push_back(each);
  }
  const bool foreign = parents.empty();
  const ArchivedCandidate& parent = foreign ? *request.parents.back() : *parents.back();
  const Schedule base = foreign ? Complete(space_, {}) : ScheduleOf(space_, parent);
  const bool crossover = parents.size() > 1;
  const auto child_of = [&](int attempt) {
    Schedule child = base;
    int changes = attempt / kPatience;
    if (crossover) {
      child = Crossed(space_, base, ScheduleOf(space_, *parents.front()), rng);
      // The first attempts may be a pure crossing.
      if (rng.Uniform() < 0.5) ++changes;
    } else if (rng.Uniform() < kRedraw) {
      child = Redrawn(space_, std::move(child), parent, rng);
    } else {
      ++changes;
      while (rng.Uniform() < kMore) ++changes;
    }
    if (changes > 0) child = Mutated(space_, std::move(child), changes, parent, rng);
    return child;
  };
  std::vector<Schedule> children;  // the most promising first
  const std::optional<GeneModel> model = ModelOf(space_, request, first);
  if (model && rng.Uniform() >= kUnguided) {
    std::vector<std::pair<double, size_t>> order;
    std::vector<Schedule> drawn;
    for (int i = 0; i < kChildren; ++i) {
      drawn.push_back(child_of(0));
      const std::vector<Gene> genes = space_.genes(drawn.back());
      std::vector<double> weights;
      for (const Gene& gene : genes) weights.push_back(Weight(gene, parent));
      order.emplace_back(model->Promise(drawn.back(), genes, weights), order.size());
    }
    std::sort(order.begin(), order.end());
    for (const auto& [promise, which] : order) children.push_back(drawn[which]);
  }
  const size_t promising = children.size();
  for (size_t attempt = 0; attempt < promising + kAttempts; ++attempt) {
    const Schedule child =
        attempt < promising ? children[attempt] : child_of(static_cast<int>(attempt - promising));
    KS_TRY(std::string source, space_.emit(child));
    if (source == parent.source || IsKnown(request, source)) continue;
    const std::string what = Difference(base, child);
    return MakeProposal(child, std::move(source),
                        crossover ? fmt::format("crossed: {}", what)
                        : foreign ? fmt::format("its parent has no genes; from the first "
                                                "translation: {}",
                                                what)
                                  : what);
  }
  return NothingNew(" near these parents");
}

}  // namespace kernelsmith
