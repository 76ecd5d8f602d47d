#include "evolve/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "support/hash.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// What a proposer earns. Only the order matters much: most proposals fail, so whatever is verified
// is worth something, and a new best is worth as much as ten of these.
double RewardOf(Success success) {
  switch (success) {
    case Success::kFailed:
      return 0;
    case Success::kVerified:
      return 0.1;
    case Success::kNewElite:
      return 0.3;
    case Success::kIslandBest:
      return 0.6;
    case Success::kBest:
      return 1;
  }
  return 0;
}

// Calls work(i) for each i < count from up to `jobs` threads.
void InParallel(int jobs, size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  const auto loop = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min<size_t>(std::max(jobs, 1), count); ++t)
    threads.emplace_back(loop);
  loop();
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::string> Names(const std::vector<Proposer*>& proposers) {
  std::vector<std::string> names;
  for (const Proposer* proposer : proposers) names.push_back(proposer->name());
  return names;
}

Status CheckParts(const Evolution::Parts& parts) {
  const std::vector<std::string> names = Names(parts.proposers);
  std::set<std::string> different(names.begin(), names.end());
  different.insert(Evolution::kInitial);
  if (names.empty()) return InvalidInput("an evolution needs a proposer");
  if (parts.cascade.empty()) return InvalidInput("an evolution needs a stage of evaluation");
  if (different.size() != names.size() + 1) {
    return InvalidInput("the proposers of an evolution must have different names");
  }
  return {};
}

}  // namespace

struct Evolution::Slot {
  int64_t number = 0;
  std::optional<size_t> arm;  // proposer; none: an initial source
  int64_t island = 0;
  std::vector<const ArchivedCandidate*> parents;
  std::optional<Rng> rng;  // where selection left it
  Standing standing;

  bool committed = false;
  bool identified = false;  // went through the first stage and waits for the others
  bool examined = false;    // went through all stages but the last
  ArchivedCandidate candidate;
  std::unique_ptr<Artifact> artifact;
  Clock::Duration spent{0};
};

Evolution::Evolution(const Parts& parts, ArchivedRun run, EvolutionSettings settings,
                     EvolutionBudget budget, std::vector<std::string> initial)
    : parts_(parts),
      run_(std::move(run)),
      settings_(settings),
      budget_(budget),
      initial_(std::move(initial)),
      began_(parts.clock.Now()),
      population_(settings),
      bandit_(parts.proposers.size()),
      failures_(parts.proposers.size()) {}

Result<std::unique_ptr<Evolution>> Evolution::Start(const Parts& parts, const EvolvedTask& evolved,
                                                    const EvolutionSettings& settings,
                                                    const EvolutionBudget& budget,
                                                    const std::vector<std::string>& initial) {
  KS_RETURN_IF_ERROR(CheckParts(parts));
  KS_RETURN_IF_ERROR(Check(settings));
  ArchivedRun run{.task = evolved.task, .direction = evolved.direction, .dtype = evolved.dtype};
  run.seed = settings.seed;
  run.options = {{"settings", ToJson(settings)},
                 {"proposers", Names(parts.proposers)},
                 {"initial", initial},
                 {"context", evolved.context}};
  run.budget = ToJson(budget);
  KS_TRY(run.id, parts.archive.AddRun(run));
  return std::unique_ptr<Evolution>(
      new Evolution(parts, std::move(run), settings, budget, initial));
}

Result<std::unique_ptr<Evolution>> Evolution::Resume(const Parts& parts, int64_t run_id,
                                                     const EvolutionBudget& budget) {
  KS_RETURN_IF_ERROR(CheckParts(parts));
  KS_TRY(ArchivedRun run, parts.archive.GetRun(run_id));
  const json& options = run.options;
  if (!options.contains("settings") || !options.contains("proposers") ||
      !options.contains("initial") || !options["initial"].is_array()) {
    return InvalidInput(fmt::format("run {} of the archive is no evolution", run_id));
  }
  KS_TRY(const EvolutionSettings settings, SettingsFromJson(options["settings"]));
  if (options["proposers"] != json(Names(parts.proposers))) {
    return InvalidInput(
        fmt::format("run {} has the proposers {}, not {}: it can't go on with others", run_id,
                    options["proposers"].dump(), json(Names(parts.proposers)).dump()));
  }
  std::vector<std::string> initial;
  for (const json& source : options["initial"]) {
    if (source.is_string()) initial.push_back(source.get<std::string>());
  }
  std::unique_ptr<Evolution> evolution(
      new Evolution(parts, std::move(run), settings, budget, std::move(initial)));
  KS_TRY(std::vector<ArchivedCandidate> candidates,
         parts.archive.List({.run = run_id, .order = ArchiveFilter::Order::kNumber}));
  for (ArchivedCandidate& candidate : candidates) {
    if (!candidate.number) continue;
    evolution->dollars_ += candidate.dollars;
    evolution->done_.emplace(*candidate.number, std::move(candidate));
  }
  return evolution;
}

double Evolution::Seconds() const {
  return run_.seconds + std::chrono::duration<double>(parts_.clock.Now() - began_).count();
}

// Empty: go on. The caller holds the mutex or is alone.
std::string Evolution::WhyStop() {
  if (Stopped()) return "stopped";
  if (budget_.seconds > 0 && Seconds() >= budget_.seconds) return "seconds";
  if (budget_.dollars > 0 && dollars_ >= budget_.dollars) return "dollars";
  return "";
}

Result<std::vector<Evolution::Slot>> Evolution::PlanGeneration() {
  const bool first = next_ == 0 && !initial_.empty();
  const int64_t count = first ? static_cast<int64_t>(initial_.size()) : settings_.batch;
  Bandit bandit = bandit_;
  std::vector<Slot> slots;
  for (int64_t number = next_; number < next_ + count; ++number) {
    Slot& slot = slots.emplace_back();
    slot.number = number;
    slot.rng = Rng(settings_.seed).Fork(static_cast<uint64_t>(number));
    slot.island = first ? kEverywhere : number % settings_.islands;
    if (population_.best() != nullptr) slot.standing.best_ns = population_.best()->time_ns;
    if (!first) {
      const int island = static_cast<int>(slot.island);
      slot.standing.worst_kept_ns = population_.WorstKept(island);
      for (const auto& [cell, elite] : population_.elites(island)) {
        slot.standing.elite_ns[cell] = *elite->time_ns;
      }
      // An island where nothing lives yet borrows from the best of all.
      int available = static_cast<int>(population_.members(island).size());
      const bool borrow = available == 0 && population_.best() != nullptr;
      if (borrow) available = 1;
      std::vector<bool> allowed;
      for (const Proposer* proposer : parts_.proposers) {
        allowed.push_back(proposer->min_parents() <= available);
      }
      if (std::find(allowed.begin(), allowed.end(), true) == allowed.end()) {
        slots.clear();
        return slots;
      }
      slot.arm = bandit.Choose(allowed);
      bandit.Begin(*slot.arm);
      const Proposer& proposer = *parts_.proposers[*slot.arm];
      int parents = std::min(1, proposer.max_parents());
      const bool crossover = slot.rng->Uniform() < settings_.crossover;
      if (crossover && proposer.max_parents() >= 2) parents = 2;
      parents = std::max(parents, proposer.min_parents());
      slot.parents = borrow && parents > 0
                         ? std::vector<const ArchivedCandidate*>{population_.best()}
                         : population_.SelectParents(island, parents, *slot.rng);
    }
    const auto done = done_.find(number);
    if (done == done_.end()) continue;
    slot.committed = true;
    const std::string expected = slot.arm ? parts_.proposers[*slot.arm]->name() : kInitial;
    if (done->second.proposer != expected || done->second.island != slot.island) {
      return InvalidInput(fmt::format(
          "candidate {} of run {} is by '{}' on island {}, but this version asks '{}' on island "
          "{}: the "
          "run was made by another version and can't go on here",
          number, run_.id, done->second.proposer, done->second.island, expected, slot.island));
    }
  }
  return slots;
}

// Proposal and first stage. What fails here is committed at once.
void Evolution::Begin(Slot& slot) {
  const Clock::Duration start = parts_.clock.Now();
  ArchivedCandidate& candidate = slot.candidate;
  candidate.run = run_.id;
  candidate.number = slot.number;
  candidate.task = run_.task;
  candidate.direction = run_.direction;
  candidate.dtype = run_.dtype;
  candidate.generation = generation_;
  candidate.island = slot.island;
  candidate.proposer = slot.arm ? parts_.proposers[*slot.arm]->name() : kInitial;
  for (const ArchivedCandidate* parent : slot.parents) candidate.parents.push_back(parent->id);
  if (slot.arm) {
    Result<Proposal> proposal =
        parts_.proposers[*slot.arm]->Propose({.parents = slot.parents,
                                              .failures = failures_[*slot.arm],
                                              .known_sources = &sources_,
                                              .timed = timed_},
                                             *slot.rng);
    if (!proposal.ok()) {
      candidate.verdict = "none";
      candidate.stage = "propose";
      candidate.reason = proposal.error().message();
      slot.spent = parts_.clock.Now() - start;
      return Commit(slot);
    }
    candidate.source = std::move(proposal->source);
    candidate.note = std::move(proposal->note);
    candidate.genes = std::move(proposal->genes);
    candidate.prompt = std::move(proposal->prompt);
    candidate.answer = std::move(proposal->answer);
    candidate.tokens_in = proposal->tokens_in;
    candidate.tokens_out = proposal->tokens_out;
    candidate.dollars = proposal->dollars;
    {
      const std::lock_guard lock(mutex_);
      dollars_ += candidate.dollars;
    }
    if (candidate.source.empty()) {
      candidate.verdict = "none";
      candidate.stage = "propose";
      candidate.reason = candidate.note;
      slot.spent = parts_.clock.Now() - start;
      return Commit(slot);
    }
  } else {
    candidate.source = initial_[static_cast<size_t>(slot.number)];
  }
  const StageOutcome outcome = parts_.cascade.front()->Run(candidate, slot.artifact, slot.standing);
  slot.spent = parts_.clock.Now() - start;
  if (outcome.passed) {
    slot.identified = true;
    return;
  }
  if (outcome.error) return Break(*outcome.error);
  candidate.ptx_hash.clear();  // it stands for what went through, see MarkKnown
  candidate.verdict = outcome.verdict;
  candidate.stage = parts_.cascade.front()->name();
  candidate.reason = outcome.reason;
  Commit(slot);
}

// Which of the slots have device code that an earlier candidate has. Stands between the first stage
// and the others because it needs all hashes: in the order of numbers, whichever thread was faster.
void Evolution::MarkKnown(std::vector<Slot>& slots) {
  std::map<std::string, int64_t> seen = seen_;
  for (Slot& slot : slots) {
    if (!slot.committed && !slot.identified) continue;
    const std::string& hash =
        slot.committed ? done_.at(slot.number).ptx_hash : slot.candidate.ptx_hash;
    if (hash.empty()) continue;
    const auto [first, fresh] = seen.emplace(hash, slot.number);
    if (fresh || slot.committed) continue;
    slot.identified = false;
    slot.candidate.verdict = "rejected";
    slot.candidate.stage = "novelty";
    slot.candidate.reason = fmt::format("same device code as candidate {}", first->second);
    Commit(slot);
  }
}

// The stages between the first and the last.
void Evolution::Examine(Slot& slot) {
  const Clock::Duration start = parts_.clock.Now();
  ArchivedCandidate& candidate = slot.candidate;
  for (size_t i = 1; i + 1 < parts_.cascade.size(); ++i) {
    const StageOutcome outcome = parts_.cascade[i]->Run(candidate, slot.artifact, slot.standing);
    if (outcome.passed) continue;
    if (outcome.error) return Break(*outcome.error);
    candidate.verdict = outcome.verdict;
    candidate.stage = parts_.cascade[i]->name();
    candidate.reason = outcome.reason;
    slot.artifact.reset();
    slot.spent += parts_.clock.Now() - start;
    return Commit(slot);
  }
  slot.spent += parts_.clock.Now() - start;
  slot.examined = true;
}

// The last stage is the most expensive one. It judges two candidates at a time in the order of
// their numbers, and what they show counts for those behind them, many of which it spares. The
// order is that of numbers, not of times, so that a generation that a budget cuts short goes on as
// if nothing had happened.
void Evolution::Decide(std::vector<Slot>& slots, int jobs) {
  constexpr size_t kAtATime = 2;
  const std::string last = parts_.cascade.back()->name();
  std::vector<const ArchivedCandidate*> judged;  // verified ones of this generation
  for (size_t next = 0; next < slots.size() && !Stopped() && !error_;) {
    std::vector<Slot*> wave;
    for (; next < slots.size() && wave.size() < kAtATime; ++next) {
      Slot& slot = slots[next];
      if (slot.committed) {
        if (done_.at(slot.number).stage == last) wave.push_back(&slot);
        continue;
      }
      if (!slot.examined) {
        next = slots.size();  // interrupted, or beyond the budget: so is all that is behind it
        break;
      }
      for (const ArchivedCandidate* each : judged) {
        Standing& standing = slot.standing;
        standing.best_ns = std::min(standing.best_ns.value_or(*each->time_ns), *each->time_ns);
        if (each->island != slot.island || each->cell.empty()) continue;
        const auto elite = standing.elite_ns.emplace(each->cell, *each->time_ns).first;
        elite->second = std::min(elite->second, *each->time_ns);
      }
      StageOutcome outcome = StageOutcome::Pass();
      size_t stage = 0;
      while (outcome.passed && stage + 1 < parts_.cascade.size()) {
        outcome = parts_.cascade[stage++]->StillPasses(slot.candidate, slot.standing);
      }
      if (outcome.passed) {
        wave.push_back(&slot);
        continue;
      }
      slot.candidate.verdict = outcome.verdict;
      slot.candidate.stage = parts_.cascade[stage - 1]->name();
      slot.candidate.reason = outcome.reason;
      slot.artifact.reset();
      Commit(slot);
    }
    InParallel(jobs, wave.size(), [&](size_t i) {
      if (!wave[i]->committed && !Stopped()) Finish(*wave[i]);
    });
    for (const Slot* slot : wave) {
      const auto done = done_.find(slot->number);
      if (done == done_.end()) return;  // stopped
      if (done->second.verified() && done->second.time_ns) judged.push_back(&done->second);
    }
  }
}

void Evolution::Finish(Slot& slot) {
  const Clock::Duration start = parts_.clock.Now();
  ArchivedCandidate& candidate = slot.candidate;
  candidate.verdict = "verified";
  candidate.stage = parts_.cascade.back()->name();
  if (parts_.cascade.size() > 1) {
    const StageOutcome outcome =
        parts_.cascade.back()->Run(candidate, slot.artifact, slot.standing);
    if (outcome.error) return Break(*outcome.error);
    if (!outcome.passed) {
      candidate.verdict = outcome.verdict;
      candidate.reason = outcome.reason;
    }
  }
  slot.artifact.reset();
  slot.spent += parts_.clock.Now() - start;
  Commit(slot);
}

// The first error ends the run; what was committed stays.
void Evolution::Break(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
}

void Evolution::Commit(Slot& slot) {
  slot.candidate.seconds = std::chrono::duration<double>(slot.spent).count();
  const std::lock_guard lock(mutex_);
  if (error_) return;
  Result<ArchivedCandidate> added = parts_.archive.Add(slot.candidate);
  if (!added.ok()) {
    error_ = added.error();
    return;
  }
  const auto place = done_.emplace(slot.number, *std::move(added)).first;
  slot.committed = true;
  slot.identified = slot.examined = false;
  if (watch_) watch_(place->second);
}

void Evolution::ApplyGeneration(const std::vector<Slot>& slots) {
  for (const Slot& slot : slots) {
    const ArchivedCandidate& candidate = done_.at(slot.number);
    if (!candidate.ptx_hash.empty()) seen_.emplace(candidate.ptx_hash, slot.number);
    sources_.insert(candidate.source_sha256);
    if (candidate.time_ns) timed_.push_back(&candidate);
    const Success success = population_.Admit(candidate);
    if (!slot.arm) continue;
    bandit_.Begin(*slot.arm);
    bandit_.Reward(*slot.arm, RewardOf(success));
    std::vector<const ArchivedCandidate*>& failures = failures_[*slot.arm];
    if (success == Success::kFailed) failures.push_back(&candidate);
    if (failures.size() > static_cast<size_t>(settings_.failures_shown)) {
      failures.erase(failures.begin());
    }
  }
  next_ += static_cast<int64_t>(slots.size());
  ++generation_;
  if (settings_.migrate_every > 0 && generation_ % settings_.migrate_every == 0) {
    population_.Migrate();
  }
}

// False: the run ends here.
Result<bool> Evolution::RunGeneration(int jobs) {
  KS_TRY(std::vector<Slot> slots, PlanGeneration());
  if (slots.empty()) {
    ended_by_ = "no parents";
    return false;
  }
  // The budget may end within a generation; what is left of it is done when the run goes on with a
  // bigger one.
  std::vector<Slot*> todo;
  for (Slot& slot : slots) {
    const bool paid = budget_.candidates == 0 || slot.number < budget_.candidates;
    if (!paid) ended_by_ = "candidates";
    if (paid && !slot.committed) todo.push_back(&slot);
  }
  const auto may_go_on = [&] {
    const std::lock_guard lock(mutex_);
    if (error_) return false;
    const std::string why = WhyStop();
    if (!why.empty()) ended_by_ = why;
    return why.empty();
  };
  InParallel(jobs, todo.size(), [&](size_t i) {
    if (may_go_on()) Begin(*todo[i]);
  });
  if (error_) return *error_;
  // After an early end the hashes of some are not known: those behind the first of them must wait,
  // or the order would decide who is the copy of whom.
  bool gap = false;
  for (Slot* slot : todo) {
    gap = gap || (!slot->committed && !slot->identified);
    if (gap) slot->identified = false;
  }
  MarkKnown(slots);
  std::erase_if(todo, [](const Slot* slot) { return !slot->identified; });
  // What has begun is finished even when money or time is used up meanwhile; only Stop() drops it.
  InParallel(jobs, todo.size(), [&](size_t i) {
    if (!Stopped()) Examine(*todo[i]);
  });
  if (error_) return *error_;
  Decide(slots, jobs);
  if (error_) return *error_;
  if (Stopped()) ended_by_ = "stopped";
  const bool complete =
      std::all_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.committed; });
  if (!complete) {
    KS_CHECK(!ended_by_.empty());
    return false;
  }
  ApplyGeneration(slots);
  return ended_by_.empty();
}

Result<EvolutionReport> Evolution::Run(int jobs,
                                       const std::function<void(const ArchivedCandidate&)>& watch) {
  watch_ = watch;
  ended_by_.clear();
  const json budget = ToJson(budget_);
  KS_RETURN_IF_ERROR(parts_.archive.UpdateRun(run_.id, "running", Seconds(), budget));
  bool more = true;
  while (more) {
    if (budget_.candidates > 0 && next_ >= budget_.candidates) {
      ended_by_ = "candidates";
      break;
    }
    const int64_t before = static_cast<int64_t>(done_.size());
    KS_TRY(more, RunGeneration(jobs));
    if (static_cast<int64_t>(done_.size()) != before) {
      KS_RETURN_IF_ERROR(parts_.archive.UpdateRun(run_.id, "running", Seconds(), budget));
    }
  }
  const bool finished = ended_by_ != "stopped";
  KS_RETURN_IF_ERROR(
      parts_.archive.UpdateRun(run_.id, finished ? "finished" : "stopped", Seconds(), budget));
  return Report();
}

EvolutionReport Evolution::Report() const {
  EvolutionReport report;
  report.run = run_.id;
  report.ended_by = ended_by_;
  report.candidates = static_cast<int64_t>(done_.size());
  report.seconds = Seconds();
  report.dollars = dollars_;
  for (size_t i = 0; i < parts_.proposers.size(); ++i) {
    report.proposers.push_back({.name = parts_.proposers[i]->name(), .reward = bandit_.mean(i)});
  }
  for (const auto& [number, candidate] : done_) {
    ++report.verdicts[candidate.verdict];
    for (ProposerRecord& record : report.proposers) {
      if (record.name != candidate.proposer) continue;
      ++record.asked;
      record.verified += candidate.verified() ? 1 : 0;
    }
    if (!candidate.verified() || !candidate.time_ns) continue;
    if (!report.best || *candidate.time_ns < *report.best->time_ns) report.best = candidate;
  }
  report.fingerprint = Fingerprint();
  return report;
}

std::string Evolution::Fingerprint() const {
  std::map<int64_t, int64_t> numbers;  // numbers by id: ids depend on the order of commits
  for (const auto& [number, candidate] : done_) numbers[candidate.id] = number;
  std::string text;
  for (const auto& [number, c] : done_) {
    text += fmt::format("{} {} {} {} {} {} {} {} {}", number, c.generation, c.island, c.proposer,
                        c.source_sha256, c.ptx_hash, c.verdict, c.stage, c.time_ns.value_or(-1));
    for (const int64_t parent : c.parents) {
      const auto found = numbers.find(parent);
      text += fmt::format(" {}", found == numbers.end() ? -1 : found->second);
    }
    text += "\n";
  }
  for (int island = 0; island < settings_.islands; ++island) {
    for (const ArchivedCandidate* member : population_.members(island)) {
      text += fmt::format(" {}", member->number.value_or(-1));
    }
    for (const auto& [cell, elite] : population_.elites(island)) {
      text += fmt::format(" {}={}", cell, elite->number.value_or(-1));
    }
    text += "\n";
  }
  for (size_t i = 0; i < parts_.proposers.size(); ++i) {
    text += fmt::format("{} {}\n", bandit_.asked(i), bandit_.mean(i));
  }
  return Sha256(text);
}

}  // namespace kernelsmith
