// The numbers that device code has as immediate operands.
#pragma once

#include <cstdint>
#include <set>

#include "ptx/ptx.h"

namespace kernelsmith::ptx {

struct Constants {
  std::set<int64_t> integers;
  std::set<double> floats;
};

Constants ConstantsOf(const Module& module);

}  // namespace kernelsmith::ptx
