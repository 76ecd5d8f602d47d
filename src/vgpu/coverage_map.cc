// The flow graph of each function with its natural loops, and the numbers of its items.

#include "vgpu/coverage_map.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "vgpu/op_facts.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

struct FlowBlock {
  uint32_t first = 0;
  uint32_t last = 0;  // the last instruction
  std::vector<uint32_t> next;
  std::vector<uint32_t> previous;
};

bool Guarded(const Function& function, const Instruction& in) {
  if (in.guard.base() != OperandBase::kConstant) return true;
  uint32_t word;
  std::memcpy(&word, function.ConstantData() + in.guard.offset(), sizeof word);
  return in.guard_negated ? word != 0 : word != kFullMask;
}

// Blocks that can be reached.
class FlowGraph {
 public:
  explicit FlowGraph(const Function& function) : function_(function) {
    FindBlocks();
    FindDominators();
    FindLoops();
  }

  struct Loop {
    uint32_t head = 0;
    std::vector<bool> body;      // by block
    std::vector<uint32_t> from;  // blocks that go back to the head
  };
  const std::vector<FlowBlock>& blocks() const { return blocks_; }
  bool reachable(uint32_t block) const { return order_[block] >= 0; }
  const std::vector<Loop>& loops() const { return loops_; }

 private:
  void FindBlocks() {
    const std::vector<Instruction>& code = function_.code;
    const auto size = static_cast<uint32_t>(code.size());
    std::vector<bool> starts(size + 1);
    starts[0] = true;
    for (uint32_t pc = 0; pc < size; ++pc) {
      const Instruction& in = code[pc];
      if (in.op == Op::kBra) starts[in.target] = true;
      if (in.op == Op::kBrxIdx) {
        for (const uint32_t target : function_.branch_targets[in.target]) starts[target] = true;
      }
      if (EndsBlock(in.op)) starts[pc + 1] = true;
    }
    std::vector<uint32_t> block_of(size);
    for (uint32_t pc = 0; pc < size; ++pc) {
      if (starts[pc]) blocks_.push_back({.first = pc});
      block_of[pc] = static_cast<uint32_t>(blocks_.size() - 1);
      blocks_.back().last = pc;
    }
    for (FlowBlock& block : blocks_) {
      const Instruction& in = code[block.last];
      std::set<uint32_t> next;
      if ((!LeavesSequence(in.op) || Guarded(function_, in)) && block.last + 1 < size) {
        next.insert(block_of[block.last + 1]);
      }
      if (in.op == Op::kBra) next.insert(block_of[in.target]);
      if (in.op == Op::kBrxIdx) {
        for (const uint32_t target : function_.branch_targets[in.target]) {
          next.insert(block_of[target]);
        }
      }
      block.next.assign(next.begin(), next.end());
    }
  }

  // By the algorithm of Cooper, Harvey and Kennedy; `order_` is the post-order.
  void FindDominators() {
    order_.assign(blocks_.size(), -1);
    std::vector<uint32_t> post;
    std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
    std::vector<bool> seen(blocks_.size());
    seen[0] = true;
    while (!stack.empty()) {
      auto& [b, i] = stack.back();
      if (i < blocks_[b].next.size()) {
        const uint32_t n = blocks_[b].next[i++];
        blocks_[n].previous.push_back(b);
        if (!seen[n]) {
          seen[n] = true;
          stack.emplace_back(n, 0);
        }
        continue;
      }
      order_[b] = static_cast<int>(post.size());
      post.push_back(b);
      stack.pop_back();
    }
    dominator_.assign(blocks_.size(), kNoItem);
    dominator_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = post.size(); i-- > 0;) {
        const uint32_t b = post[i];
        if (b == 0) continue;
        uint32_t best = kNoItem;
        for (uint32_t p : blocks_[b].previous) {
          if (dominator_[p] == kNoItem) continue;
          if (best == kNoItem) best = p;
          while (p != best) {
            while (order_[p] < order_[best]) p = dominator_[p];
            while (order_[best] < order_[p]) best = dominator_[best];
          }
        }
        if (best != dominator_[b]) {
          dominator_[b] = best;
          changed = true;
        }
      }
    }
  }

  bool Dominates(uint32_t above, uint32_t block) const {
    while (block != above && block != 0) block = dominator_[block];
    return block == above;
  }

  // Loops with the same head are one.
  void FindLoops() {
    for (uint32_t head = 0; head < blocks_.size(); ++head) {
      if (!reachable(head)) continue;
      Loop loop{.head = head, .body = std::vector<bool>(blocks_.size()), .from = {}};
      for (const uint32_t from : blocks_[head].previous) {
        if (Dominates(head, from)) loop.from.push_back(from);
      }
      if (loop.from.empty()) continue;
      loop.body[head] = true;
      std::vector<uint32_t> work = loop.from;
      while (!work.empty()) {
        const uint32_t b = work.back();
        work.pop_back();
        if (loop.body[b]) continue;
        loop.body[b] = true;
        work.insert(work.end(), blocks_[b].previous.begin(), blocks_[b].previous.end());
      }
      loops_.push_back(std::move(loop));
    }
  }

  const Function& function_;
  std::vector<FlowBlock> blocks_;
  std::vector<int> order_;
  std::vector<uint32_t> dominator_;
  std::vector<Loop> loops_;
};

// The condition is tested in front of the body: the head leaves the loop and no block that goes
// back to it does.
bool TestedFirst(const FlowGraph& graph, const FlowGraph::Loop& loop) {
  const auto leaves = [&](uint32_t b) {
    const std::vector<uint32_t>& next = graph.blocks()[b].next;
    return std::any_of(next.begin(), next.end(), [&](uint32_t n) { return !loop.body[n]; });
  };
  return leaves(loop.head) && std::none_of(loop.from.begin(), loop.from.end(), leaves);
}

void AddFunction(const Function& function, CoverageMap& map) {
  FunctionCoverage& own = map.functions.emplace_back();
  own.steps.resize(function.code.size());
  own.ends_block.resize(function.code.size());
  if (function.code.empty()) return;  // it can't be called
  const auto take = [&](uint32_t count) {
    const uint32_t first = map.items;
    map.items += count;
    return first;
  };
  const FlowGraph graph(function);
  const auto first_loop = static_cast<uint32_t>(map.loops.size());
  for (const FlowGraph::Loop& loop : graph.loops()) {
    map.loops.push_back({.item = take(3),
                         .function = function.number,
                         .head = graph.blocks()[loop.head].first,
                         .first = TestedFirst(graph, loop)});
  }
  const auto leave = [&](CoverageEdge& edge, uint32_t from, uint32_t to) {
    for (uint32_t i = 0; i < graph.loops().size(); ++i) {
      const FlowGraph::Loop& loop = graph.loops()[i];
      if (!loop.body[from]) continue;
      if (to == FunctionCoverage::kEnd || !loop.body[to]) edge.left.push_back(first_loop + i);
      if (to == loop.head) edge.back = first_loop + i;
    }
  };
  for (uint32_t b = 0; b < graph.blocks().size(); ++b) {
    if (!graph.reachable(b)) continue;
    const FlowBlock& block = graph.blocks()[b];
    for (uint32_t pc = block.first; pc <= block.last; ++pc) {
      const Instruction& in = function.code[pc];
      if (Guarded(function, in)) own.steps[pc].guard = take(2);
      if (in.op == Op::kSelp && in.c.base() == OperandBase::kRegister) {
        own.steps[pc].condition = take(2);
      }
    }
    own.ends_block[block.last] = true;
    const Instruction& end = function.code[block.last];
    // What the guard's sides do not tell.
    const bool listed = !EndsBlock(end.op) || !Guarded(function, end) || end.op == Op::kBrxIdx;
    for (const uint32_t next : block.next) {
      CoverageEdge& edge = own.edges[{block.last, graph.blocks()[next].first}];
      if (listed) edge.item = take(1);
      leave(edge, b, next);
    }
    if (EndsFunction(end.op))
      leave(own.edges[{block.last, FunctionCoverage::kEnd}], b, FunctionCoverage::kEnd);
  }
}

}  // namespace

const CoverageMap& CoverageMapOf(const Kernel& kernel) {
  const std::lock_guard lock(kernel.compiled_mutex);
  if (kernel.coverage == nullptr) {
    auto map = std::make_shared<CoverageMap>();
    for (const auto& function : kernel.functions) AddFunction(*function, *map);
    kernel.coverage = std::move(map);
  }
  return *kernel.coverage;
}

}  // namespace kernelsmith::vgpu
