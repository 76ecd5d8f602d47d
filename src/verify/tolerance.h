// How far an output may be from the exact result. Fixed tolerances pass zeros on small outputs and
// fail honest sums on large ones, so the scale of an error is what PyTorch's own rounding makes of
// the same task:
//
//   scale = max(RMS of PyTorch's error over the tensor, the same over the element's row,
//               c * eps * (the graph evaluated on absolute values; by the root of the terms of the
//               longest sum where sums are kept in a wider format),
//               d * eps * sqrt(terms of the longest sum) * |result|, the smallest step of the
//               dtype)
//
// An element is wrong when its error is more than kLimit scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kernelsmith {

// What is known of one output of the task. All spans have the same length, except `magnitude`,
// which may be empty.
struct OutputReference {
  std::span<const double> exact;      // the oracle in float64
  std::span<const double> torch;      // PyTorch in the task's dtype
  std::span<const double> magnitude;  // the graph on absolute values
  size_t row = 0;                     // length of the last axis; 0: no rows
  double epsilon = 0;                 // half a unit in the last place of 1 in the task's dtype
  double smallest = 0;                // smallest positive value of the dtype
  double sum_length = 1;              // terms of the longest sum that the output comes from
  double sum_epsilon = 0;             // half a unit in the last place of 1 in what sums are kept in
  // Sums are kept in more digits than results have. What is rounded to few digits is then at most
  // each term, and such errors add up at random.
  bool wide_sums = false;
};

// 16 scales: a serial float32 dot product of 4096 terms is at 8 beside a pairwise one, TF32 above
// 400 (tolerance_test.cc), so honest kernels have room and lower precision does not fit.
inline constexpr double kLimit = 16;
// The magnitude's term matters where PyTorch happens to be very exact (pairwise sums): without it a
// serial sum would be at 33 scales there.
inline constexpr double kMagnitudeFactor = 1.0 / 4;

// A serial sum of n numbers of one sign is off by 0.24 * sqrt(n) * eps of itself (RMS: each partial
// sum is rounded), and PyTorch, which sums in double or pairwise on the CPU, says nothing of that.
// With half of it for a scale such a sum has room for eight times its usual error. Sums of numbers
// of both signs are smaller than their magnitude, so lower precision does not fit there either.
inline constexpr double kSerialFactor = 0.12;

// One scale for each element.
std::vector<double> ErrorScales(const OutputReference& reference);

struct NumericComparison {
  size_t elements = 0;
  size_t wrong = 0;
  double worst = 0;        // in scales; infinity where a NaN or infinity is wrong
  size_t worst_index = 0;  // flat; valid if elements > 0
  double expected = 0;
  double got = 0;

  bool passed() const { return wrong == 0; }
};

// A NaN or infinity is right where the oracle has it, or PyTorch in the task's own dtype has the
// same (its overflow is the task's), and nowhere else.
NumericComparison CompareNumbers(std::span<const double> got, const OutputReference& reference);

// torch.allclose(got, torch, rtol, atol): shown beside our own answer.
bool AllClose(std::span<const double> got, std::span<const double> torch, double rtol, double atol);

}  // namespace kernelsmith
