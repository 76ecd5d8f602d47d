// Many calls in one process: the first one, later ones, calls after others with other shapes, data
// and addresses. Every call that does something else than the plans that were judged is judged.
#include <fmt/format.h>

#include <algorithm>

#include "support/rng.h"
#include "verify/later_calls.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Calls in one process. A counter that turns later is beyond what is promised, and the note of the
// stage has the number. Host code that takes long gets a shorter sequence.
constexpr size_t kCalls = 1000;
constexpr size_t kCallsOfSlowHosts = 64;
// Shapes that take turns, and configurations with other scalars.
constexpr size_t kShapes = 4;
constexpr size_t kScalars = 2;

struct Turn {
  const TracedShape* traced = nullptr;
  std::optional<Case> sample;  // none: PyTorch has no finite answer
  CandidateCall call;
};

// A configuration with other scalars: its values come in an order that nobody knows.
Result<std::optional<Case>> CaseWithScalars(Verification& verification, const TracedShape& traced) {
  if (!traced.evaluated_here) {
    return std::optional<Case>(Case{.seed = kSeenSeed, .tensors = traced.seen});
  }
  return verification.MakeCase(traced, "redrawn", verification.Secret(SeedStream::kSequence, 2));
}

// The shapes that take turns, the first one twice: with other addresses it is another call. Small
// ones first, or large ones: what is kept of the one is too small or too large for the other. The
// last ones have other scalars.
Result<std::vector<Turn>> ChooseTurns(Verification& verification, bool large_first) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < verification.shapes.size(); ++i) {
    if (verification.shapes[i] != nullptr) chosen.push_back(i);
  }
  const auto order = [&](size_t i) { return std::pair(verification.shapes[i]->work, i); };
  std::sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) { return order(a) < order(b); });
  // The largest are left out, for the sake of time; those for timing are among them.
  if (chosen.size() > kShapes) chosen.resize(kShapes);
  if (large_first) std::reverse(chosen.begin(), chosen.end());
  chosen.push_back(chosen.front());
  std::vector<Turn> turns;
  const auto add = [&](const TracedShape& traced, std::optional<Case> sample) -> Status {
    KS_TRY(CandidateCall call,
           MakeCall(verification.options.direction, traced.task, traced.graph, traced.seen));
    turns.push_back({&traced, std::move(sample), std::move(call)});
    return {};
  };
  for (const size_t i : chosen) {
    KS_TRY(std::optional<Case> sample, verification.DrawnCase(i));
    KS_RETURN_IF_ERROR(add(*verification.shapes[i], std::move(sample)));
  }
  for (size_t i = 0; i < std::min(verification.other_scalars.size(), kScalars); ++i) {
    const TracedShape& traced = *verification.other_scalars[i];
    KS_TRY(std::optional<Case> sample, CaseWithScalars(verification, traced));
    KS_RETURN_IF_ERROR(add(traced, std::move(sample)));
  }
  return turns;
}

// Each twice in a row, then each behind each other, then in an order that nobody can guess.
std::vector<uint32_t> MakeSequence(size_t turns, size_t length, uint64_t seed) {
  std::vector<uint32_t> sequence;
  const auto count = static_cast<uint32_t>(turns);
  for (uint32_t a = 0; a < count; ++a) sequence.insert(sequence.end(), {a, a});
  for (uint32_t a = 0; a < count; ++a) {
    for (uint32_t b = 0; b < a; ++b) sequence.insert(sequence.end(), {b, a});
  }
  Rng rng(seed);
  while (sequence.size() < length) sequence.push_back(static_cast<uint32_t>(rng.Below(count)));
  return sequence;
}

std::string When(const SequencePlan& call) {
  if (call.number == 1) return "in the first call";
  return fmt::format("in call {} of a process, after calls with other shapes and data",
                     call.number);
}

Status JudgeSequence(Verification& verification, const std::vector<Turn>& turns,
                     const TracedSequence& sequence, StageResult& stage) {
  for (const SequencePlan& call : sequence.history.plans) {
    const Turn& turn = turns.at(call.set);
    const TracedShape& traced = *turn.traced;
    if (call.plan() == traced.plan()) continue;
    CheckOutputs(call.plan(), stage);
    if (stage.Ended()) return {};
    if (!turn.sample) continue;
    KS_RETURN_IF_ERROR(
        JudgeLaterCall(verification, traced,
                       {.plan = call.of_call, .when = When(call), .kind = FindingKind::kWrongCall},
                       *turn.sample, stage));
    if (stage.Ended()) return {};
  }
  return {};
}

// What the trace itself shows.
void TakeProblems(const TracedSequence& sequence, StageResult& stage) {
  for (CandidateProblem problem : sequence.problems) {
    problem.message = "in a sequence of calls: " + problem.message;
    // Many calls take long for an honest host, too.
    if (problem.kind == FindingKind::kTimeout) problem.verdict = VerdictKind::kInconclusive;
    stage.Add(problem);
  }
  const CallHistory& history = sequence.history;
  if (history.plans.size() < history.different) {
    stage.Note({.kind = FindingKind::kCallsDiffer,
                .message = fmt::format("{} of {} calls differ from those before them; {} of them "
                                       "were judged",
                                       history.different, history.calls, history.plans.size())});
  }
  // One that is kept for each shape is no leak.
  if (history.lost_in > 0 && history.lost >= history.lost_in / 2) {
    stage.Warn({.kind = FindingKind::kMemoryLost,
                .message = fmt::format("{} calls left {} allocations behind that nobody freed",
                                       history.lost_in, history.lost)});
  }
}

// As many calls as the host code has time for.
Result<TracedSequence> TraceTurns(Verification& verification, const std::vector<Turn>& turns,
                                  uint64_t seed) {
  std::vector<CandidateCall> sets;
  for (const Turn& turn : turns) sets.push_back(turn.call);
  KS_TRY(TracedSequence sequence,
         verification.candidate.TraceSequence(sets, MakeSequence(turns.size(), kCalls, seed)));
  const bool slow = std::any_of(
      sequence.problems.begin(), sequence.problems.end(),
      [](const CandidateProblem& problem) { return problem.kind == FindingKind::kTimeout; });
  if (!slow) return sequence;
  return verification.candidate.TraceSequence(sets,
                                              MakeSequence(turns.size(), kCallsOfSlowHosts, seed));
}

}  // namespace

Result<StageResult> CallsStage(Verification& verification) {
  StageResult stage;
  uint32_t calls = 0;
  for (const bool large_first : {false, true}) {
    KS_TRY(const std::vector<Turn> turns, ChooseTurns(verification, large_first));
    KS_TRY(
        const TracedSequence sequence,
        TraceTurns(verification, turns, verification.Secret(SeedStream::kSequence, large_first)));
    TakeProblems(sequence, stage);
    if (stage.Ended()) return stage;
    calls += sequence.history.calls;
    KS_RETURN_IF_ERROR(JudgeSequence(verification, turns, sequence, stage));
    if (stage.Ended()) return stage;
    // With one shape there is but one order.
    if (turns.size() == 2) break;
  }
  stage.note = fmt::format("{} calls", calls);
  return stage;
}

}  // namespace kernelsmith
