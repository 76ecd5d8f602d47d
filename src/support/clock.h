// Time, behind an interface so that tests decide what it is.
#pragma once

#include <chrono>

namespace kernelsmith {

class Clock {
 public:
  using Duration = std::chrono::nanoseconds;

  virtual ~Clock() = default;
  // Monotonic; only differences mean something.
  virtual Duration Now() const = 0;
  virtual void Sleep(Duration duration) = 0;
};

// The machine's steady clock.
class SystemClock : public Clock {
 public:
  Duration Now() const override;
  void Sleep(Duration duration) override;
};

}  // namespace kernelsmith
