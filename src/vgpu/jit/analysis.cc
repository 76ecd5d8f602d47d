#include "vgpu/jit/analysis.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "vgpu/op_facts.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

namespace {

// Larger kernels take LLVM seconds; the interpreter has run most of them to their end by then.
constexpr size_t kMostInstructions = 20'000;

class UnionFind {
 public:
  uint32_t Add() {
    parent_.push_back(static_cast<uint32_t>(parent_.size()));
    return parent_.back();
  }
  uint32_t Find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void Join(uint32_t a, uint32_t b) { parent_[Find(a)] = Find(b); }
  size_t size() const { return parent_.size(); }

 private:
  std::vector<uint32_t> parent_;
};

}  // namespace

Analysis::Analysis(const Function& function, Dim3 block) : function_(function), block_(block) {
  if (function.code.size() > kMostInstructions) {
    why_ = "it has " + std::to_string(function.code.size()) + " instructions";
    return;
  }
  for (const RegisterArea& area : function.areas) {
    if (area.width == LaneWidth::k16) why_ = "it has 128-bit registers";
  }
  if (!why_.empty()) return;
  if (block.x % kWarpSize != 0 && (block.y > 1 || block.z > 1)) {
    if (block.x == 16) groups_ = 2;
    if (block.x == 8) groups_ = 4;
  }
  FindBlocks();
  FindJoins();
  FindWebs();
  FindConstants();
  FindUnchanged();
  FindShapes();
  FindRaw();
}

bool Analysis::Guarded(const Instruction& in) const {
  if (in.guard.base() != OperandBase::kConstant) return true;
  uint32_t word;
  std::memcpy(&word, function_.ConstantData() + in.guard.offset(), sizeof word);
  return in.guard_negated ? word != 0 : word != kFullMask;
}

void Analysis::FindBlocks() {
  const auto size = static_cast<uint32_t>(function_.code.size());
  std::vector<bool> starts(size + 1);
  starts[0] = true;
  for (uint32_t pc = 0; pc < size; ++pc) {
    const Instruction& in = function_.code[pc];
    has_waits_ |= in.waits;
    if (in.op == Op::kBra) starts[in.target] = true;
    if (in.op == Op::kBrxIdx) {
      for (const uint32_t target : function_.branch_targets[in.target]) starts[target] = true;
    }
    if (EndsBlock(in.op)) starts[pc + 1] = true;
  }
  block_of_.resize(size + 1);
  for (uint32_t pc = 0; pc < size; ++pc) {
    if (starts[pc]) blocks_.push_back({.first = pc});
    block_of_[pc] = static_cast<uint32_t>(blocks_.size() - 1);
    blocks_.back().last = pc + 1;
  }
  for (CodeBlock& block : blocks_) {
    const Instruction& in = function_.code[block.last - 1];
    if ((!LeavesSequence(in.op) || Guarded(in)) && block.last < size)
      block.next.push_back(block_of_[block.last]);
    if (in.op == Op::kBra) block.next.push_back(block_of_[in.target]);
    if (in.op == Op::kBrxIdx) {
      for (const uint32_t target : function_.branch_targets[in.target]) {
        block.next.push_back(block_of_[target]);
      }
    }
    std::sort(block.next.begin(), block.next.end());
    block.next.erase(std::unique(block.next.begin(), block.next.end()), block.next.end());
  }
  std::vector<uint32_t> work{0};
  blocks_[0].reachable = true;
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    for (const uint32_t next : blocks_[b].next) {
      blocks_[next].previous.push_back(b);
      if (blocks_[next].reachable) continue;
      blocks_[next].reachable = true;
      work.push_back(next);
    }
  }
}

void Analysis::FindWebs() {
  // Liveness of places.
  touched_.resize(function_.code.size());
  std::map<uint32_t, uint32_t> place_of;  // offset -> index
  std::vector<Operand> places;
  for (uint32_t pc = 0; pc < function_.code.size(); ++pc) {
    const Instruction& in = function_.code[pc];
    ForEachTouch(in, function_.list, Guarded(in), [&](Operand operand, Touch touch) {
      if (place_of.try_emplace(operand.offset(), static_cast<uint32_t>(places.size())).second) {
        places.push_back(operand);
      }
      touched_[pc].push_back({operand, touch});
    });
  }
  const auto place = [&](Operand operand) { return place_of.at(operand.offset()); };
  using Set = std::vector<bool>;
  std::vector<Set> live_in(blocks_.size(), Set(places.size()));
  const auto step_back = [&](Set& live, uint32_t pc) {
    for (const Touched& t : touched_[pc]) {
      if (t.touch == Touch::kWrite) live[place(t.operand)] = false;
    }
    for (const Touched& t : touched_[pc]) {
      if (t.touch != Touch::kWrite) live[place(t.operand)] = true;
    }
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks_.size(); b-- > 0;) {
      Set live(places.size());
      for (const uint32_t next : blocks_[b].next) {
        for (size_t i = 0; i < live.size(); ++i) live[i] = live[i] || live_in[next][i];
      }
      for (uint32_t pc = blocks_[b].last; pc-- > blocks_[b].first;) step_back(live, pc);
      if (live != live_in[b]) {
        live_in[b] = std::move(live);
        changed = true;
      }
    }
  }
  // Webs: one node for each definition and for each place that lives into a block.
  UnionFind nodes;
  std::vector<uint32_t> node_place;
  std::vector<std::map<uint32_t, uint32_t>> entry(blocks_.size());  // place -> node
  const auto add = [&](uint32_t p) {
    node_place.push_back(p);
    return nodes.Add();
  };
  for (size_t b = 0; b < blocks_.size(); ++b) {
    for (uint32_t p = 0; p < places.size(); ++p) {
      if (live_in[b][p]) entry[b][p] = add(p);
    }
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    std::map<uint32_t, uint32_t> now = entry[b];
    for (uint32_t pc = blocks_[b].first; pc < blocks_[b].last; ++pc) {
      const auto node = [&](uint32_t p) {
        const auto [it, inserted] = now.try_emplace(p, 0);
        if (inserted) it->second = add(p);  // dead here, yet touched
        return it->second;
      };
      for (Touched& t : touched_[pc]) {
        if (t.touch != Touch::kWrite) t.read = node(place(t.operand));
      }
      for (Touched& t : touched_[pc]) {
        if (t.touch == Touch::kRead) continue;
        const uint32_t p = place(t.operand);
        const uint32_t fresh = add(p);
        if (t.touch == Touch::kUpdate) nodes.Join(fresh, t.read);
        t.write = fresh;
        now[p] = fresh;
      }
    }
    for (const uint32_t next : blocks_[b].next) {
      for (const auto& [p, node] : entry[next]) {
        const auto it = now.find(p);
        if (it != now.end()) nodes.Join(node, it->second);
      }
    }
  }
  std::vector<uint32_t> web_of(nodes.size(), ~0u);
  const auto web = [&](uint32_t node) {
    const uint32_t root = nodes.Find(node);
    if (web_of[root] == ~0u) {
      web_of[root] = static_cast<uint32_t>(webs_.size());
      const Operand operand = places[node_place[root]];
      webs_.push_back({.offset = operand.offset(), .width = operand.width()});
    }
    return web_of[root];
  };
  for (auto& list : touched_) {
    for (Touched& t : list) {
      if (t.read != ~0u) t.read = web(t.read);
      if (t.write != ~0u) t.write = web(t.write);
    }
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    for (const auto& [p, node] : entry[b]) {
      blocks_[b].live_in.push_back({places[p].offset(), web(node)});
    }
  }
  for (const LiveValue& value : blocks_[0].live_in) webs_[value.web].zero_first = true;
}

uint32_t Analysis::ReadWeb(uint32_t pc, Operand operand) const {
  for (const Touched& t : touched_[pc]) {
    if (t.operand == operand && t.read != ~0u) return t.read;
  }
  return ~0u;
}

uint32_t Analysis::WriteWeb(uint32_t pc, Operand operand) const {
  uint32_t web = ~0u;
  for (const Touched& t : touched_[pc]) {
    if (t.operand == operand && t.write != ~0u) web = t.write;
  }
  return web;
}

bool Analysis::TellsOldValue(uint32_t pc) const {
  const Operand old = function_.code[pc].d;
  if (!old.exists()) return false;
  const uint32_t web = WriteWeb(pc, old);
  return std::any_of(touched_.begin(), touched_.end(), [&](const std::vector<Touched>& list) {
    const bool itself = &list == &touched_[pc];
    return std::any_of(list.begin(), list.end(), [&](const Touched& t) {
      return t.read == web && !(itself && t.touch == Touch::kUpdate);
    });
  });
}

std::vector<LiveValue> Analysis::LiveBefore(uint32_t pc) const {
  const CodeBlock& block = blocks_[block_of_[pc]];
  // Forward: which web each place holds. Backward: whether anybody will read it.
  std::map<uint32_t, uint32_t> now;
  for (const LiveValue& value : block.live_in) now[value.offset] = value.web;
  for (uint32_t at = block.first; at < pc; ++at) {
    for (const Touched& t : touched_[at]) {
      if (t.write != ~0u) now[t.operand.offset()] = t.write;
    }
  }
  std::map<uint32_t, bool> live;
  for (const uint32_t next : block.next) {
    for (const LiveValue& value : blocks_[next].live_in) live[value.offset] = true;
  }
  for (uint32_t at = block.last; at-- > pc;) {
    for (const Touched& t : touched_[at]) {
      if (t.touch == Touch::kWrite) live[t.operand.offset()] = false;
    }
    for (const Touched& t : touched_[at]) {
      if (t.touch != Touch::kWrite) live[t.operand.offset()] = true;
    }
  }
  std::vector<LiveValue> result;
  for (const auto& [offset, web] : now) {
    const auto it = live.find(offset);
    if (it != live.end() && it->second) result.push_back({offset, web});
  }
  return result;
}

void Analysis::FindUnchanged() {
  // Blocks behind a barrier are entered with all that lives there in `save`; the first with
  // nothing.
  std::vector<bool> entered(blocks_.size());
  for (size_t b = 1; b < blocks_.size(); ++b) {
    entered[b] =
        std::all_of(blocks_[b].previous.begin(), blocks_[b].previous.end(), [&](uint32_t previous) {
          return function_.code[blocks_[previous].last - 1].op == Op::kBarrier;
        });
  }
  unchanged_.assign(blocks_.size(), std::vector<bool>(webs_.size(), true));
  unchanged_[0].assign(webs_.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (!blocks_[b].reachable) continue;
      std::vector<bool> now = unchanged_[b];
      for (uint32_t pc = blocks_[b].first; pc < blocks_[b].last; ++pc) {
        for (const Touched& t : touched_[pc]) {
          if (t.write != ~0u) now[t.write] = false;
        }
      }
      for (const uint32_t next : blocks_[b].next) {
        if (entered[next]) continue;
        for (size_t web = 0; web < webs_.size(); ++web) {
          if (now[web] || !unchanged_[next][web]) continue;
          unchanged_[next][web] = false;
          changed = true;
        }
      }
    }
  }
}

bool Analysis::Unchanged(uint32_t pc, uint32_t web) const {
  const uint32_t block = block_of_[pc];
  if (!unchanged_[block][web]) return false;
  for (uint32_t at = blocks_[block].first; at < pc; ++at) {
    for (const Touched& t : touched_[at]) {
      if (t.write == web) return false;
    }
  }
  return true;
}

void Analysis::FindConstants() {
  std::vector<bool> written(webs_.size());
  std::vector<bool> varies(webs_.size());
  for (uint32_t pc = 0; pc < function_.code.size(); ++pc) {
    const Instruction& in = function_.code[pc];
    const bool moves = in.op == Op::kMov && in.a.width() == in.d.width();
    const auto value = moves ? ConstantOf(in.a) : std::nullopt;
    for (const Touched& t : touched_[pc]) {
      if (t.write == ~0u) continue;
      Web& web = webs_[t.write];
      const bool same =
          value && t.touch == Touch::kWrite && (!written[t.write] || web.constant == value);
      if (!same) varies[t.write] = true;
      written[t.write] = true;
      web.constant = value;
    }
  }
  for (size_t i = 0; i < webs_.size(); ++i) {
    if (varies[i] || !written[i] || webs_[i].zero_first) webs_[i].constant = std::nullopt;
  }
}

std::optional<int64_t> Analysis::ConstantIn(const Instruction& in, Operand operand) const {
  if (!operand.exists() || operand.base() != OperandBase::kRegister) return ConstantOf(operand);
  const uint32_t web = ReadWeb(static_cast<uint32_t>(&in - function_.code.data()), operand);
  return web == ~0u ? std::nullopt : webs_[web].constant;
}

std::optional<int64_t> Analysis::ConstantOf(Operand operand) const {
  if (!operand.exists() || operand.base() != OperandBase::kConstant) return std::nullopt;
  const std::byte* data = function_.ConstantData() + operand.offset();
  switch (operand.width()) {
    case LaneWidth::k1:
      return static_cast<int8_t>(*data);
    case LaneWidth::k2: {
      int16_t value;
      std::memcpy(&value, data, sizeof value);
      return value;
    }
    case LaneWidth::k8: {
      int64_t value;
      std::memcpy(&value, data, sizeof value);
      return value;
    }
    case LaneWidth::k16:
      return std::nullopt;
    default: {
      int32_t value;
      std::memcpy(&value, data, sizeof value);
      return value;
    }
  }
}

}  // namespace kernelsmith::vgpu::jit
