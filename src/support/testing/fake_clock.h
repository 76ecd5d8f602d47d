#pragma once

#include "support/clock.h"

namespace kernelsmith {

// Time stands still until a test moves it; sleeping moves it at once.
class FakeClock : public Clock {
 public:
  Duration Now() const override { return now_; }
  void Sleep(Duration duration) override { now_ += duration; }
  void Advance(Duration duration) { now_ += duration; }

 private:
  Duration now_{0};
};

}  // namespace kernelsmith
