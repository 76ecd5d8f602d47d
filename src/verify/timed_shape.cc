#include "verify/timed_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "checkers/suite.h"
#include "device/plan_checks.h"
#include "support/rng.h"
#include "tensor/tensor.h"
#include "verify/stages.h"
#include "verify/tiled.h"
#include "verify/timing_oracle.h"
#include "verify/timing_part.h"
#include "verify/work.h"
#include "vgpu/slice.h"

namespace kernelsmith {
namespace {

// Data of more is passed to the traced child only if the host code looks at it, and never data of
// more than the second: then it is traced at smaller shapes.
constexpr uint64_t kCheaplyTracedBytes = uint64_t{8} << 20;
constexpr uint64_t kTracedBytes = uint64_t{192} << 20;
// Several copies of all tensors are in memory at a time.
constexpr uint64_t kMostBytes = uint64_t{768} << 20;
// Operations of a task whose kernels run as a whole within seconds, compiled.
constexpr uint64_t kWholeWork = 2'000'000'000;
// Elements of each result that are compared: so many whatever they cost the oracle, and more as
// long as that takes less than a second.
constexpr size_t kFewElements = 16;
constexpr size_t kMostElements = size_t{1} << 18;
constexpr uint64_t kOracleSteps = 100'000'000;
constexpr uint64_t kCheapSteps = 10'000'000;
// A slice that has more of a kernel's instructions may take as long as the kernel.
constexpr double kMostOfAKernel = 0.6;
// PyTorch's error stands in for the magnitude here (evaluating it at this size would take longer
// than the kernel), so sums get more room: half precision is a hundred times beyond it.
constexpr double kSampledLimit = 8 * kLimit;

// Of so many integers one may be another because of rounding.
constexpr size_t kMostTurned = 32;

class ShapeJudge {
 public:
  ShapeJudge(Verification& verification, const TaskRequest& request, const TaskGraph& task,
             StageResult& stage)
      : verification_(verification),
        request_(request),
        task_(task),
        stage_(stage),
        rng_(Rng(verification.Secret(SeedStream::kTimingBlocks))
                 .Fork(std::hash<std::string>()(request.configuration.name))),
        names_(task.AllResults()) {}

  Result<TimedShape> Run(std::set<std::string>& known) {
    KS_TRY(Graph graph, ReadGraph(task_.file));
    graph_ = std::make_shared<const Graph>(std::move(graph));
    KS_TRY(const bool traced, Trace());
    if (!traced) return std::move(result_);
    result_.call = call_;
    result_.fresh_kernels = NewKernels(plan(), known);
    if (ArgumentBytes(task_) > kMostBytes) return NotJudged("its tensors do not fit in memory");
    part_ =
        ChoosePart(plan(), verification_.compiled().ptx, GraphWork(*graph_) <= kWholeWork, rng_);
    if (!part_.possible) return NotJudged("all of its work would have to run");
    KS_TRY(oracle_,
           MakeTimingOracle(verification_, request_, task_, graph_, rng_.Next(), &result_.why_not));
    if (oracle_ == nullptr) return std::move(result_);
    KS_TRY(arguments_, MakeCallArguments(task_, oracle_->arguments()));
    KS_RETURN_IF_ERROR(Judge());
    if (result_.judged) known.merge(KernelsOf(plan()));
    return std::move(result_);
  }

 private:
  const Plan& plan() const { return *call_->plan; }
  const std::string& Name() const { return request_.configuration.name; }
  TimedShape NotJudged(std::string why) {
    result_.why_not = std::move(why);
    return std::move(result_);
  }
  void Refute(FindingKind kind, std::string message, SourceLocation where = {}) {
    stage_.Add(VerdictKind::kRefuted,
               {.kind = kind, .message = std::move(message), .where = std::move(where)});
  }

  // Of tensors without values, or of those of a draw.
  Status TraceWith(bool blank) {
    KS_TRY(const CandidateCall call, blank ? MakeBlankCall(request_.direction, task_, *graph_)
                                           : MakeCall(request_.direction, task_, *graph_,
                                                      Tiled(task_, verification_.shapes[0]->seen)));
    KS_TRY(call_, verification_.candidate.Trace(call));
    return {};
  }

  bool LooksAtData() const {
    return !call_->plan ||
           std::any_of(plan().steps.begin(), plan().steps.end(), [](const PlanStep& step) {
             return std::holds_alternative<HostReadStep>(step.action);
           });
  }

  // False: there is no plan, and the stage says why.
  Result<bool> Trace() {
    const uint64_t bytes = ArgumentBytes(task_);
    bool blank = bytes > kCheaplyTracedBytes;
    KS_RETURN_IF_ERROR(TraceWith(blank));
    if (blank && bytes <= kTracedBytes && LooksAtData()) {
      blank = false;
      KS_RETURN_IF_ERROR(TraceWith(blank));
    }
    // A launch that failed matters here even if the host code has cleared the error: few elements
    // are looked at.
    if (call_->cleared_launch) {
      Refute(FindingKind::kLaunchError, AtShape(call_->cleared_launch->message),
             call_->cleared_launch->where);
      return false;
    }
    // Host code that looks at values may have no plan for zeros.
    if (blank && !call_->plan && call_->Refuting() == nullptr) {
      result_.why_not = "the host code has no plan there for tensors without values";
      return false;
    }
    for (CandidateProblem problem : call_->problems) {
      problem.message = AtShape(problem.message);
      stage_.Add(problem);
    }
    if (stage_.Ended()) return false;
    if (plan().steps.empty() && !verification_.shapes[0]->plan().steps.empty()) {
      Refute(FindingKind::kUnwritten,
             fmt::format("at the timing shape {} nothing runs at all", Name()));
      return false;
    }
    NotePlan(verification_, plan(), stage_);
    CheckOutputs(plan(), stage_);
    return !stage_.Ended();
  }

  std::string AtShape(const std::string& message) const {
    return fmt::format("at the timing shape {}: {}", Name(), message);
  }

  // Knows where the results lie.
  class Places final : public StepObserver {
   public:
    void OnBuffers(const std::vector<uint64_t>& addresses, const vgpu::DeviceMemory&) override {
      addresses_ = addresses;
    }
    uint64_t At(const BufferRef& place) const { return addresses_[place.buffer] + place.offset; }

   private:
    std::vector<uint64_t> addresses_;
  };

  // The chosen part runs, and its ways are recorded.
  Result<WatchedRun> RunPart(uint64_t poison) {
    Watch watch = result_.coverage.Recording();
    SampleObserver sample(part_.blocks);
    Places places;
    if (!part_.whole()) {
      watch.observer = &sample;
      watch.steps = &places;
      watch.launch = [&](vgpu::VirtualGpu& gpu, const vgpu::LaunchRequest& request) {
        RunSlice(gpu, request, places);
        return result_.coverage.Launch(gpu, request);
      };
    }
    return verification_.tools.device.RunWatched(
        {.plan = &plan(),
         .ptx = verification_.compiled().ptx,
         .ptx_name = verification_.compiled().ptx_path.string(),
         .inputs = FlattenTensors(arguments_),
         .preparation_inputs = {},
         .poison_seed = poison | 1},
        watch);
  }

  // All blocks run as far as it takes to know what they write.
  void RunSlice(vgpu::VirtualGpu& gpu, const vgpu::LaunchRequest& request, const Places& places) {
    slice_ = {.most_share = kMostOfAKernel};
    for (const PlanTensor& output : plan().outputs) {
      slice_.outputs.push_back({.address = places.At(output.at),
                                .bytes = ExtentBytes(output).value_or(0),
                                .element_bytes = static_cast<uint32_t>(SizeOf(output.dtype))});
    }
    vgpu::LaunchRequest all = request;
    all.observer = nullptr;
    all.slice = &slice_;
    // What goes wrong in it goes wrong in the run as well, or is ours.
    const Result<vgpu::LaunchResult> sliced = gpu.Launch(all);
    if (!sliced.ok() || sliced->fault) slice_.possible = false;
  }

  // What runs on several streams must be ordered among itself and with the caller, at this shape
  // too: a few blocks of each launch show who touches what. `false`: it was not looked at.
  Result<bool> CheckOrder() {
    for (const PlanStep& step : plan().steps) {
      const auto* launch = std::get_if<LaunchStep>(&step.action);
      if (launch != nullptr && !BlocksAreIndependent(verification_.compiled().ptx, *launch)) {
        return false;
      }
    }
    vgpu::VirtualGpu& gpu = verification_.tools.device.gpu();
    checkers::FindingSink sink;
    checkers::CheckerList list(sink);
    list.Add(checkers::MakeRaceChecker(sink, gpu));
    list.OnlyBlocks([&](uint64_t count) { return SampleBlocks(count, rng_); });
    PlanChecks steps(plan(), list, gpu,
                     {.place = {}, .may_write = std::vector<bool>(plan().buffers.size(), true)});
    const Result<WatchedRun> ran = verification_.tools.device.RunWatched(
        {.plan = &plan(),
         .ptx = verification_.compiled().ptx,
         .ptx_name = verification_.compiled().ptx_path.string(),
         .inputs = FlattenTensors(arguments_),
         .preparation_inputs = {},
         .poison_seed = verification_.Secret(SeedStream::kTimingPoison, 2) | 1},
        {.observer = &list, .steps = &steps});
    list.Finish();
    for (const checkers::Finding& found : sink.Findings()) {
      if (!found.between_operations) continue;
      const checkers::Place& place = found.place;
      Refute(FindingKind::kRace, AtShape(found.message),
             place.source.file.empty() ? place.ptx : place.source);
    }
    return ran.ok() && !ran->failure;
  }

  Status Judge() {
    if (StepsMayOverlap(plan())) {
      KS_TRY(const bool looked, CheckOrder());
      if (stage_.Ended()) return {};
      if (!looked) {
        stage_.Warn({.kind = FindingKind::kNotJudged,
                     .message = AtShape("whether streams and events order all that runs was not "
                                        "looked at")});
      }
    }
    Result<WatchedRun> ran = RunPart(verification_.Secret(SeedStream::kTimingPoison, 0));
    if (!ran.ok()) {
      result_.why_not = ran.error().message();
      return {};
    }
    if (ran->failure) {
      Failed(*ran);
      return {};
    }
    KS_RETURN_IF_ERROR(CheckWritten(*ran));
    for (size_t i = 0; i < ran->outputs.size() && i < task_.results.size(); ++i) {
      if (stage_.Ended()) return {};
      std::vector<bool> written = std::move(ran->unwritten[i]);
      written.flip();
      Compare(i, ran->outputs[i], written);
    }
    CompareMutated(*ran);
    result_.judged = result_.elements > 0;
    if (!result_.judged && result_.why_not.empty()) {
      result_.why_not = "what its blocks write could not be computed";
    }
    return {};
  }

  // Arguments that are changed in place. Of a part of the blocks only what has changed is known to
  // be written.
  void CompareMutated(const WatchedRun& ran) {
    const std::vector<const CallArgument*> tensors = FlattenTensors(arguments_);
    for (size_t m = 0; m < task_.mutated.size(); ++m) {
      for (size_t i = 0; i < tensors.size() && i < ran.inputs.size() && !stage_.Ended(); ++i) {
        if ("mutated." + tensors[i]->name != task_.mutated[m]) continue;
        const HostTensor& before = tensors[i]->tensor;
        const bool changed = ran.input_changed[i];
        if (!changed && !part_.whole()) continue;
        const HostTensor& after = InputAfter(ran, *tensors[i], i);
        const auto bytes = static_cast<size_t>(SizeOf(after.dtype));
        std::vector<bool> written(static_cast<size_t>(after.count()), part_.whole());
        for (size_t k = 0; k < written.size() && !part_.whole(); ++k) {
          const size_t at = k * bytes;
          written[k] = std::memcmp(before.bytes.data() + at, after.bytes.data() + at, bytes) != 0;
        }
        Compare(task_.results.size() + m, after, written);
      }
    }
  }

  // All blocks together must write all results.
  Status CheckWritten(const WatchedRun& ran) {
    const bool all = std::none_of(
        ran.unwritten.begin(), ran.unwritten.end(), [](const std::vector<bool>& flags) {
          return std::find(flags.begin(), flags.end(), true) != flags.end();
        });
    if (part_.whole() && !all) {
      // A result may be equal to its poison by chance, but not twice.
      KS_TRY(const WatchedRun again, RunPart(verification_.Secret(SeedStream::kTimingPoison, 1)));
      if (again.failure) return {};
      for (size_t i = 0; i < ran.unwritten.size(); ++i) {
        for (size_t k = 0; k < ran.unwritten[i].size(); ++k) {
          if (!ran.unwritten[i][k] || !again.unwritten[i][k]) continue;
          NeverWritten(i, k, ran.outputs[i].shape);
          return {};
        }
      }
    }
    if (!part_.whole() && !slice_.possible) return {};
    for (size_t i = 0; i < ran.outputs.size() && !part_.whole(); ++i) {
      if (!SliceWrites(i, ran.unwritten[i], ran.outputs[i].shape)) return {};
    }
    result_.all_written = true;
    return {};
  }

  // Elements that no block writes, and no other step either: they still hold their poison.
  bool SliceWrites(size_t output, const std::vector<bool>& unwritten, const Shape& shape) {
    const PlanTensor& tensor = plan().outputs[output];
    if (tensor.strides != RowMajorStrides(tensor.shape)) return false;
    const std::vector<uint8_t>& writes = slice_.outputs[output].writes;
    for (size_t k = 0; k < unwritten.size() && k < writes.size(); ++k) {
      if (!unwritten[k] || writes[k] != 0) continue;
      NeverWritten(output, k, shape);
      return false;
    }
    return true;
  }

  void NeverWritten(size_t output, size_t element, const Shape& shape) {
    Refute(FindingKind::kUnwritten,
           fmt::format("element [{}] of {} is never written at the timing shape {}",
                       fmt::join(IndexOf(element, shape), ", "), names_[output], Name()));
  }

  void Failed(const WatchedRun& run) {
    const auto& fault = run.fault;
    stage_.Add(fault && fault->kind == vgpu::FaultKind::kNoProgress ? VerdictKind::kInconclusive
                                                                    : VerdictKind::kRefuted,
               {.kind = run.failure->kind,
                .message = AtShape(fault ? FaultText(*fault) : run.failure->message),
                .where = !fault                       ? SourceLocation{}
                         : fault->source.file.empty() ? fault->ptx
                                                      : fault->source});
  }

  // Elements that were written, in no order, as the oracle may not get to all of them; the first
  // and the last one come first.
  std::vector<int64_t> ChooseElements(const std::vector<bool>& written) {
    std::vector<int64_t> chosen;
    const auto all = std::count(written.begin(), written.end(), true);
    const double share = static_cast<double>(kMostElements) / static_cast<double>(all);
    int64_t last = -1;
    for (size_t k = 0; k < written.size(); ++k) {
      if (!written[k]) continue;
      last = static_cast<int64_t>(k);
      if (share >= 1 || chosen.empty() || rng_.Uniform() < share) chosen.push_back(last);
    }
    if (!chosen.empty() && chosen.back() != last) chosen.push_back(last);
    if (chosen.size() < 3) return chosen;
    std::swap(chosen[1], chosen.back());
    for (size_t i = chosen.size() - 1; i > 2; --i) {
      std::swap(chosen[i], chosen[2 + rng_.Below(i - 1)]);
    }
    return chosen;
  }

  void Compare(size_t result, const HostTensor& got, const std::vector<bool>& written) {
    if (IsFloat(got.dtype)) {
      CompareFloats(result, got, written);
    } else if (oracle_->Whole() != nullptr && part_.whole()) {
      CompareIntegers(result, got);
    } else if (HasOneAnswer(*graph_, names_[result])) {
      CompareSomeIntegers(result, got, written);
    }
  }

  // Single elements. Where rounding decides (which of two nearly equal values is larger, to which
  // integer a half goes) some are nobody's fault.
  void CompareSomeIntegers(size_t result, const HostTensor& got, const std::vector<bool>& written) {
    NumericComparison numbers;
    int64_t first_wrong = 0;
    uint64_t budget = kOracleSteps;
    for (const int64_t k : ChooseElements(written)) {
      if (numbers.elements >= kFewElements && budget < kOracleSteps - kCheapSteps) break;
      const std::optional<TimingOracle::Point> point = oracle_->At(result, k, &budget);
      if (!point) break;
      if (point->exact != point->rounded) continue;
      ++numbers.elements;
      if (got.at(k) == point->exact) continue;
      if (numbers.wrong++ > 0) continue;
      first_wrong = k;
      numbers.expected = point->exact;
      numbers.got = got.at(k);
      numbers.worst = std::numeric_limits<double>::infinity();
    }
    result_.elements += numbers.elements;
    if (numbers.wrong > numbers.elements / kMostTurned) {
      Wrong(result, got, numbers, static_cast<size_t>(first_wrong));
    }
  }

  // Positions of maxima and the like: several may be right.
  void CompareIntegers(size_t result, const HostTensor& got) {
    const CaseTensors& whole = *oracle_->Whole();
    const auto expected = ExpectedOutputs(*graph_, whole, {names_[result]});
    if (!expected.ok() || got.shape != expected->front().shape) return;
    const OutputJudgement judgement =
        JudgeOutput(*graph_, expected->front(), got, whole.values, JudgementOptions{});
    result_.elements += judgement.numbers.elements;
    if (judgement.right || judgement.several_answers) return;
    Wrong(result, got, judgement.numbers, judgement.numbers.worst_index);
  }

  void CompareFloats(size_t result, const HostTensor& got, const std::vector<bool>& written) {
    ExpectedOutput expected{.name = names_[result], .dtype = got.dtype, .shape = got.shape};
    std::vector<double> values;
    std::vector<int64_t> places;
    uint64_t budget = kOracleSteps;
    for (const int64_t k : ChooseElements(written)) {
      if (places.size() >= kFewElements && budget < kOracleSteps - kCheapSteps) break;
      const std::optional<TimingOracle::Point> point = oracle_->At(result, k, &budget);
      if (!point) break;
      // A decision that rounding turns, such as rounding to an integer, is nobody's fault.
      if (std::abs(point->rounded - point->exact) > 1e-2 * (1e-6 + std::abs(point->exact))) {
        continue;
      }
      expected.exact.push_back(point->exact);
      expected.torch.push_back(point->rounded);
      values.push_back(got.at(k));
      places.push_back(k);
    }
    if (values.empty()) return;
    result_.elements += values.size();
    OutputReference reference = expected.Reference(verification_.AllowedEpsilon());
    reference.row = 0;
    const NumericComparison numbers = CompareNumbers(values, reference);
    if (numbers.worst <= kSampledLimit) return;
    const double error = std::abs(numbers.got - numbers.expected);
    const double size = std::max(std::abs(numbers.expected), expected.Rms());
    if (error <= LongSumRoundings(*graph_) * reference.epsilon * size) return;
    Wrong(result, got, numbers, static_cast<size_t>(places[numbers.worst_index]));
  }

  void Wrong(size_t result, const HostTensor& got, const NumericComparison& numbers,
             size_t element) {
    Refute(FindingKind::kWrongValue,
           fmt::format("{} is off by {:.3g} times what rounding explains at the timing shape {} "
                       "(element [{}]: expected {:.9g}, got {:.9g}; {} of {} elements that were "
                       "looked at are wrong)",
                       names_[result], numbers.worst / kLimit, Name(),
                       fmt::join(IndexOf(element, got.shape), ", "), numbers.expected, numbers.got,
                       numbers.wrong, numbers.elements));
  }

  Verification& verification_;
  const TaskRequest& request_;
  const TaskGraph& task_;
  StageResult& stage_;
  Rng rng_;
  const std::vector<std::string> names_;
  TimedShape result_;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const TracedCall> call_;
  Part part_;
  std::unique_ptr<TimingOracle> oracle_;
  std::vector<CallArgument> arguments_;
  vgpu::SliceRecord slice_;
};

}  // namespace

uint64_t ArgumentBytes(const TaskGraph& task) {
  uint64_t bytes = 0;
  for (const TensorSpec& tensor : task.tensors) {
    const auto dtype = ParseDType(tensor.dtype);
    bytes += static_cast<uint64_t>(ElementCount(tensor.shape).value_or(0) *
                                   (dtype ? SizeOf(*dtype) : 4));
  }
  return bytes;
}

Result<TimedShape> JudgeTimedShape(Verification& verification, const TaskRequest& request,
                                   const TaskGraph& task, std::set<std::string>& known,
                                   StageResult& stage) {
  return ShapeJudge(verification, request, task, stage).Run(known);
}

}  // namespace kernelsmith
