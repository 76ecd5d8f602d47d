#include "measure/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "measure/estimate.h"
#include "support/rng.h"

namespace kernelsmith {
namespace {

// How far the host's clock may be beyond the device's. Beyond it the device's is not believed:
// something ran that its events did not see.
constexpr double kWallFactor = 1.5;

struct Sample {
  double seconds = 0;
  bool throttled = false;
  bool hidden = false;
};

class Timer {
 public:
  Timer(DeviceClock& clock, TimedSubject& candidate, const std::vector<TimedSubject*>& baselines,
        const TimingOptions& options)
      : clock_(clock), options_(options), rng_(options.seed) {
    subjects_.push_back(&candidate);
    subjects_.insert(subjects_.end(), baselines.begin(), baselines.end());
    samples_.resize(subjects_.size());
    preparation_.resize(subjects_.size());
    report_.kind = clock.kind();
    report_.gpu = clock.gpu();
  }

  Result<TimingReport> Run() {
    for (size_t i = 0; i < subjects_.size(); ++i) KS_RETURN_IF_ERROR(Prepare(i));
    const int warm_up = clock_.varies() ? options_.warm_up : 0;
    for (int i = 0; i < warm_up && !wrong_; ++i) KS_RETURN_IF_ERROR(Round(/*counts=*/false));
    const int enough = clock_.varies() ? options_.min_samples : 1;
    // Dropped rounds are made good, but a GPU that never runs at its clock must not keep us here.
    const int most = clock_.varies() ? std::max(options_.max_samples, 2 * enough) : 1;
    for (int i = 0; i < most && !wrong_; ++i) {
      KS_RETURN_IF_ERROR(Round(/*counts=*/true));
      if (std::ssize(samples_[0]) >= enough && Done()) break;
    }
    Conclude(enough);
    return report_;
  }

 private:
  Status Prepare(size_t i) {
    KS_RETURN_IF_ERROR(subjects_[i]->Renew(rng_.Next()));
    KS_RETURN_IF_ERROR(clock_.Begin());
    KS_RETURN_IF_ERROR(subjects_[i]->Prepare());
    KS_TRY(const TimedSpan span, clock_.End());
    preparation_[i] = span.wall_seconds;
    return {};
  }

  // Every subject once, in an order of its own.
  Status Round(bool counts) {
    std::vector<size_t> order(subjects_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.Below(i)]);
    std::vector<Sample> round(subjects_.size());
    for (const size_t i : order) {
      KS_TRY(round[i], Take(i));
      if (wrong_) return {};
    }
    ++calls_;
    if (!counts) return {};
    // All of a round or nothing: a baseline that met a slow GPU is not compared with a candidate
    // that met a fast one.
    if (std::any_of(round.begin(), round.end(),
                    [](const Sample& each) { return each.throttled; })) {
      ++report_.rounds_dropped;
      return {};
    }
    for (size_t i = 0; i < round.size(); ++i) samples_[i].push_back(round[i].seconds);
    hidden_ += round[0].hidden ? 1 : 0;
    spent_ += round[0].seconds;
    return {};
  }

  Result<Sample> Take(size_t i) {
    TimedSubject& subject = *subjects_[i];
    KS_RETURN_IF_ERROR(subject.Renew(rng_.Next()));
    KS_RETURN_IF_ERROR(clock_.ResetPersisting());
    KS_RETURN_IF_ERROR(clock_.EvictCaches());
    KS_RETURN_IF_ERROR(clock_.Begin());
    KS_RETURN_IF_ERROR(subject.Submit());
    KS_TRY(const TimedSpan span, clock_.End());
    KS_TRY(const std::string problem, subject.Check());
    if (!problem.empty()) {
      if (i != 0) {
        return InternalError(fmt::format("the baseline {} is wrong: {}", subject.name(), problem));
      }
      wrong_ = true;
      report_.findings.push_back(
          {.kind = FindingKind::kWrongWhileTimed,
           .message = fmt::format("call {} after the preparation: {}", calls_ + 1, problem),
           .decides = true});
      return Sample{};
    }
    Sample sample{.seconds = span.device_seconds, .throttled = span.throttled};
    if (span.wall_seconds > kWallFactor * span.device_seconds + options_.host_allowance_seconds) {
      sample.seconds = span.wall_seconds;
      sample.hidden = true;
    }
    return sample;
  }

  bool Done() const {
    if (!clock_.varies() || spent_ > options_.patience_seconds) return true;
    return std::all_of(samples_.begin(), samples_.end(), [&](const std::vector<double>& each) {
      const SubjectTime time = Summarise("", each);
      return time.high - time.low <= 2 * options_.precision * time.seconds;
    });
  }

  void Conclude(int enough) {
    report_.candidate.name = subjects_[0]->name();
    if (wrong_) return;
    if (std::ssize(samples_[0]) < enough) {
      report_.findings.push_back(
          {.kind = FindingKind::kThrottled,
           .message = fmt::format("the GPU ran below its clock in {} of {} rounds; {} samples are "
                                  "not enough",
                                  report_.rounds_dropped, calls_, samples_[0].size()),
           .decides = true});
      return;
    }
    for (size_t i = 0; i < subjects_.size(); ++i) {
      SubjectTime time = Summarise(subjects_[i]->name(), samples_[i]);
      time.preparation_seconds = preparation_[i];
      (i == 0 ? report_.candidate : report_.baselines.emplace_back()) = time;
      if (clock_.varies() && time.high - time.low > 0.1 * time.seconds) {
        report_.findings.push_back(
            {.kind = FindingKind::kUnsteady,
             .message = fmt::format("{}: {} to {}", time.name, FormatSeconds(time.low),
                                    FormatSeconds(time.high))});
      }
    }
    const SubjectTime& candidate = report_.candidate;
    if (hidden_ > 0) {
      report_.findings.push_back(
          {.kind = FindingKind::kHiddenTime,
           .message = fmt::format("in {} of {} samples the device was idle much later than its own "
                                  "clock says: the host's clock counts",
                                  hidden_, candidate.samples)});
    }
    if (candidate.seconds < options_.floor_seconds) {
      report_.findings.push_back(
          {.kind = FindingKind::kBelowFloor,
           .message =
               fmt::format("{} is less than the {} that the task's bytes and operations take "
                           "on this GPU",
                           FormatSeconds(candidate.seconds), FormatSeconds(options_.floor_seconds)),
           .decides = true});
    }
  }

  DeviceClock& clock_;
  const TimingOptions& options_;
  Rng rng_;
  std::vector<TimedSubject*> subjects_;  // the candidate first
  std::vector<std::vector<double>> samples_;
  std::vector<double> preparation_;
  TimingReport report_;
  int calls_ = 0;
  int hidden_ = 0;
  double spent_ = 0;
  bool wrong_ = false;
};

}  // namespace

const char* Name(TimeKind kind) { return kind == TimeKind::kEstimated ? "estimated" : "measured"; }

bool TimingReport::believed() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const TimingFinding& each) { return each.decides; });
}

std::optional<double> TimingReport::Speedup() const {
  if (!believed() || baselines.empty()) return std::nullopt;
  double fastest = baselines[0].seconds;
  for (const SubjectTime& each : baselines) fastest = std::min(fastest, each.seconds);
  return fastest / candidate.seconds;
}

Result<TimingReport> TakeTimes(DeviceClock& clock, TimedSubject& candidate,
                               const std::vector<TimedSubject*>& baselines,
                               const TimingOptions& options) {
  return Timer(clock, candidate, baselines, options).Run();
}

SubjectTime Summarise(std::string name, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t n = samples.size();
  SubjectTime time{.name = std::move(name), .samples = static_cast<int>(n)};
  time.seconds = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  // The interval without the k smallest and the k largest misses the true median with probability
  // 2 P(B <= k), B the number of heads of n coins. Below six samples none has 95 %: all of them.
  size_t rank = 0;
  double head = std::pow(0.5, static_cast<double>(n));
  double tail = head;
  for (size_t k = 1; k < n; ++k) {
    head *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    tail += head;
    if (2 * tail > 0.05) break;
    rank = k;
  }
  time.low = samples[rank];
  time.high = samples[n - 1 - rank];
  return time;
}

std::optional<double> GeometricMean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value)) return std::nullopt;
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace kernelsmith
