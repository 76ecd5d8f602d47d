// Reads of memory and registers that nothing was ever written to. Bits are followed through copies
// and arithmetic and reported where they decide something: an address, a branch, a store that a
// guard selects, or bytes that the host copies back.
#pragma once

#include <memory>

#include "checkers/checker.h"

namespace kernelsmith::checkers {

std::unique_ptr<Checker> MakeInitChecker(FindingSink& sink);

}  // namespace kernelsmith::checkers
