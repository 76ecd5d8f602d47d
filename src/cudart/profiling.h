// Profiled runs: `kernelsmith profile` sets KERNELSMITH_PROFILE (a file) in the environment of a
// program. Kernels are then counted (counters/counters.h), and the file gets one line a launch as
// soon as it ends, so that a program that crashes has its counters too.
#pragma once

#include <memory>

#include "counters/counter_observer.h"
#include "support/settings.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::cudart {

class Profiling {
 public:
  // Null unless the settings ask for it.
  static std::unique_ptr<Profiling> FromSettings(const RuntimeSettings& settings,
                                                 const GpuModel& model, vgpu::VirtualGpu& gpu);
  ~Profiling();

  vgpu::Observer& observer() { return *observer_; }

 private:
  Profiling() = default;
  void Write(const nlohmann::json& line);

  int report_ = -1;
  int modules_ = 0;
  std::unique_ptr<counters::CounterObserver> observer_;
};

}  // namespace kernelsmith::cudart
