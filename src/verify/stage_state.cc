// Kernels that leave something in device memory for later calls. What they leave is followed until
// it stays the same; what counts is moved to where a kernel that looks at it may turn. This is done
// at every judged shape: wide rows may have tickets that narrow ones do without.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "verify/kept_state.h"
#include "verify/later_calls.h"
#include "verify/repeated_plan.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// More is not looked at word by word.
constexpr uint64_t kMostBytes = 16 << 20;
// States that are compared, after 1, 2, 3 ... calls.
constexpr int kStates = 4;

class StateFollower {
 public:
  StateFollower(Verification& verification, size_t configuration, StageResult& stage)
      : verification_(verification),
        configuration_(configuration),
        traced_(*verification.shapes[configuration]),
        stage_(stage) {}

  // Nothing: no memory stays from call to call. Else what was done, for people.
  Result<std::optional<std::string>> Run() {
    KS_RETURN_IF_ERROR(Look());
    if (kept_.empty()) return std::optional<std::string>();
    return std::optional(note_);
  }

 private:
  Status Look() {
    const std::string& ptx = verification_.compiled().ptx;
    Result<Plan> plan = WithKeptState(traced_.plan(), ptx, &kept_);
    // What can't be parsed can't run either: other stages say why.
    if (!plan.ok()) return {};
    plan_ = *std::move(plan);
    uint64_t bytes = 0;
    for (const BufferIndex buffer : kept_) bytes += plan_.buffers[buffer].bytes;
    if (kept_.empty()) return {};
    if (bytes > kMostBytes) {
      stage_.Note({.kind = FindingKind::kCallsDiffer,
                   .message = fmt::format("{} bytes of device memory stay from call to call; how "
                                          "they change was not followed",
                                          bytes)});
      return {};
    }
    KS_TRY(sample_, verification_.DrawnCase(configuration_));
    if (!sample_) return {};
    return Follow(ptx);
  }

  Status Follow(const std::string& ptx) {
    std::vector<StateBytes> states;
    for (int calls = 1; calls <= kStates; ++calls) {
      KS_TRY(const std::optional<StateBytes> state, AfterCall(calls));
      if (!state) return {};  // a kernel failed, which other stages tell
      if (!states.empty() && *state == states.back()) {
        note_ = fmt::format("device memory stays as it is after {} calls", calls - 1);
        return JudgeAfter(calls);
      }
      states.push_back(*state);
    }
    const StateChange change = ChangeOf(states);
    if (change.kind != StateChange::Kind::kCounts) return TryManyCalls();
    const std::vector<uint64_t> points = TurningPoints(change, ptx);
    for (const uint64_t calls : points) {
      KS_RETURN_IF_ERROR(Judge(WithState(StateAfter(states.front(), change, calls)), calls + 1));
      if (stage_.Ended()) return {};
    }
    note_ = fmt::format("{} words of device memory count calls: judged at {} of them",
                        change.counters.size(), points.size());
    return {};
  }

  // It changes in a way that is not known: as many calls as are cheap are made for real, and each
  // of the first ones is judged.
  Status TryManyCalls() {
    constexpr int kEach = 40;
    constexpr int kMany = 64;
    for (int calls = 1; calls <= kMany; calls = calls == kEach ? kMany : calls + 1) {
      KS_RETURN_IF_ERROR(JudgeAfter(calls));
      if (stage_.Ended()) return {};
    }
    note_ = fmt::format("device memory changes with every call: {} calls", kEach);
    stage_.Note({.kind = FindingKind::kCallsDiffer,
                 .message = fmt::format("what kernels leave in device memory changes with every "
                                        "call; judged for the first {} calls and call {}",
                                        kEach + 1, kMany + 1)});
    return {};
  }

  Status JudgeAfter(int calls) {
    return Judge(AfterCalls(plan_, calls), static_cast<uint64_t>(calls) + 1);
  }

  Status Judge(const Plan& plan, uint64_t call) {
    return JudgeLaterCall(
        verification_, traced_,
        {.plan = {plan, {}},
         .when = fmt::format("in call {} of a process, by what earlier calls left in device memory",
                             call),
         .kind = FindingKind::kWrongCall},
        *sample_, stage_);
  }

  // The plan after one call and with this state.
  Plan WithState(const StateBytes& state) const {
    Plan plan = AfterCalls(plan_, 1);
    for (size_t i = 0; i < kept_.size(); ++i) {
      plan.preparation.push_back({.action = UploadStep{.to = {kept_[i], 0}, .data = state[i]}});
    }
    return plan;
  }

  Result<std::optional<StateBytes>> AfterCall(int calls) {
    const Plan plan = ShowingState(AfterCalls(plan_, calls - 1), kept_);
    KS_TRY(const std::vector<CallArgument> arguments,
           MakeCallArguments(traced_.task, traced_.seen));
    const CompiledCandidate& compiled = verification_.compiled();
    const Result<RunOutcome> run =
        verification_.tools.device.Run({.plan = &plan,
                                        .ptx = compiled.ptx,
                                        .ptx_name = compiled.ptx_path.string(),
                                        .inputs = FlattenTensors(arguments),
                                        .preparation_inputs = {}});
    if (!run.ok() || run->failure) return std::optional<StateBytes>();
    StateBytes state;
    for (const HostTensor& output : run->outputs) state.push_back(output.bytes);
    return std::optional<StateBytes>(std::move(state));
  }

  Verification& verification_;
  const size_t configuration_;
  const TracedShape& traced_;
  StageResult& stage_;
  std::string note_;
  Plan plan_;
  std::vector<BufferIndex> kept_;
  std::optional<Case> sample_;
};

}  // namespace

Result<StageResult> StateStage(Verification& verification) {
  StageResult stage;
  std::vector<std::string> notes;
  bool kept = false;
  for (size_t i = 0; i < verification.shapes.size(); ++i) {
    if (verification.shapes[i] == nullptr) continue;
    KS_TRY(const std::optional<std::string> note, StateFollower(verification, i, stage).Run());
    if (stage.Ended()) return stage;
    if (note && !note->empty() && std::find(notes.begin(), notes.end(), *note) == notes.end()) {
      notes.push_back(*note);
    }
    kept |= note.has_value();
  }
  if (!kept) return StageResult::Skipped("nothing stays in device memory");
  stage.note = fmt::format("{}", fmt::join(notes, "; "));
  return stage;
}

}  // namespace kernelsmith
