// A GPU with streams, an L2 and a clock that throttles, all of it numbers that a test sets: what
// the protocol of timing.h is tried on. It also says what careless ways of timing would have said,
// so that a test shows the trick to work on them.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "measure/timing.h"

namespace kernelsmith::testing {

class FakeGpu : public DeviceClock {
 public:
  // What work does to a cold L2 and to one that has its data.
  static constexpr double kHot = 0.2;

  // Submits work: it begins when its stream is free and runs on after this returns. `data`: what it
  // reads, which is then in L2.
  void Launch(int stream, double seconds, const std::string& data = "") {
    if (hot_.contains(data) || persisting_.contains(data)) seconds *= kHot;
    if (!data.empty()) hot_.insert(data);
    const double begin = std::max(host_, busy_until_[stream]);
    first_ = std::min(first_, begin);
    busy_until_[stream] = begin + seconds;
    host_ += kSubmit;
  }
  // `stream` goes on when `other` is done.
  void WaitFor(int stream, int other) {
    busy_until_[stream] = std::max(busy_until_[stream], busy_until_[other]);
  }
  void HostWork(double seconds) { host_ += seconds; }
  void Persist(const std::string& data) { persisting_.insert(data); }
  // A program that has a hold on the device's events: they tell this instead of the truth.
  void PatchEvents(double seconds) { patched_ = seconds; }
  // Whether the stretch with this number ran below the clock.
  std::function<bool(int)> throttles = [](int) { return false; };

  // What the last stretch would have been by events in the default stream alone, and by the host's
  // clock when the call returned.
  double by_default_stream() const { return by_default_stream_; }
  double by_return() const { return by_return_; }
  int stretches() const { return stretches_; }

  TimeKind kind() const override { return TimeKind::kMeasured; }
  std::string gpu() const override { return "fake"; }
  bool varies() const override { return true; }
  Status EvictCaches() override {
    hot_.clear();
    return {};
  }
  Status ResetPersisting() override {
    persisting_.clear();
    return {};
  }
  Status Begin() override {
    Idle();
    began_ = host_;
    first_ = 1e300;
    return {};
  }
  Result<TimedSpan> End() override {
    by_return_ = host_ - began_;
    by_default_stream_ = std::max(busy_until_[0] - began_, 0.0);
    const double last = Idle();
    TimedSpan span{.device_seconds = std::max(last - first_, 0.0), .wall_seconds = host_ - began_};
    if (patched_) span.device_seconds = *std::exchange(patched_, std::nullopt);
    if (throttles(stretches_)) {
      span.throttled = true;
      span.device_seconds *= 3;
      span.wall_seconds *= 3;
    }
    ++stretches_;
    return span;
  }

 private:
  static constexpr double kSubmit = 2e-6;

  double Idle() {
    double last = 0;
    for (const auto& [stream, until] : busy_until_) last = std::max(last, until);
    host_ = std::max(host_, last);
    return last;
  }

  double host_ = 1;  // the time of day
  double began_ = 0;
  double first_ = 1e300;
  double by_default_stream_ = 0;
  double by_return_ = 0;
  int stretches_ = 0;
  std::map<int, double> busy_until_;
  std::set<std::string> hot_;
  std::set<std::string> persisting_;
  std::optional<double> patched_;
};

// What a test wants to be timed. Its result is right if it was computed from the call's own data.
class FakeSubject : public TimedSubject {
 public:
  FakeSubject(std::string name, std::function<void(FakeSubject&)> call)
      : name_(std::move(name)), call_(std::move(call)) {}

  std::string name() const override { return name_; }
  Status Renew(uint64_t seed) override {
    data = seed;
    result = 0;
    return {};
  }
  Status Prepare() override {
    if (prepare) prepare(*this);
    return {};
  }
  Status Submit() override {
    ++calls;
    call_(*this);
    return {};
  }
  Result<std::string> Check() override {
    return std::string(result == data ? "" : "result.0 is wrong");
  }
  void Compute() { result = data; }

  uint64_t data = 0;
  uint64_t result = 0;
  int calls = 0;
  std::function<void(FakeSubject&)> prepare;

 private:
  std::string name_;
  std::function<void(FakeSubject&)> call_;
};

}  // namespace kernelsmith::testing
