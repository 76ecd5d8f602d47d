#include "verify/timing_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "codegen/point_evaluator.h"
#include "support/rng.h"
#include "verify/tiled.h"
#include "verify/work.h"

namespace kernelsmith {
namespace {

// Operations of a task that src/graph evaluates in a tenth of a second, and within seconds: still
// sooner than PyTorch has started.
constexpr uint64_t kCheapWork = 4'000'000;
constexpr uint64_t kPossibleWork = 400'000'000;
// Operations for the elements by which loop nests show that they can do the task.
constexpr uint64_t kProbeSteps = 100'000'000;

class WholeOracle final : public TimingOracle {
 public:
  WholeOracle(CaseTensors values, std::vector<std::string> names)
      : values_(std::move(values)), names_(std::move(names)) {}

  const TensorMap& arguments() const override { return values_.values; }
  const CaseTensors* Whole() const override { return &values_; }
  std::optional<Point> At(size_t result, int64_t flat, uint64_t* budget) override {
    const auto exact = values_.expected.find(names_.at(result));
    const auto rounded = values_.values.find(names_.at(result));
    if (exact == values_.expected.end() || rounded == values_.values.end() || *budget == 0) {
      return std::nullopt;
    }
    --*budget;
    return Point{.exact = exact->second.at(flat), .rounded = rounded->second.at(flat)};
  }

 private:
  CaseTensors values_;
  std::vector<std::string> names_;
};

class PointOracle final : public TimingOracle {
 public:
  PointOracle(std::unique_ptr<codegen::PointEvaluator> evaluator, TensorMap arguments)
      : evaluator_(std::move(evaluator)), arguments_(std::move(arguments)) {
    for (const auto& [name, tensor] : arguments_) evaluator_->SetArgument(name, tensor);
  }

  const TensorMap& arguments() const override { return arguments_; }
  std::optional<Point> At(size_t result, int64_t flat, uint64_t* budget) override {
    const auto point = evaluator_->At(result, flat, budget);
    if (!point) return std::nullopt;
    return Point{.exact = point->exact, .rounded = point->rounded};
  }

 private:
  std::unique_ptr<codegen::PointEvaluator> evaluator_;
  TensorMap arguments_;
};

class Maker {
 public:
  Maker(Verification& verification, const TaskRequest& request, const TaskGraph& task,
        std::shared_ptr<const Graph> graph, uint64_t seed)
      : verification_(verification),
        quick_(*verification.shapes[0]),
        request_(request),
        task_(task),
        graph_(std::move(graph)),
        names_(task.AllResults()),
        work_(GraphWork(*graph_)),
        rng_(seed) {}

  Result<std::unique_ptr<TimingOracle>> Make() {
    if (Fill()) {
      if (work_ <= kCheapWork && EvaluateAll()) return std::move(made_);
      if (MakePoints()) return std::move(made_);
      if (work_ <= kPossibleWork && EvaluateAll()) return std::move(made_);
    }
    if (work_ <= kPossibleWork) KS_RETURN_IF_ERROR(AskTorch());
    return std::move(made_);
  }
  const std::string& why_not() const { return why_not_; }

 private:
  // Values of the small draw in an order that nobody knows; no two rows are alike. False: there
  // are arguments that only PyTorch can draw.
  bool Fill() {
    arguments_ = Tiled(task_, quick_.seen).values;
    for (const TensorSpec& spec : task_.tensors) {
      const auto found = arguments_.find(spec.name);
      if (found == arguments_.end()) {
        why_not_ = fmt::format("there is no data for {}", spec.name);
        return false;
      }
      const bool given =
          std::any_of(graph_->placeholders.begin(), graph_->placeholders.end(),
                      [&](size_t node) { return graph_->nodes[node].name == spec.name; });
      if (!given) {
        why_not_ = fmt::format("{} is computed from other arguments", spec.name);
        return false;
      }
      if (IsFloat(found->second.dtype)) {
        Shuffle(found->second, rng_.Next());
        if (HasIntegerResult()) MakeDistinct(found->second);
      } else if (!HasSmallPositions(found->second.shape, spec.name)) {
        why_not_ = fmt::format("{} would have to be drawn by PyTorch", spec.name);
        return false;
      }
    }
    return true;
  }

  bool HasIntegerResult() const {
    return std::any_of(graph_->outputs.begin(), graph_->outputs.end(), [&](const auto& output) {
      return !IsFloat(graph_->meta(output.value).dtype);
    });
  }

  // The small draw comes again and again, and of equal values the first is chosen: a position
  // beyond the first few thousand would never come out. Whole numbers (flags, signs, zeros) stay.
  void MakeDistinct(HostTensor& tensor) {
    if (tensor.dtype != DType::kFloat32) return;
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const double value = tensor.at(i);
      if (value == std::trunc(value)) continue;
      tensor.set(i, value * (1 + std::ldexp(static_cast<double>(rng_.Below(4096)), -16)));
    }
  }

  // Integers of the small draw are positions that a larger shape has, too.
  bool HasSmallPositions(const Shape& shape, const std::string& name) const {
    const auto small = quick_.seen.values.find(name);
    if (small == quick_.seen.values.end()) return false;
    const Shape& other = small->second.shape;
    return shape.size() == other.size() &&
           std::equal(shape.begin(), shape.end(), other.begin(), std::greater_equal<>());
  }

  bool EvaluateAll() {
    if (!quick_.evaluated_here || quick_.task.tensors.size() != graph_->placeholders.size()) {
      return false;
    }
    Result<CaseTensors> values = EvaluateHere(*graph_, arguments_);
    if (!values.ok()) return false;
    made_ = std::make_unique<WholeOracle>(*std::move(values), names_);
    return true;
  }

  // Loop nests are trusted only if they give what PyTorch gave at the quick shape.
  bool MakePoints() {
    auto small = codegen::PointEvaluator::Make(std::make_shared<const Graph>(quick_.graph), names_);
    auto large = codegen::PointEvaluator::Make(graph_, names_);
    if (!small.ok() || !large.ok()) {
      why_not_ = (small.ok() ? large.error() : small.error()).message();
      return false;
    }
    for (const auto& [name, values] : quick_.seen.values) (*small)->SetArgument(name, values);
    uint64_t budget = kProbeSteps;
    for (size_t i = 0; i < names_.size(); ++i) {
      const auto exact = quick_.seen.expected.find(names_[i]);
      if (exact == quick_.seen.expected.end() || exact->second.count() == 0) continue;
      for (int probe = 0; probe < 8; ++probe) {
        const auto flat =
            static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(exact->second.count())));
        const auto point = (*small)->At(i, flat, &budget);
        const double expected = exact->second.at(flat);
        if (!point || !(std::abs(point->exact - expected) <= 1e-9 * (1 + std::abs(expected)))) {
          why_not_ = "single elements of the task can't be computed";
          return false;
        }
      }
    }
    made_ = std::make_unique<PointOracle>(*std::move(large), std::move(arguments_));
    return true;
  }

  Status AskTorch() {
    const Result<TaskCase> sample = verification_.tools.tasks.Evaluate(
        verification_.task, request_, verification_.DrawSecret(SeedStream::kTimingDraw));
    if (!sample.ok()) {
      why_not_ = sample.error().message();
      return {};
    }
    KS_TRY(CaseTensors values, ReadCase(*sample));
    made_ = std::make_unique<WholeOracle>(std::move(values), names_);
    return {};
  }

  Verification& verification_;
  const TracedShape& quick_;
  const TaskRequest& request_;
  const TaskGraph& task_;
  std::shared_ptr<const Graph> graph_;
  const std::vector<std::string> names_;
  const uint64_t work_;
  Rng rng_;
  TensorMap arguments_;
  std::unique_ptr<TimingOracle> made_;
  std::string why_not_ = "the task is too large to be evaluated";
};

}  // namespace

Result<std::unique_ptr<TimingOracle>> MakeTimingOracle(Verification& verification,
                                                       const TaskRequest& request,
                                                       const TaskGraph& task,
                                                       std::shared_ptr<const Graph> graph,
                                                       uint64_t seed, std::string* why_not) {
  Maker maker(verification, request, task, std::move(graph), seed);
  KS_TRY(std::unique_ptr<TimingOracle> oracle, maker.Make());
  if (oracle == nullptr) *why_not = maker.why_not();
  return oracle;
}

}  // namespace kernelsmith
