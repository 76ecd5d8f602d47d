#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "candidate/call.h"
#include "support/demangle.h"
#include "support/rng.h"
#include "tensor/tensor.h"
#include "verify/path_coverage.h"
#include "verify/sampled_shape.h"
#include "verify/stages.h"
#include "verify/tiled.h"
#include "verify/timing_part.h"
#include "verify/work.h"

namespace kernelsmith {
namespace {

// Tensors of the arguments in all: what two traced children can take without slowing a verdict
// down.
constexpr uint64_t kMaxBytes = uint64_t{192} << 20;
// Operations of a shape that stands in for one that does not fit: grids of kernels whose threads
// take several turns are full there.
constexpr int64_t kReducedWork = 64'000'000;
// Threads of a plan that runs as a whole: a second or two of the interpreter.
constexpr uint64_t kWholeThreads = 1 << 18;
// Instructions of lanes that compiled code does in a second or two.
constexpr double kWholeInstructions = 2e9;
// Operations of a task that src/graph evaluates in a tenth of a second.
constexpr int64_t kCheapWork = 4'000'000;
// The same within seconds: still sooner than PyTorch has started.
constexpr int64_t kPossibleWork = 400'000'000;
// PyTorch's error stands in for the magnitude here (evaluating it at this size would take longer
// than the kernel), so sums get more room: half precision is a hundred times beyond it.
constexpr double kSampledLimit = 8 * kLimit;

class TimingJudge {
 public:
  TimingJudge(Verification& verification, const TracedShape& traced, Part part, StageResult& stage)
      : verification_(verification),
        traced_(traced),
        plan_(traced.plan()),
        part_(std::move(part)),
        stage_(stage) {}

  // Ways that the blocks take on `values` and that no judged shape took. Nothing: the run failed,
  // and the verdict says so.
  Result<std::optional<std::vector<PathCoverage::Way>>> NewWays(const CaseTensors& values) {
    PathCoverage known;
    for (const auto& each : verification_.shapes) {
      if (each == nullptr) continue;
      const Case sample{.seed = kSeenSeed, .tensors = each->seen};
      KS_RETURN_IF_ERROR(verification_.Judge(*each, sample, {.observer = &known}));
    }
    PathCoverage here;
    here.SetSample(part_.blocks);
    KS_TRY(const WatchedRun run,
           Run(values, verification_.Secret(SeedStream::kTimingPoison, 0), &here));
    if (Failed(run)) return std::optional<std::vector<PathCoverage::Way>>();
    for (const WatchedLaunch& launch : run.launches) {
      const auto& step = std::get<LaunchStep>(plan_.steps[launch.step].action);
      const double share = static_cast<double>(step.grid.Count()) /
                           static_cast<double>(std::max<uint64_t>(launch.statistics.blocks, 1));
      instructions_ += share * static_cast<double>(launch.statistics.lane_instructions);
    }
    return std::optional(here.Beyond(known));
  }

  // After NewWays: if all blocks can run, they do from now on.
  bool TakeWhole() {
    if (!part_.whole() && instructions_ > kWholeInstructions) return false;
    part_ = {};
    return true;
  }

  // All blocks together must write all results.
  Status Written(const CaseTensors& values) {
    // A result may be equal to its poison by chance, but not twice.
    KS_TRY(const WatchedRun run,
           Run(values, verification_.Secret(SeedStream::kTimingPoison, 1), nullptr));
    if (Failed(run) || Missing(run).empty()) return {};
    KS_TRY(const WatchedRun again,
           Run(values, verification_.Secret(SeedStream::kTimingPoison, 2), nullptr));
    for (const auto& [output, element] : Missing(again)) {
      if (!run.unwritten[output][element]) continue;
      stage_.Add(
          VerdictKind::kRefuted,
          {.kind = FindingKind::kUnwritten,
           .message = fmt::format("element [{}] of {} is never written at the timing shape {}",
                                  fmt::join(IndexOf(element, run.outputs[output].shape), ", "),
                                  traced_.task.results[output], Shape())});
      return {};
    }
    return {};
  }

  // What the blocks write, against the oracle at the same shape.
  // `replayable`: they are PyTorch's draw with that seed.
  Status Numbers(const CaseTensors& values, uint64_t seed, const std::string& why,
                 bool replayable) {
    KS_TRY(const WatchedRun run, Run(values, seed, nullptr));
    if (Failed(run)) return {};
    uint64_t judged = 0;
    for (size_t i = 0; i < run.outputs.size() && i < traced_.task.results.size(); ++i) {
      const bool right = Compare(values, traced_.task.results[i], run.outputs[i], run.unwritten[i],
                                 seed, why, replayable, &judged);
      if (!right) return {};
    }
    // Arguments that are changed in place: of a part of the blocks nobody knows which elements.
    KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(traced_.task, values));
    const std::vector<const CallArgument*> tensors = FlattenTensors(arguments);
    for (size_t i = 0; i < tensors.size() && i < run.inputs.size() && part_.whole(); ++i) {
      const std::string name = "mutated." + tensors[i]->name;
      if (std::find(traced_.task.mutated.begin(), traced_.task.mutated.end(), name) ==
              traced_.task.mutated.end() ||
          !values.expected.contains(name)) {
        continue;
      }
      if (!Compare(values, name, run.inputs[i], {}, seed, why, replayable, &judged)) return {};
    }
    stage_.note += fmt::format("; {} elements of {} are right", judged,
                               part_.whole() ? "the results" : "a sample of its blocks");
    return {};
  }

 private:
  // Outputs and elements that still hold their poison.
  static std::vector<std::pair<size_t, size_t>> Missing(const RunOutcome& run) {
    std::vector<std::pair<size_t, size_t>> missing;
    for (size_t i = 0; i < run.unwritten.size(); ++i) {
      for (size_t k = 0; k < run.unwritten[i].size(); ++k) {
        if (run.unwritten[i][k]) missing.emplace_back(i, k);
      }
    }
    return missing;
  }

  Result<WatchedRun> Run(const CaseTensors& values, uint64_t seed, vgpu::Observer* observer) {
    KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(traced_.task, values));
    SampleObserver sample(part_.blocks);
    if (observer == nullptr && !part_.whole()) observer = &sample;
    return verification_.tools.device.RunWatched(
        {.plan = &plan_,
         .ptx = verification_.compiled().ptx,
         .ptx_name = verification_.compiled().ptx_path.string(),
         .inputs = FlattenTensors(arguments),
         .preparation_inputs = {},
         .poison_seed = seed | 1},
        {.observer = observer});
  }

  bool Failed(const WatchedRun& run) {
    if (!run.failure) return false;
    const auto& fault = run.fault;
    stage_.Add(fault && fault->kind == vgpu::FaultKind::kNoProgress ? VerdictKind::kInconclusive
                                                                    : VerdictKind::kRefuted,
               {.kind = run.failure->kind,
                .message = fmt::format("at the timing shape {}: {}", Shape(),
                                       fault ? FaultText(*fault) : run.failure->message),
                .where = !fault                       ? SourceLocation{}
                         : fault->source.file.empty() ? fault->ptx
                                                      : fault->source});
    return true;
  }

  std::string Shape() const { return traced_.request.configuration.name; }

  // False: wrong.
  bool Compare(const CaseTensors& values, const std::string& name, const HostTensor& output,
               const std::vector<bool>& unwritten, uint64_t seed, const std::string& why,
               bool replayable, uint64_t* judged) {
    const HostTensor& torch = values.values.at(name);
    const HostTensor& exact = values.expected.at(name);
    if (output.shape != torch.shape || !IsFloat(torch.dtype)) return true;
    ExpectedOutput expected{.name = name, .dtype = torch.dtype, .shape = torch.shape};
    std::vector<double> got;
    std::vector<int64_t> places;
    for (int64_t k = 0; k < torch.count(); ++k) {
      if (!unwritten.empty() && unwritten[static_cast<size_t>(k)]) continue;
      expected.exact.push_back(exact.at(k));
      expected.torch.push_back(torch.at(k));
      got.push_back(output.at(k));
      places.push_back(k);
    }
    *judged += got.size();
    OutputReference reference = expected.Reference(verification_.AllowedEpsilon());
    reference.row = 0;
    const NumericComparison numbers = CompareNumbers(got, reference);
    if (numbers.worst <= kSampledLimit) return true;
    const double eps = reference.epsilon;
    const double error = std::abs(numbers.got - numbers.expected);
    const double size = std::max(std::abs(numbers.expected), expected.Rms());
    if (error <= LongSumRoundings(traced_.graph) * eps * size) return true;
    const std::vector<int64_t> index =
        IndexOf(static_cast<size_t>(places[numbers.worst_index]), torch.shape);
    Finding finding{
        .kind = FindingKind::kWrongValue,
        .message = fmt::format("{} is off by {:.3g} times what rounding explains at the timing "
                               "shape {}{} (element [{}]: expected {:.9g}, got {:.9g})",
                               name, numbers.worst / kLimit, Shape(), why, fmt::join(index, ", "),
                               numbers.expected, numbers.got)};
    if (replayable) {
      finding.counterexample = Counterexample{.configuration = Shape(),
                                              .values = traced_.request.configuration.values,
                                              .inputs = "task",
                                              .seed = seed,
                                              .output = name,
                                              .index = index,
                                              .expected = numbers.expected,
                                              .got = numbers.got,
                                              .scales = numbers.worst,
                                              .wrong = numbers.wrong,
                                              .elements = numbers.elements};
    }
    stage_.Add(VerdictKind::kRefuted, std::move(finding));
    return false;
  }

  Verification& verification_;
  const TracedShape& traced_;
  const Plan& plan_;
  Part part_;
  StageResult& stage_;
  double instructions_ = 0;  // instructions of lanes, if all blocks ran
};

std::string Describe(const std::vector<PathCoverage::Way>& ways) {
  std::vector<std::string> places;
  for (const PathCoverage::Way& way : ways) {
    if (places.size() == 3) break;
    places.push_back(way.where.line > 0
                         ? fmt::format("{}:{}",
                                       std::filesystem::path(way.where.file).filename().string(),
                                       way.where.line)
                         : KernelName(way.function));
  }
  return fmt::format("{}{}", fmt::join(places, ", "), ways.size() > 3 ? " and others" : "");
}

// The shapes that a candidate is timed at.
std::vector<TaskRequest> TimingRequests(const Verification& verification) {
  std::vector<TaskRequest> requests;
  const auto& all = verification.task.Configurations(verification.options.direction);
  // A task without timing shapes is timed as it is. If that was too large to be judged, a smaller
  // shape was, and larger ones may go ways that it does not.
  const bool without =
      std::none_of(all.begin(), all.end(), [](const auto& each) { return each.group == "timing"; });
  const bool reduced_first =
      verification.shapes[0]->request.configuration.values != all.front().values;
  for (const TaskConfiguration& each : all) {
    if (each.group != "timing" && !(without && reduced_first && requests.empty())) continue;
    requests.push_back({.direction = verification.options.direction,
                        .configuration = each,
                        .dtype = verification.options.dtype});
  }
  return requests;
}

// Judges the largest timing shape that fits; where none does, the first made smaller.
class LargestShape {
 public:
  // `judged` are the kernels that ran at smaller shapes; those that run here are added.
  LargestShape(Verification& verification, std::set<std::string>& judged, StageResult& stage)
      : verification_(verification), judged_(judged), stage_(stage) {}

  // The name of the shape whose results were compared; empty: none was.
  const std::string& judged() const { return compared_; }

  Status Judge(const std::vector<TaskRequest>& requests) {
    if (!Choose(requests)) {
      stage_.skipped = true;
      stage_.note = "no timing shape, or none that fits";
      return {};
    }
    KS_TRY(const bool planned, Trace());
    if (!planned) return {};
    Rng rng(verification_.Secret(SeedStream::kTimingBlocks));
    const Part part = ChoosePart(traced_.plan(), verification_.compiled().ptx, kWholeThreads, rng);
    fresh_ = NewKernels(traced_.plan(), judged_);
    judged_.merge(KernelsOf(traced_.plan()));
    if (!part.possible) return NotRun("it is too large");
    KS_RETURN_IF_ERROR(Draw());
    if (!AllFloats(tiled_) && !drawn_) return NotRun(why_not_drawn_);
    return RunBlocks(part);
  }

 private:
  // False: no shape fits.
  bool Choose(const std::vector<TaskRequest>& requests) {
    uint64_t largest = 0;
    const auto consider = [&](const TaskRequest& request) {
      Result<TaskGraph> graph = Tasks().Export(verification_.task, request);
      if (!graph.ok()) return;
      const uint64_t bytes = ArgumentBytes(*graph);
      if (bytes > kMaxBytes || bytes <= largest) return;
      largest = bytes;
      traced_.request = request;
      traced_.task = *std::move(graph);
    };
    for (const TaskRequest& each : requests) consider(each);
    if (largest == 0 && !requests.empty()) {
      TaskRequest smaller = requests.front();
      Result<TaskConfiguration> reduced = Tasks().Reduce(verification_.task, smaller, kReducedWork);
      if (reduced.ok()) {
        smaller.configuration = *std::move(reduced);
        consider(smaller);
      }
    }
    return largest > 0;
  }

  // False: there is nothing to run, and the outcome says why.
  Result<bool> Trace() {
    tiled_ = Tiled(traced_.task, verification_.shapes[0]->seen);
    KS_TRY(traced_.graph, ReadGraph(traced_.task.file));
    KS_TRY(const CandidateCall call,
           MakeCall(verification_.options.direction, traced_.task, traced_.graph, tiled_));
    KS_TRY(traced_.call, verification_.candidate.Trace(call));
    if (const CandidateProblem* problem = traced_.call->Refuting()) {
      stage_.Add(VerdictKind::kRefuted,
                 {.kind = problem->kind,
                  .message = fmt::format("at the timing shape {}: {}", Name(), problem->message),
                  .where = problem->where});
      return false;
    }
    if (!traced_.call->plan) {
      stage_.skipped = true;
      stage_.note = "no plan at the timing shape";
      return false;
    }
    NotePlan(verification_, traced_.plan(), stage_);
    return !stage_.Ended();
  }

  // Integers of a small draw, over and over, may be none that this shape allows: PyTorch draws,
  // unless that is too much.
  Status Draw() {
    if (AllFloats(tiled_)) return {};
    why_not_drawn_ = "it is too large";
    KS_TRY(const TaskConfiguration possible,
           Tasks().Reduce(verification_.task, traced_.request, kPossibleWork));
    if (possible.values != traced_.request.configuration.values) return {};
    const Result<TaskCase> sample =
        Tasks().Evaluate(verification_.task, traced_.request, DrawSeed());
    if (!sample.ok()) {
      why_not_drawn_ = sample.error().message();
      return {};
    }
    KS_TRY(drawn_, ReadCase(*sample));
    return {};
  }

  Status RunBlocks(const Part& part) {
    TimingJudge judge(verification_, traced_, part, stage_);
    const CaseTensors& values = drawn_ ? *drawn_ : tiled_;
    KS_TRY(const std::optional<std::vector<PathCoverage::Way>> ways, judge.NewWays(values));
    if (!ways) return {};
    stage_.note = fmt::format("{}: {}", Name(),
                              !fresh_.empty() ? "runs kernels of its own"
                              : ways->empty() ? "takes the ways of the smaller shapes"
                                              : "takes ways of its own (" + Describe(*ways) + ")");
    if (judge.TakeWhole()) {
      KS_RETURN_IF_ERROR(judge.Written(values));
      if (stage_.Ended()) return {};
      stage_.note += "; all blocks ran";
    }
    return Numbers(judge, *ways);
  }

  Status Numbers(TimingJudge& judge, const std::vector<PathCoverage::Way>& ways) {
    const std::string why =
        !fresh_.empty() ? fmt::format(", where kernel {} runs that smaller shapes do not use",
                                      fmt::join(fresh_, ", "))
        : !ways.empty() ? ", where it goes ways of its own: " + Describe(ways)
                        : "";
    compared_ = Name();
    if (drawn_) return judge.Numbers(*drawn_, DrawSeed(), why, /*replayable=*/true);
    // Numbers always where they are cheap: a size may also enter by arithmetic alone.
    const bool found = !fresh_.empty() || !ways.empty();
    KS_TRY(const TaskConfiguration reduced,
           Tasks().Reduce(verification_.task, traced_.request, found ? kPossibleWork : kCheapWork));
    const bool here = reduced.values == traced_.request.configuration.values;
    if (!here) compared_.clear();
    if (!found && !here) return {};
    if (here) {
      const std::optional<CaseTensors> expected = EvaluateMixed();
      const uint64_t seed = verification_.Secret(SeedStream::kTimingDraw);
      if (expected) return judge.Numbers(*expected, seed, why, /*replayable=*/false);
    }
    if (fresh_.empty()) {
      if (!ways.empty()) {
        stage_.Warn({.kind = FindingKind::kNotJudged,
                     .message = fmt::format("code at {} runs at the timing shape {} and at no "
                                            "shape that was judged",
                                            Describe(ways), Name()),
                     .where = ways.front().where});
      }
      return {};
    }
    const Result<TaskCase> sample =
        Tasks().Evaluate(verification_.task, traced_.request, DrawSeed());
    if (!sample.ok()) return NotRun(sample.error().message());
    KS_TRY(const CaseTensors torch, ReadCase(*sample));
    return judge.Numbers(torch, DrawSeed(), why, /*replayable=*/true);
  }

  // The values of the small draw in other places, with what must come out. Nothing: src/graph can't
  // do this task.
  std::optional<CaseTensors> EvaluateMixed() const {
    const TracedShape& quick = *verification_.shapes[0];
    if (!quick.seen_is_right || quick.task.tensors.size() != traced_.graph.placeholders.size()) {
      return std::nullopt;
    }
    Rng order(verification_.Secret(SeedStream::kTimingDraw));
    CaseTensors mixed = tiled_;
    for (auto& [name, tensor] : mixed.values) {
      if (IsFloat(tensor.dtype)) Shuffle(tensor, order.Next());
    }
    Result<CaseTensors> expected = EvaluateHere(traced_.graph, std::move(mixed.values));
    if (!expected.ok()) return std::nullopt;
    return *std::move(expected);
  }

  // Kernels that run nowhere else keep the candidate from being verified.
  Status NotRun(const std::string& reason) {
    if (fresh_.empty()) {
      stage_.note = fmt::format("{}: the kernels of the smaller shapes; not run", Name());
      return {};
    }
    stage_.Add(VerdictKind::kInconclusive,
               {.kind = FindingKind::kNotJudged,
                .message = fmt::format("kernel {} runs at the timing shape {} only, which could "
                                       "not be judged: {}",
                                       fmt::join(fresh_, ", "), Name(), reason)});
    return {};
  }

  TaskStore& Tasks() const { return verification_.tools.tasks; }
  const std::string& Name() const { return traced_.request.configuration.name; }
  uint64_t DrawSeed() const { return verification_.DrawSecret(SeedStream::kTimingDraw); }

  Verification& verification_;
  std::set<std::string>& judged_;
  StageResult& stage_;
  TracedShape traced_;
  CaseTensors tiled_;                 // a small draw over and over
  std::optional<CaseTensors> drawn_;  // by PyTorch at this shape
  std::string why_not_drawn_;
  std::vector<std::string> fresh_;  // kernels that no smaller shape runs, as people write them
  std::string compared_;
};

}  // namespace

Result<StageResult> TimingStage(Verification& verification) {
  if (verification.options.policy.shapes == VerifyPolicy::Shapes::kExact) {
    return StageResult::Skipped("the exact shape was judged");
  }
  StageResult stage;
  const std::vector<TaskRequest> requests = TimingRequests(verification);
  std::set<std::string> judged;
  for (const auto& each : verification.shapes) {
    if (each != nullptr) judged.merge(KernelsOf(each->plan()));
  }
  LargestShape largest(verification, judged, stage);
  KS_RETURN_IF_ERROR(largest.Judge(requests));
  std::vector<std::string> not_judged;
  for (const TaskRequest& request : requests) {
    if (stage.Ended()) return stage;
    if (largest.judged() == request.configuration.name) continue;
    const Result<TaskGraph> graph = verification.tools.tasks.Export(verification.task, request);
    if (!graph.ok()) {
      not_judged.push_back(request.configuration.name + " (PyTorch can't export it)");
      continue;
    }
    KS_TRY(const SampledShape sampled,
           JudgeSampledShape(verification, request, *graph, judged, stage));
    if (sampled.judged) {
      stage.note +=
          fmt::format("; {}: {} elements are right{}", request.configuration.name, sampled.elements,
                      sampled.all_written ? ", all blocks together write all" : "");
    }
    if (stage.Ended() || sampled.judged) continue;
    if (!sampled.fresh_kernels.empty()) {
      stage.Add(VerdictKind::kInconclusive,
                {.kind = FindingKind::kNotJudged,
                 .message = fmt::format("kernel {} runs at the timing shape {} only, which could "
                                        "not be judged: {}",
                                        fmt::join(sampled.fresh_kernels, ", "),
                                        request.configuration.name, sampled.why_not)});
      return stage;
    }
    not_judged.push_back(fmt::format("{} ({})", request.configuration.name, sampled.why_not));
  }
  if (!not_judged.empty()) {
    stage.Note({.kind = FindingKind::kShapesNotJudged,
                .message = fmt::format("nothing was run at the timing shapes {}",
                                       fmt::join(not_judged, ", "))});
  }
  return stage;
}

}  // namespace kernelsmith
