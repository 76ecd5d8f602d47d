#include "verify/sampled_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codegen/point_evaluator.h"
#include "support/rng.h"
#include "tensor/tensor.h"
#include "verify/stages.h"
#include "verify/tiled.h"
#include "verify/timing_part.h"
#include "verify/work.h"
#include "vgpu/slice.h"

namespace kernelsmith {
namespace {

// Data of more is not passed to the traced child: host code that looks at values is traced at
// smaller shapes.
constexpr uint64_t kTracedBytes = uint64_t{192} << 20;
// Several copies of all tensors are in memory at a time.
constexpr uint64_t kMostBytes = uint64_t{768} << 20;
// Operations of a task whose kernels run as a whole within seconds, compiled.
constexpr uint64_t kWholeWork = 2'000'000'000;
// Elements of each result that are compared, and operations of the oracle for all of them.
constexpr size_t kElements = 64;
constexpr uint64_t kOracleSteps = 100'000'000;
// A slice that has more of a kernel's instructions may take as long as the kernel.
constexpr double kMostOfAKernel = 0.6;
// As at other large shapes: PyTorch's error stands in for the magnitude.
constexpr double kSampledLimit = 8 * kLimit;

class ShapeJudge {
 public:
  ShapeJudge(Verification& verification, const TaskRequest& request, const TaskGraph& task,
             StageResult& stage)
      : verification_(verification),
        request_(request),
        task_(task),
        stage_(stage),
        rng_(Rng(verification.Secret(SeedStream::kTimingBlocks))
                 .Fork(std::hash<std::string>()(request.configuration.name))) {}

  Result<SampledShape> Run(std::set<std::string>& known) {
    KS_TRY(Graph graph, ReadGraph(task_.file));
    graph_ = std::make_shared<const Graph>(std::move(graph));
    work_ = GraphWork(*graph_);
    KS_TRY(const bool traced, Trace());
    if (!traced) return std::move(result_);
    result_.fresh_kernels = NewKernels(plan(), known);
    if (ArgumentBytes(task_) > kMostBytes) return NotJudged("its tensors do not fit in memory");
    const bool all_can_run = work_ <= kWholeWork;
    Part part =
        ChoosePart(plan(), verification_.compiled().ptx, all_can_run ? UINT64_MAX : 0, rng_);
    if (!part.possible || (part.whole() && !all_can_run)) {
      return NotJudged("all of its blocks would have to run");
    }
    // What is never written shows only if all blocks have run.
    if (all_can_run) part.blocks.clear();
    if (!MakeOracle()) return std::move(result_);
    if (!FillArguments()) return std::move(result_);
    KS_RETURN_IF_ERROR(Judge(part));
    if (result_.judged) known.merge(KernelsOf(plan()));
    return std::move(result_);
  }

 private:
  const Plan& plan() const { return *call_->plan; }
  const std::string& Name() const { return request_.configuration.name; }
  SampledShape NotJudged(std::string why) {
    result_.why_not = std::move(why);
    return std::move(result_);
  }

  // False: there is no plan; the stage or the result say why.
  Result<bool> Trace() {
    const bool blank = ArgumentBytes(task_) > kTracedBytes;
    KS_TRY(const CandidateCall call, blank ? MakeBlankCall(request_.direction, task_, *graph_)
                                           : MakeCall(request_.direction, task_, *graph_,
                                                      Tiled(task_, verification_.shapes[0]->seen)));
    KS_TRY(call_, verification_.candidate.Trace(call));
    // A launch that failed matters here even if the host code has cleared the error: few elements
    // are looked at.
    const CandidateProblem* problem =
        call_->cleared_launch ? &*call_->cleared_launch : call_->Refuting();
    if (problem != nullptr) {
      stage_.Add(VerdictKind::kRefuted,
                 {.kind = call_->cleared_launch ? FindingKind::kLaunchError : problem->kind,
                  .message = fmt::format("at the timing shape {}: {}", Name(), problem->message),
                  .where = problem->where});
      return false;
    }
    if (!call_->plan) {
      result_.why_not = "the host code has no plan there";
      return false;
    }
    if (plan().steps.empty() && !verification_.shapes[0]->plan().steps.empty()) {
      stage_.Add(VerdictKind::kRefuted,
                 {.kind = FindingKind::kUnwritten,
                  .message = fmt::format("at the timing shape {} nothing runs at all", Name())});
      return false;
    }
    return true;
  }

  // The oracle is trusted only if it gives what PyTorch gave at the quick shape.
  bool MakeOracle() {
    names_ = task_.results;
    names_.insert(names_.end(), task_.mutated.begin(), task_.mutated.end());
    const TracedShape& quick = *verification_.shapes[0];
    auto small = codegen::PointEvaluator::Make(std::make_shared<const Graph>(quick.graph), names_);
    auto large = codegen::PointEvaluator::Make(graph_, names_);
    if (!small.ok() || !large.ok()) {
      result_.why_not = (small.ok() ? large.error() : small.error()).message();
      return false;
    }
    for (const auto& [name, values] : quick.seen.values) (*small)->SetArgument(name, values);
    uint64_t budget = kOracleSteps;
    for (size_t i = 0; i < names_.size(); ++i) {
      const auto exact = quick.seen.expected.find(names_[i]);
      if (exact == quick.seen.expected.end() || exact->second.count() == 0) continue;
      for (int probe = 0; probe < 8; ++probe) {
        const auto flat =
            static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(exact->second.count())));
        const auto point = (*small)->At(i, flat, &budget);
        const double expected = exact->second.at(flat);
        if (!point || !(std::abs(point->exact - expected) <= 1e-9 * (1 + std::abs(expected)))) {
          result_.why_not = "single elements of the task can't be computed";
          return false;
        }
      }
    }
    oracle_ = *std::move(large);
    return true;
  }

  // Values of the small draw in an order that nobody knows; no two rows are alike.
  bool FillArguments() {
    values_ = Tiled(task_, verification_.shapes[0]->seen);
    for (const TensorSpec& spec : task_.tensors) {
      const auto found = values_.values.find(spec.name);
      if (found == values_.values.end()) {
        result_.why_not = fmt::format("there is no data for {}", spec.name);
        return false;
      }
      HostTensor& tensor = found->second;
      const auto small = verification_.shapes[0]->seen.values.find(spec.name);
      if (!IsFloat(tensor.dtype)) {
        // Integers of the small draw are positions that a larger shape has, too.
        if (!AtLeast(tensor.shape, small)) {
          result_.why_not = fmt::format("{} would have to be drawn by PyTorch", spec.name);
          return false;
        }
        continue;
      }
      Shuffle(tensor, rng_.Next());
    }
    for (const auto& [name, tensor] : values_.values) oracle_->SetArgument(name, tensor);
    return true;
  }

  template <typename Found>
  bool AtLeast(const Shape& shape, const Found& small) const {
    if (small == verification_.shapes[0]->seen.values.end()) return false;
    const Shape& other = small->second.shape;
    return shape.size() == other.size() &&
           std::equal(shape.begin(), shape.end(), other.begin(), std::greater_equal<>());
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

  // All blocks run as far as it takes to know what they write, the chosen ones as a whole.
  Result<WatchedRun> RunPart(const std::vector<CallArgument>& arguments, const Part& part,
                             uint64_t poison) {
    SampleObserver sample(part.blocks);
    Places places;
    return verification_.tools.device.RunWatched(
        {.plan = &plan(),
         .ptx = verification_.compiled().ptx,
         .ptx_name = verification_.compiled().ptx_path.string(),
         .inputs = FlattenTensors(arguments),
         .preparation_inputs = {},
         .poison_seed = poison | 1},
        {.observer = &sample,
         .steps = &places,
         .launch = [&](vgpu::VirtualGpu& gpu, const vgpu::LaunchRequest& request) {
           slice_ = {.most_share = kMostOfAKernel};
           for (const PlanTensor& output : plan().outputs) {
             slice_.outputs.push_back(
                 {.address = places.At(output.at),
                  .bytes = ExtentBytes(output).value_or(0),
                  .element_bytes = static_cast<uint32_t>(SizeOf(output.dtype))});
           }
           vgpu::LaunchRequest all = request;
           all.observer = nullptr;
           all.slice = &slice_;
           // What goes wrong in it goes wrong in the run as well, or is ours.
           if (const Result<vgpu::LaunchResult> sliced = gpu.Launch(all);
               !sliced.ok() || sliced->fault) {
             slice_.possible = false;
           }
           return gpu.Launch(request);
         }});
  }

  Result<WatchedRun> RunPlan(const std::vector<CallArgument>& arguments, const Part& part,
                             uint64_t poison) {
    if (!part.whole()) return RunPart(arguments, part, poison);
    return verification_.tools.device.RunWatched(
        {.plan = &plan(),
         .ptx = verification_.compiled().ptx,
         .ptx_name = verification_.compiled().ptx_path.string(),
         .inputs = FlattenTensors(arguments),
         .preparation_inputs = {},
         .poison_seed = poison | 1},
        {});
  }

  // Elements that no block writes, and no other step either: they still hold their poison.
  void CheckSlice(size_t output, const HostTensor& got, const std::vector<bool>& unwritten) {
    const PlanTensor& tensor = plan().outputs[output];
    if (!slice_.possible || tensor.strides != RowMajorStrides(tensor.shape)) return;
    const std::vector<uint8_t>& writes = slice_.outputs[output].writes;
    for (size_t k = 0; k < unwritten.size() && k < writes.size(); ++k) {
      if (!unwritten[k] || writes[k] != 0) continue;
      NeverWritten(output, k, got.shape);
      return;
    }
    result_.all_written = true;
  }

  void NeverWritten(size_t output, size_t element, const Shape& shape) {
    stage_.Add(
        VerdictKind::kRefuted,
        {.kind = FindingKind::kUnwritten,
         .message = fmt::format("element [{}] of {} is never written at the timing shape {}",
                                fmt::join(IndexOf(element, shape), ", "), names_[output], Name())});
  }

  Status Judge(const Part& part) {
    KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(task_, values_));
    const Result<WatchedRun> ran =
        RunPlan(arguments, part, verification_.Secret(SeedStream::kTimingPoison, 3));
    if (!ran.ok()) {
      result_.why_not = ran.error().message();
      return {};
    }
    if (ran->failure) {
      Failed(*ran);
      return {};
    }
    uint64_t budget = kOracleSteps;
    for (size_t i = 0; i < ran->outputs.size() && i < task_.results.size(); ++i) {
      const std::vector<bool>& unwritten = ran->unwritten[i];
      if (part.whole() && std::find(unwritten.begin(), unwritten.end(), true) != unwritten.end()) {
        KS_RETURN_IF_ERROR(CheckWritten(arguments, part, i, unwritten));
        if (stage_.Ended()) return {};
      }
      if (!part.whole()) CheckSlice(i, ran->outputs[i], unwritten);
      if (stage_.Ended()) return {};
      Compare(
          i, ran->outputs[i], [&](int64_t k) { return !unwritten[static_cast<size_t>(k)]; },
          &budget);
      if (stage_.Ended()) return {};
    }
    const std::vector<const CallArgument*> tensors = FlattenTensors(arguments);
    for (size_t m = 0; m < task_.mutated.size(); ++m) {
      for (size_t i = 0; i < tensors.size() && i < ran->inputs.size(); ++i) {
        if ("mutated." + tensors[i]->name != task_.mutated[m]) continue;
        const HostTensor& before = tensors[i]->tensor;
        const HostTensor& after = ran->inputs[i];
        const auto bytes = static_cast<size_t>(SizeOf(after.dtype));
        // Of a part of the blocks only what has changed is known to be written.
        Compare(
            task_.results.size() + m, after,
            [&](int64_t k) {
              const size_t at = static_cast<size_t>(k) * bytes;
              return part.whole() ||
                     std::memcmp(before.bytes.data() + at, after.bytes.data() + at, bytes) != 0;
            },
            &budget);
        if (stage_.Ended()) return {};
      }
    }
    result_.judged = result_.elements > 0;
    if (!result_.judged && result_.why_not.empty()) {
      result_.why_not = "what its blocks write could not be computed";
    }
    return {};
  }

  // An element may hold its poison by chance, but not twice.
  Status CheckWritten(const std::vector<CallArgument>& arguments, const Part& part, size_t output,
                      const std::vector<bool>& unwritten) {
    KS_TRY(const WatchedRun again,
           RunPlan(arguments, part, verification_.Secret(SeedStream::kTimingPoison, 4)));
    if (again.failure) return {};
    for (size_t k = 0; k < unwritten.size(); ++k) {
      if (!unwritten[k] || !again.unwritten[output][k]) continue;
      NeverWritten(output, k, again.outputs[output].shape);
      return {};
    }
    return {};
  }

  void Failed(const WatchedRun& run) {
    const auto& fault = run.fault;
    stage_.Add(fault && fault->kind == vgpu::FaultKind::kNoProgress ? VerdictKind::kInconclusive
                                                                    : VerdictKind::kRefuted,
               {.kind = run.failure->kind,
                .message = fmt::format("at the timing shape {}: {}", Name(),
                                       fault ? FaultText(*fault) : run.failure->message),
                .where = !fault                       ? SourceLocation{}
                         : fault->source.file.empty() ? fault->ptx
                                                      : fault->source});
  }

  // Some of the elements that were written: the first, the last, and others anywhere.
  template <typename Written>
  std::vector<int64_t> ChooseElements(int64_t count, const Written& written) {
    std::vector<int64_t> all;
    for (int64_t k = 0; k < count; ++k) {
      if (written(k)) all.push_back(k);
    }
    if (all.size() <= kElements) return all;
    // The oracle may not get to all of them, so they come in no order.
    std::vector<int64_t> chosen = {all.front(), all.back()};
    while (chosen.size() < kElements) chosen.push_back(all[rng_.Below(all.size())]);
    return chosen;
  }

  template <typename Written>
  void Compare(size_t result, const HostTensor& got, const Written& written, uint64_t* budget) {
    if (!IsFloat(got.dtype)) return;
    ExpectedOutput expected{.name = names_[result], .dtype = got.dtype, .shape = got.shape};
    std::vector<double> values;
    std::vector<int64_t> places;
    for (const int64_t k : ChooseElements(got.count(), written)) {
      const std::optional<codegen::PointEvaluator::Point> point = oracle_->At(result, k, budget);
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
    const std::vector<int64_t> index =
        IndexOf(static_cast<size_t>(places[numbers.worst_index]), got.shape);
    stage_.Add(VerdictKind::kRefuted,
               {.kind = FindingKind::kWrongValue,
                .message = fmt::format(
                    "{} is off by {:.3g} times what rounding explains at the timing shape {} "
                    "(element [{}]: expected {:.9g}, got {:.9g}; {} of {} elements that were "
                    "looked at are wrong)",
                    names_[result], numbers.worst / kLimit, Name(), fmt::join(index, ", "),
                    numbers.expected, numbers.got, numbers.wrong, numbers.elements)});
  }

  Verification& verification_;
  const TaskRequest& request_;
  const TaskGraph& task_;
  StageResult& stage_;
  Rng rng_;
  SampledShape result_;
  std::shared_ptr<const Graph> graph_;
  uint64_t work_ = 0;
  std::shared_ptr<const TracedCall> call_;
  std::vector<std::string> names_;  // of results and mutated arguments, as the oracle counts them
  std::unique_ptr<codegen::PointEvaluator> oracle_;
  CaseTensors values_;
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

Result<SampledShape> JudgeSampledShape(Verification& verification, const TaskRequest& request,
                                       const TaskGraph& task, std::set<std::string>& known,
                                       StageResult& stage) {
  return ShapeJudge(verification, request, task, stage).Run(known);
}

}  // namespace kernelsmith
