// How time is taken so that no trick pays: the protocol between a clock and what is timed. It is
// the same for estimates, where a call always takes as long, and for a real GPU, where nothing
// does.
//
// Every sample has inputs and addresses of its own, cold caches and an idle device before and
// behind it, and its results are checked; candidate and baselines take turns. What a candidate does
// in its first calls, on other streams, or after its function has returned is therefore inside of
// some sample or in its preparation, which is shown apart. docs/loopholes.md lists the tricks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/finding_kind.h"
#include "support/result.h"

namespace kernelsmith {

enum class TimeKind { kEstimated, kMeasured };
const char* Name(TimeKind kind);

// One stretch of time on a device.
struct TimedSpan {
  double device_seconds = 0;  // from the first begin of work to its last end, over all streams
  double wall_seconds = 0;    // the time by the host's clock, until the device was idle again
  bool throttled = false;     // the GPU ran below the clock that it should have
};

// The judge's own clock: candidates have no part in it, since their host code runs in another
// process and only once.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  virtual TimeKind kind() const = 0;
  virtual std::string gpu() const = 0;
  // False: a call always takes as long, so that one sample says all.
  virtual bool varies() const = 0;
  // Writes over all of L2.
  virtual Status EvictCaches() = 0;
  // Ends what programs may ask to stay in L2 in spite of that.
  virtual Status ResetPersisting() = 0;
  // The stretch begins when every stream of the device is idle.
  virtual Status Begin() = 0;
  // And ends when every stream is idle again.
  virtual Result<TimedSpan> End() = 0;
};

// A candidate's plan or a baseline.
class TimedSubject {
 public:
  virtual ~TimedSubject() = default;
  virtual std::string name() const = 0;
  // Inputs drawn with this seed at addresses that no earlier call had, results poisoned.
  virtual Status Renew(uint64_t seed) = 0;
  // What the first call does for later ones.
  virtual Status Prepare() = 0;
  // One call. It may return before its work has ended.
  virtual Status Submit() = 0;
  // What is wrong with the results of the last call; empty: nothing.
  virtual Result<std::string> Check() = 0;
};

struct TimingOptions {
  // Calls before the first sample. A number and not a time: a subject that is slow at first does
  // not get fewer samples for it.
  int warm_up = 3;
  // The interval of a median of 15 has 95 % when it leaves out three samples on each side.
  int min_samples = 15;
  int max_samples = 200;
  // Half of the interval over the median: more samples are taken until it is smaller.
  double precision = 0.01;
  double patience_seconds = 20;  // how long samples are taken once there are enough
  // What the task itself needs on this GPU: a smaller time is not believed.
  double floor_seconds = 0;
  // Host time that a call may take beyond its device time: Python, launches.
  double host_allowance_seconds = 100e-6;
  uint64_t seed = 1;  // decides inputs and the order of turns; secret from the candidate
};

struct SubjectTime {
  std::string name;
  double seconds = 0;  // median of the samples
  double low = 0;      // the lower end of its interval (95 %, by ranks)
  double high = 0;
  double preparation_seconds = 0;  // once; no part of `seconds`
  int samples = 0;
};

struct TimingFinding {
  FindingKind kind = FindingKind::kError;
  std::string message;
  bool decides = false;  // no time is given
};

struct TimingReport {
  TimeKind kind = TimeKind::kEstimated;
  std::string gpu;
  SubjectTime candidate;
  std::vector<SubjectTime> baselines;
  std::vector<TimingFinding> findings;
  int rounds_dropped = 0;  // throttled

  bool believed() const;
  // Over the fastest baseline; none without baselines or if the time is not believed.
  std::optional<double> Speedup() const;
};

// A baseline that is wrong is an error.
Result<TimingReport> TakeTimes(DeviceClock& clock, TimedSubject& candidate,
                               const std::vector<TimedSubject*>& baselines,
                               const TimingOptions& options);

// Median and its interval; the samples must not be empty.
SubjectTime Summarise(std::string name, std::vector<double> samples);

// The geometric mean; none if there are no numbers or one is not positive and finite.
std::optional<double> GeometricMean(const std::vector<double>& values);

}  // namespace kernelsmith
