// Where coverage items lie in a kernel's code: what both engines go by when they record. Private to
// the engine.
//
// All items are about single threads, so that it does not matter which lanes run together: an entry
// of the record's array collects the lanes that did the item.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "vgpu/ir.h"

namespace kernelsmith::vgpu {

struct Warp;

inline constexpr uint32_t kNoItem = ~0u;

// A way from the end of a block of the flow graph to the next one, or out of the function.
struct CoverageEdge {
  uint32_t item = kNoItem;
  uint32_t back = kNoItem;     // the loop whose head it goes back to
  std::vector<uint32_t> left;  // loops that it leaves
  bool empty() const { return item == kNoItem && back == kNoItem && left.empty(); }
};

// A loop's items are three in a row: see CoverageKind.
struct CoverageLoop {
  uint32_t item = kNoItem;
  uint32_t function = 0;  // Function::number
  uint32_t head = 0;      // pc
  bool first = false;     // its condition is tested before the body, not behind it
};

struct FunctionCoverage {
  static constexpr uint32_t kEnd = ~0u;

  struct Step {
    uint32_t guard = kNoItem;      // two items: kTrue, kFalse
    uint32_t condition = kNoItem;  // the same of a selection's predicate
  };
  std::vector<Step> steps;  // by pc
  // By the pc of a block's last instruction and the first pc of the next block, or kEnd.
  std::map<std::pair<uint32_t, uint32_t>, CoverageEdge> edges;
  std::vector<bool> ends_block;  // by pc

  const CoverageEdge* FindEdge(uint32_t from, uint32_t to) const {
    const auto it = edges.find({from, to});
    return it == edges.end() || it->second.empty() ? nullptr : &it->second;
  }
};

struct CoverageMap {
  std::vector<FunctionCoverage> functions;  // by Function::number
  std::vector<CoverageLoop> loops;
  uint32_t items = 0;
};

// Made when it is first asked for.
const CoverageMap& CoverageMapOf(const Kernel& kernel);

// -- recording in the interpreter

// Lanes of w.active are about to execute the instruction, and the guard holds for those of `mask`.
void CoverInstruction(Warp& w, const Instruction& in, uint32_t mask);
// Lanes go from the instruction at pc `from` to the one at `to`; nothing if no block ends there.
void CoverEdge(Warp& w, const Function& function, uint32_t from, uint32_t to, uint32_t lanes);

}  // namespace kernelsmith::vgpu
