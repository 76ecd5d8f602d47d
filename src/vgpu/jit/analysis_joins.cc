// Where lanes that part meet again.

#include <algorithm>

#include "vgpu/jit/analysis.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::vgpu::jit {

// Post-dominators by the algorithm of Cooper, Harvey and Kennedy on the reversed graph, with one
// node more for the end.
void Analysis::FindJoins() {
  const auto count = static_cast<uint32_t>(blocks_.size());
  const uint32_t end = count;
  std::vector<std::vector<uint32_t>> next(count + 1);
  std::vector<std::vector<uint32_t>> previous(count + 1);
  for (uint32_t b = 0; b < count; ++b) {
    if (!blocks_[b].reachable) continue;
    next[b] = blocks_[b].next;
    // Exits, or ends the launch: an edge to the end.
    if (EndsFunction(function_.code[blocks_[b].last - 1].op) || next[b].empty()) {
      next[b].push_back(end);
    }
    for (const uint32_t n : next[b]) previous[n].push_back(b);
  }
  // Post-order of the reversed graph from the end; blocks in endless loops are not in it.
  std::vector<uint32_t> order;
  std::vector<int> number(count + 1, -1);
  std::vector<std::pair<uint32_t, size_t>> stack{{end, 0}};
  std::vector<bool> seen(count + 1);
  seen[end] = true;
  while (!stack.empty()) {
    auto& [b, i] = stack.back();
    if (i < previous[b].size()) {
      const uint32_t p = previous[b][i++];
      if (!seen[p]) {
        seen[p] = true;
        stack.emplace_back(p, 0);
      }
      continue;
    }
    number[b] = static_cast<int>(order.size());
    order.push_back(b);
    stack.pop_back();
  }
  std::vector<uint32_t> join(count + 1, kEnd);
  join[end] = end;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size(); i-- > 0;) {
      const uint32_t b = order[i];
      if (b == end) continue;
      uint32_t best = kEnd;
      for (uint32_t n : next[b]) {
        if (number[n] < 0 || join[n] == kEnd) continue;
        if (best == kEnd) {
          best = n;
          continue;
        }
        while (n != best) {
          while (number[n] < number[best]) n = join[n];
          while (number[best] < number[n]) best = join[best];
        }
      }
      if (best != join[b]) {
        join[b] = best;
        changed = true;
      }
    }
  }
  joins_.assign(count, kEnd);
  for (uint32_t b = 0; b < count; ++b) {
    if (join[b] < count) joins_[b] = join[b];
  }
}

Analysis::Detour Analysis::DetourOf(uint32_t block) const {
  Detour detour;
  detour.blocks.resize(blocks_.size());
  std::vector<uint32_t> work;
  const auto reach = [&](uint32_t from) {
    for (const uint32_t next : blocks_[from].next) {
      if (next == joins_[block] || detour.blocks[next]) continue;
      detour.blocks[next] = true;
      work.push_back(next);
    }
  };
  reach(block);
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    reach(b);
    for (uint32_t pc = blocks_[b].first; pc < blocks_[b].last; ++pc) {
      const Instruction& in = function_.code[pc];
      ++detour.instructions;
      const bool leaves =
          in.op == Op::kTrap || (in.op == Op::kCall && function_.calls[in.target].system != 0);
      const bool branch = in.op == Op::kBra || in.op == Op::kRet || in.op == Op::kExit;
      if ((in.control && !branch && !leaves) || in.op == Op::kActivemask || in.waits) {
        detour.compilable = false;
      }
      for (const Touched& t : touched_[pc]) {
        if (t.write != ~0u) detour.written.push_back(t.write);
      }
    }
  }
  std::sort(detour.written.begin(), detour.written.end());
  detour.written.erase(std::unique(detour.written.begin(), detour.written.end()),
                       detour.written.end());
  return detour;
}

}  // namespace kernelsmith::vgpu::jit
