#include "verify/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check.h"

namespace kernelsmith {
namespace {

// Root of the mean of squared errors, over the elements where both are finite.
double RmsError(std::span<const double> exact, std::span<const double> torch) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double error = torch[i] - exact[i];
    if (!std::isfinite(error)) continue;
    sum += error * error;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

bool SameNonFinite(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b);
}

}  // namespace

std::vector<double> ErrorScales(const OutputReference& reference) {
  const size_t count = reference.exact.size();
  KS_CHECK(reference.torch.size() == count);
  KS_CHECK(reference.magnitude.empty() || reference.magnitude.size() == count);
  std::vector<double> scales(
      count, std::max(RmsError(reference.exact, reference.torch), reference.smallest));
  const size_t row = reference.row;
  if (row > 1 && count % row == 0) {
    for (size_t begin = 0; begin < count; begin += row) {
      const double rms =
          RmsError(reference.exact.subspan(begin, row), reference.torch.subspan(begin, row));
      for (size_t i = begin; i < begin + row; ++i) scales[i] = std::max(scales[i], rms);
    }
  }
  const double usual = RmsError(reference.exact, std::vector<double>(count));
  const double terms = std::sqrt(std::max(reference.sum_length, 1.0));
  const double serial = kSerialFactor * reference.sum_epsilon * terms;
  for (size_t i = 0; i < count; ++i) {
    // The exact value is a lower bound of the magnitude, and its only stand-in where there is none.
    double magnitude = std::abs(reference.exact[i]);
    if (!reference.magnitude.empty() && reference.magnitude[i] > magnitude) {
      magnitude = reference.magnitude[i];
    }
    if (!std::isfinite(magnitude)) continue;
    const double rounded =
        reference.wide_sums ? std::max(std::abs(reference.exact[i]), magnitude / terms) : magnitude;
    scales[i] = std::max(scales[i], kMagnitudeFactor * reference.epsilon * rounded);
    // A small result may be the difference of larger sums, but of none beyond its magnitude.
    const double summed = std::max(std::abs(reference.exact[i]), std::min(magnitude, usual));
    scales[i] = std::max(scales[i], serial * summed);
  }
  return scales;
}

NumericComparison CompareNumbers(std::span<const double> got, const OutputReference& reference) {
  KS_CHECK(got.size() == reference.exact.size());
  const std::vector<double> scales = ErrorScales(reference);
  NumericComparison comparison{.elements = got.size()};
  double worst = -1;
  for (size_t i = 0; i < got.size(); ++i) {
    const double exact = reference.exact[i];
    double distance = 0;
    if (!std::isfinite(got[i]) || !std::isfinite(exact)) {
      const bool right = SameNonFinite(got[i], exact) || SameNonFinite(got[i], reference.torch[i]);
      distance = right ? 0 : std::numeric_limits<double>::infinity();
    } else {
      const double error = std::abs(got[i] - exact);
      distance = error == 0 ? 0 : error / scales[i];  // scale 0: integers and exact results
    }
    if (distance > kLimit) ++comparison.wrong;
    if (distance > worst) {
      worst = distance;
      comparison.worst_index = i;
      comparison.expected = exact;
      comparison.got = got[i];
    }
  }
  comparison.worst = std::max(worst, 0.0);
  return comparison;
}

bool AllClose(std::span<const double> got, std::span<const double> torch, double rtol,
              double atol) {
  KS_CHECK(got.size() == torch.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == torch[i]) continue;  // equal infinities too
    // Written so that a NaN on either side is not close, as in PyTorch.
    if (!(std::abs(got[i] - torch[i]) <= atol + rtol * std::abs(torch[i]))) return false;
  }
  return true;
}

}  // namespace kernelsmith
