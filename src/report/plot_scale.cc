#include "report/plot_scale.h"

#include <algorithm>
#include <cmath>

namespace kernelsmith {

LogScale::LogScale(double low, double high, double from, double to)
    : low_(low > 0 ? low / 1.15 : 0.1),
      high_(std::max(high * 1.15, 1.5 * low_)),
      from_(from),
      to_(to) {}

double LogScale::At(double value) const {
  const double clamped = std::clamp(value, low_, high_);
  return from_ + (to_ - from_) * std::log(clamped / low_) / std::log(high_ / low_);
}

std::vector<double> LogScale::Ticks() const {
  std::vector<double> ticks;
  const bool many = high_ / low_ > 300;
  for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (many && factor != 1) continue;
      if (power * factor >= low_ && power * factor <= high_) ticks.push_back(power * factor);
    }
  }
  // A narrow range may hold none of these.
  if (ticks.size() < 2) ticks = {low_ * 1.15, high_ / 1.15};
  return ticks;
}

}  // namespace kernelsmith
