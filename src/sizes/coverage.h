// Whether stores write every byte of a buffer exactly once: the places that a store writes are
// numbers with mixed radix whose digits are the thread's ids and the loops' counters, and a guard
// is the limit of some of the digits together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sizes/state.h"

namespace kernelsmith::sizes {

// A store, as often as it happens.
struct Site {
  uint32_t pc = 0;
  Polynomial offset;  // in bytes
  uint32_t bytes = 0;
  std::vector<Polynomial> guards;  // it happens where all of them are >= 0 ...
  bool exact = false;              // ... and nowhere else
};

// The ids of a thread, each from 0 to below its size.
using Ids = std::map<Symbol, Polynomial>;

// Empty if the sites write all of [0, bytes) once; otherwise why that is not shown.
std::string WhyNotWrittenOnce(const std::vector<Site>& sites, const Polynomial& bytes,
                              const Ids& ids, const SymbolTable& symbols, Facts& facts);

}  // namespace kernelsmith::sizes
