// An independent way to round, for tests: look the exact value up in the sorted list of all values
// of the format. Exact values are __float128, whose 113 bits hold any product of two doubles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "vgpu/math/types.h"

namespace kernelsmith::vgpu::math {

class FormatTable {
 public:
  // `decode` gives the value of a code without sign; codes 0 to max_code are finite and ascending.
  FormatTable(uint32_t max_code, const std::function<double(uint32_t)>& decode) {
    for (uint32_t code = 0; code <= max_code; ++code) values_.push_back(decode(code));
  }
  // The code of |x| rounded; max_code + 1 means that it overflowed to infinity.
  uint32_t Encode(__float128 x, Round round) const {
    const bool negative = x < 0;
    const __float128 magnitude = negative ? -x : x;
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude,
                                        [](__float128 m, double v) { return m < v; });
    const auto low = static_cast<uint32_t>(above - values_.begin() - 1);
    if (values_[low] == magnitude) return low;
    const uint32_t high = low + 1;
    const __float128 step =
        low + 1 < values_.size() ? values_[high] - values_[low] : values_[low] - values_[low - 1];
    const __float128 middle = values_[low] + step / 2;
    const bool last = low + 1 == values_.size();
    switch (round) {
      case Round::kRz:
        return low;
      case Round::kRm:
        return negative ? high : low;
      case Round::kRp:
        return negative ? low : high;
      case Round::kRn:
        if (magnitude == middle) return low % 2 == 0 ? low : high;
        return magnitude < middle ? low : high;
      case Round::kRna:
        return magnitude < middle ? low : high;
      case Round::kOdd:
        return low % 2 == 1 || last ? low : high;
    }
    return low;
  }

 private:
  std::vector<double> values_;
};

// The value of an IEEE-like code from the definition of the format.
inline double DecodeIeee(uint32_t code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto field = static_cast<int>(code >> mantissa_bits);
  const double fraction =
      static_cast<double>(code & ((1u << mantissa_bits) - 1)) / (1 << mantissa_bits);
  double value = field == 0 ? fraction : 1.0 + fraction;
  const int exponent = (field == 0 ? 1 : field) - bias;
  for (int i = 0; i < exponent; ++i) value *= 2;
  for (int i = 0; i > exponent; --i) value /= 2;
  return value;
}

inline const FormatTable& F16Table() {
  static const FormatTable table(0x7bff, [](uint32_t code) { return DecodeIeee(code, 5, 10); });
  return table;
}
inline const FormatTable& BF16Table() {
  static const FormatTable table(0x7f7f, [](uint32_t code) { return DecodeIeee(code, 8, 7); });
  return table;
}

}  // namespace kernelsmith::vgpu::math
