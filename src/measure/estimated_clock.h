// The clock where there is no GPU: a call takes what the model of its counters says.
#pragma once

#include <string>

#include "measure/timing.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

class EstimatedClock : public DeviceClock {
 public:
  explicit EstimatedClock(const GpuModel& gpu) : gpu_(gpu) {}

  // Work that the stretch has. Streams don't matter: every step of a plan is charged.
  void Charge(double seconds) { charged_ += seconds; }

  TimeKind kind() const override { return TimeKind::kEstimated; }
  std::string gpu() const override { return std::string(gpu_.key); }
  bool varies() const override { return false; }
  // The model's caches are cold at the begin of every plan.
  Status EvictCaches() override { return {}; }
  Status ResetPersisting() override { return {}; }
  Status Begin() override {
    charged_ = 0;
    return {};
  }
  Result<TimedSpan> End() override {
    return TimedSpan{.device_seconds = charged_, .wall_seconds = charged_};
  }

 private:
  const GpuModel& gpu_;
  double charged_ = 0;
};

// What an estimate says of a candidate or a baseline. Results were checked by the verifier before:
// there is nothing to check at a call.
class EstimatedSubject : public TimedSubject {
 public:
  EstimatedSubject(std::string name, EstimatedClock& clock, double seconds)
      : name_(std::move(name)), clock_(clock), seconds_(seconds) {}

  std::string name() const override { return name_; }
  Status Renew(uint64_t) override { return {}; }
  Status Prepare() override { return {}; }
  Status Submit() override {
    clock_.Charge(seconds_);
    return {};
  }
  Result<std::string> Check() override { return std::string(); }

 private:
  std::string name_;
  EstimatedClock& clock_;
  double seconds_;
};

}  // namespace kernelsmith
