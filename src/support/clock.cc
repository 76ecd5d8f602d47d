#include "support/clock.h"

#include <thread>

namespace kernelsmith {

Clock::Duration SystemClock::Now() const {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

void SystemClock::Sleep(Duration duration) { std::this_thread::sleep_for(duration); }

}  // namespace kernelsmith
