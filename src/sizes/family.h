// What the launches of one kernel have in common at all sizes that were traced: which parameters
// are pointers, how long what they point to is, and how grid and block follow from the numbers that
// the kernel gets. All of it is found by fitting, so that it is an assumption about the host code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sizes/run.h"
#include "vgpu/ir.h"

namespace kernelsmith::sizes {

// One launch and the plan that it is of.
struct TracedLaunch {
  const Plan* plan = nullptr;
  const LaunchStep* step = nullptr;
};

// What a pointer parameter points to.
struct Target {
  std::string name;
  std::optional<Polynomial> bytes;  // from there to the end of the buffer; nothing: no rule
  bool aligned = true;              // it begins at a multiple of 16
  bool output = false;              // the whole of a result of the call
};

struct Family {
  LaunchValues values;
  std::map<Symbol, Polynomial> ids;      // of threads and blocks: each is below its size
  std::map<Symbol, Target> targets;      // by the symbol of the address
  std::vector<std::string> assumptions;  // for people
  std::string domain;                    // "rows, columns >= 1"
  size_t varying = 0;                    // numbers that differ from launch to launch
};

// `names`: of the kernel's parameters, as far as they are known. `most`: elements of a buffer and
// the largest number that the kernel gets, at most. The facts become known to `facts`.
Family FitFamily(const vgpu::Function& kernel, std::span<const TracedLaunch> launches,
                 const std::vector<std::string>& names, Integer most, SymbolTable& symbols,
                 Facts& facts);

}  // namespace kernelsmith::sizes
