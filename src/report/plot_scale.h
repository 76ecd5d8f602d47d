// Axes of plots.
#pragma once

#include <vector>

namespace kernelsmith {

// A logarithmic axis from pixels `from` to `to`.
class LogScale {
 public:
  // `low` must be more than 0 (else it is 0.1), `high` not less. They are widened a little, so that
  // nothing lies on the frame.
  LogScale(double low, double high, double from, double to);
  double At(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  // 1, 2 and 5 times powers of ten, or the powers alone where there are many.
  std::vector<double> Ticks() const;

 private:
  double low_;
  double high_;
  double from_;
  double to_;
};

}  // namespace kernelsmith
