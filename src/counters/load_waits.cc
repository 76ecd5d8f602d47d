#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "counters/classify.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::counters {

using vgpu::Instruction;
using vgpu::Op;

namespace {

// Loads that a warp waits for together. ptxas moves loads up within a piece of straight code, as
// far as their addresses are known and no store or barrier is in the way: those that depend on
// equally many loads before them are in flight at the same time.
class WaitGroups {
 public:
  WaitGroups(const vgpu::Function& function, std::vector<InstructionFacts>& facts)
      : function_(function), facts_(facts) {
    for (const Instruction& in : function.code) {
      if (in.op == Op::kBra) targets_.insert(in.target);
    }
    for (const auto& targets : function.branch_targets)
      targets_.insert(targets.begin(), targets.end());
  }

  void Run() {
    for (uint32_t i = 0; i < function_.code.size(); ++i) {
      const Instruction& in = function_.code[i];
      const InstructionFacts& facts = facts_[i];
      if (in.control || targets_.contains(i) || facts.which == InstructionClass::kSync) {
        Close(global_);
        Close(near_);
        depth_.clear();
      }
      int depth = 0;
      for (const vgpu::Operand operand : {in.a, in.b, in.c, in.e, in.guard}) {
        depth = std::max(depth, DepthOf(operand));
      }
      const vgpu::OpFacts& op = vgpu::FactsOf(in.op);
      // Not atomics of vectors: it is open which of their registers are results.
      const bool access = IsLaneAccess(in.op) && op.list != vgpu::ListUse::kMixed;
      const bool returns = ReadsMemory(in.op) && op.memory != vgpu::MemoryUse::kReduce;
      const bool load = (access && returns) || in.op == Op::kLdmatrix;
      const bool store = access && WritesMemory(in.op);
      if (!load) {
        for (uint32_t k = 0; k < in.list_count; ++k) {
          depth = std::max(depth, DepthOf(function_.list[in.list_first + k]));
        }
      }
      const bool is_near = facts.which == InstructionClass::kSharedMemory ||
                           facts.which == InstructionClass::kLocalMemory;
      if (load && !facts.no_traffic) {
        (is_near ? near_ : global_)[depth].push_back(i);
        ++depth;
      }
      if (store && !facts.no_traffic) Close(is_near ? near_ : global_);
      Set(in.d, depth);
      Set(in.d2, depth);
      if (load) {
        for (uint32_t k = 0; k < in.list_count; ++k) Set(function_.list[in.list_first + k], depth);
      }
    }
    Close(global_);
    Close(near_);
  }

 private:
  using Groups = std::map<int, std::vector<uint32_t>>;  // loads by depth
  static constexpr size_t kMostInFlight = 16;           // registers wait with them

  int DepthOf(vgpu::Operand operand) const {
    const auto found = operand.exists() ? depth_.find(operand.raw) : depth_.end();
    return found == depth_.end() ? 0 : found->second;
  }
  void Set(vgpu::Operand operand, int depth) {
    if (operand.exists()) depth_[operand.raw] = depth;
  }
  void Close(Groups& groups) {
    for (const auto& [depth, loads] : groups) {
      for (const uint32_t load : loads) {
        facts_[load].wait = 1.0f / static_cast<float>(std::min(loads.size(), kMostInFlight));
      }
    }
    groups.clear();
  }

  const vgpu::Function& function_;
  std::vector<InstructionFacts>& facts_;
  std::set<uint32_t> targets_;
  std::unordered_map<uint32_t, int> depth_;  // loads that a register's value went through
  Groups global_;
  Groups near_;  // shared and local memory
};

}  // namespace

void AddWaits(const vgpu::Function& function, std::vector<InstructionFacts>& facts) {
  WaitGroups(function, facts).Run();
}

}  // namespace kernelsmith::counters
