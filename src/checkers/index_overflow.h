// 32-bit index arithmetic that wraps and then becomes part of an address: an error if the access is
// bad, a warning if it happens to hit something. Hashes and remainders of what wraps on purpose
// (and, shr, rem ...) are no index any more (vgpu/index_slice.cc).
#pragma once

#include <cstdint>
#include <memory>

#include "checkers/checker.h"

namespace kernelsmith::checkers {

std::unique_ptr<Checker> MakeIndexOverflowChecker(FindingSink& sink);

// Whether d = op(a, b, c) of 32-bit integers is not what it would be without a limit: read as
// signed numbers, or as unsigned ones (then an operand may also be a negative number).
struct Wrapped {
  bool as_signed = false;
  bool as_unsigned = false;
};
Wrapped Wraps(vgpu::Op op, uint32_t a, uint32_t b, uint32_t c);

}  // namespace kernelsmith::checkers
