#include "sizes/flow.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "vgpu/op_facts.h"
#include "vgpu/touch.h"

namespace kernelsmith::sizes {
namespace {

using vgpu::Function;
using vgpu::Instruction;
using vgpu::Op;
using vgpu::Operand;
using vgpu::Touch;

class FlowMaker {
 public:
  explicit FlowMaker(const Function& function) : function_(function) {}

  Result<Flow> Run() {
    KS_RETURN_IF_ERROR(FindBlocks());
    Order();
    FindDominators();
    KS_RETURN_IF_ERROR(FindLoops());
    FindLive();
    return std::move(flow_);
  }

 private:
  Status FindBlocks() {
    const auto size = static_cast<uint32_t>(function_.code.size());
    std::vector<bool> starts(size + 1);
    starts[0] = true;
    for (uint32_t pc = 0; pc < size; ++pc) {
      const Instruction& in = function_.code[pc];
      if (in.op == Op::kBrxIdx) return Error(ErrorKind::kUnsupported, "an indirect branch");
      if (in.op == Op::kBra) starts[in.target] = true;
      if (vgpu::EndsBlock(in.op)) starts[pc + 1] = true;
    }
    std::vector<uint32_t> block_of(size);
    for (uint32_t pc = 0; pc < size; ++pc) {
      if (starts[pc]) flow_.blocks.push_back({.first = pc});
      block_of[pc] = static_cast<uint32_t>(flow_.blocks.size() - 1);
      flow_.blocks.back().last = pc + 1;
    }
    for (uint32_t i = 0; i < flow_.blocks.size(); ++i) {
      Flow::Block& block = flow_.blocks[i];
      const Instruction& in = function_.code[block.last - 1];
      if ((!vgpu::LeavesSequence(in.op) || IsGuarded(function_, in)) && block.last < size) {
        block.next.push_back(block_of[block.last]);
      }
      if (in.op == Op::kBra) block.next.push_back(block_of[in.target]);
      for (const uint32_t next : block.next) flow_.blocks[next].previous.push_back(i);
    }
    return {};
  }

  void Order() {
    std::vector<uint32_t> postorder;
    std::vector<bool> seen(flow_.blocks.size());
    std::vector<std::pair<uint32_t, size_t>> stack = {{0, 0}};
    seen[0] = true;
    while (!stack.empty()) {
      auto& [block, at] = stack.back();
      const std::vector<uint32_t>& next = flow_.blocks[block].next;
      if (at == next.size()) {
        postorder.push_back(block);
        stack.pop_back();
        continue;
      }
      const uint32_t to = next[at++];
      if (!seen[to]) {
        seen[to] = true;
        stack.emplace_back(to, 0);
      }
    }
    flow_.in_order.assign(postorder.rbegin(), postorder.rend());
    for (uint32_t i = 0; i < flow_.in_order.size(); ++i) flow_.blocks[flow_.in_order[i]].order = i;
  }

  void FindDominators() {
    flow_.blocks[0].dominator = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const uint32_t block : flow_.in_order) {
        if (block == 0) continue;
        uint32_t dominator = Flow::kNone;
        for (const uint32_t from : flow_.blocks[block].previous) {
          if (flow_.blocks[from].dominator == Flow::kNone) continue;
          dominator = dominator == Flow::kNone ? from : Common(dominator, from);
        }
        changed |= dominator != flow_.blocks[block].dominator;
        flow_.blocks[block].dominator = dominator;
      }
    }
  }

  uint32_t Common(uint32_t a, uint32_t b) const {
    while (a != b) {
      while (flow_.blocks[a].order > flow_.blocks[b].order) a = flow_.blocks[a].dominator;
      while (flow_.blocks[b].order > flow_.blocks[a].order) b = flow_.blocks[b].dominator;
    }
    return a;
  }

  Status FindLoops() {
    std::map<uint32_t, std::vector<uint32_t>> ends;  // by head: blocks that go back to it
    for (const uint32_t block : flow_.in_order) {
      for (const uint32_t next : flow_.blocks[block].next) {
        if (flow_.blocks[next].order > flow_.blocks[block].order) continue;
        if (!flow_.Dominates(next, block)) {
          return Error(ErrorKind::kUnsupported, "a loop with several heads");
        }
        ends[next].push_back(block);
      }
    }
    // Outer heads come first, so that inner loops overwrite the blocks' innermost loop.
    for (const uint32_t head : flow_.in_order) {
      const auto found = ends.find(head);
      if (found == ends.end()) continue;
      Flow::Loop loop{.head = head, .outer = flow_.blocks[head].loop};
      loop.blocks.resize(flow_.blocks.size());
      loop.blocks[head] = true;
      std::vector<uint32_t> open = found->second;
      while (!open.empty()) {
        const uint32_t block = open.back();
        open.pop_back();
        if (loop.blocks[block]) continue;
        loop.blocks[block] = true;
        for (const uint32_t from : flow_.blocks[block].previous) {
          if (flow_.blocks[from].order != Flow::kNone) open.push_back(from);
        }
      }
      std::set<uint32_t> written;
      for (uint32_t block = 0; block < flow_.blocks.size(); ++block) {
        if (!loop.blocks[block]) continue;
        flow_.blocks[block].loop = static_cast<uint32_t>(flow_.loops.size());
        for (uint32_t pc = flow_.blocks[block].first; pc < flow_.blocks[block].last; ++pc) {
          vgpu::ForEachTouch(function_.code[pc], function_.list, false,
                             [&](Operand operand, Touch touch) {
                               if (touch != Touch::kRead) written.insert(operand.offset());
                             });
        }
      }
      loop.written.assign(written.begin(), written.end());
      flow_.loops.push_back(std::move(loop));
    }
    return {};
  }

  void FindLive() {
    std::vector<std::set<uint32_t>> live(flow_.blocks.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (auto at = flow_.in_order.rbegin(); at != flow_.in_order.rend(); ++at) {
        const Flow::Block& block = flow_.blocks[*at];
        std::set<uint32_t> now;
        for (const uint32_t next : block.next) now.insert(live[next].begin(), live[next].end());
        for (uint32_t pc = block.last; pc-- > block.first;) {
          const Instruction& in = function_.code[pc];
          const bool guarded = IsGuarded(function_, in);
          vgpu::ForEachTouch(in, function_.list, guarded, [&](Operand operand, Touch touch) {
            if (touch == Touch::kWrite) now.erase(operand.offset());
          });
          vgpu::ForEachTouch(in, function_.list, guarded, [&](Operand operand, Touch touch) {
            if (touch != Touch::kWrite) now.insert(operand.offset());
          });
        }
        if (now != live[*at]) {
          live[*at] = std::move(now);
          changed = true;
        }
      }
    }
    for (uint32_t i = 0; i < flow_.blocks.size(); ++i) {
      flow_.blocks[i].live.assign(live[i].begin(), live[i].end());
    }
  }

  const Function& function_;
  Flow flow_;
};

}  // namespace

bool Flow::Dominates(uint32_t a, uint32_t b) const {
  while (blocks[b].order > blocks[a].order) b = blocks[b].dominator;
  return a == b;
}

uint32_t Flow::LoopAt(uint32_t head) const {
  const uint32_t loop = blocks[head].loop;
  return loop != kNone && loops[loop].head == head ? loop : kNone;
}

Result<Flow> MakeFlow(const Function& function) { return FlowMaker(function).Run(); }

bool IsGuarded(const Function& function, const Instruction& in) {
  if (in.guard.base() != vgpu::OperandBase::kConstant) return true;
  uint32_t word = 0;
  std::memcpy(&word, function.ConstantData() + in.guard.offset(), sizeof word);
  return in.guard_negated ? word != 0 : word != ~0u;
}

}  // namespace kernelsmith::sizes
