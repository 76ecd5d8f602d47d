// Places virtual registers in the frame. PTX has a new register for nearly every value; registers
// that are never live at the same time share a place, so that the frames of large kernels stay in
// the cache.
//
// A place is shared per lane: lanes of a warp may be anywhere in the function, but each lane's
// values lie in columns of its own, and each lane by itself follows the control flow that liveness
// is computed from.

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "vgpu/function_lowerer.h"
#include "vgpu/op_facts.h"
#include "vgpu/touch.h"

namespace kernelsmith::vgpu {

namespace {

// Above this many bytes of liveness sets, or if they have not settled after so many passes
// (compiled code takes a handful), every register keeps a place of its own.
constexpr size_t kMaxLivenessBytes = size_t{64} << 20;
constexpr int kMaxPasses = 40;

class BitSet {
 public:
  explicit BitSet(size_t bits) : words_((bits + 63) / 64) {}
  bool Test(size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void Set(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void Clear(size_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  // True if anything was added.
  bool Add(const BitSet& other) {
    uint64_t changed = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      changed |= other.words_[i] & ~words_[i];
      words_[i] |= other.words_[i];
    }
    return changed != 0;
  }
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
        visit(i * 64 + static_cast<size_t>(std::countr_zero(rest)));
      }
    }
  }

 private:
  std::vector<uint64_t> words_;
};

struct BasicBlock {
  uint32_t first = 0;
  uint32_t last = 0;  // one behind
  std::vector<uint32_t> next;
};

class Liveness {
 public:
  Liveness(const Function& function, size_t registers, Operand always)
      : function_(function), registers_(registers), always_(always) {
    FindBlocks();
  }

  // The first and last instruction between which each register holds something; first > last: never
  // used.
  struct Interval {
    uint32_t first = ~0u;
    uint32_t last = 0;
  };

  // Whether a register may be read that no instruction has written. Unlike for places, an
  // instruction that runs writes its results. After Intervals().
  bool MayReadUnwritten() {
    if (live_in_.empty()) return true;
    const auto any = [](const BitSet& set) {
      bool found = false;
      set.ForEach([&](size_t) { found = true; });
      return found;
    };
    if (!any(live_in_[0])) return false;
    results_are_written_ = true;
    if (!Solve()) return true;
    CountGuards();
    bool found = false;
    live_in_[0].ForEach([&](size_t reg) { found = found || HasWayToRead(reg); });
    return found;
  }

  std::vector<Interval> Intervals() {
    std::vector<Interval> intervals(registers_, {0, ~0u});
    if (blocks_.size() * registers_ / 4 > kMaxLivenessBytes || !Solve()) return intervals;
    intervals.assign(registers_, {});
    const auto extend = [&](size_t reg, uint32_t pc) {
      intervals[reg].first = std::min(intervals[reg].first, pc);
      intervals[reg].last = std::max(intervals[reg].last, pc);
    };
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const BasicBlock& block = blocks_[b];
      live_in_[b].ForEach([&](size_t reg) { extend(reg, block.first); });
      live_out_[b].ForEach([&](size_t reg) { extend(reg, block.last - 1); });
      for (uint32_t pc = block.first; pc < block.last; ++pc) {
        ForEachTouch(function_.code[pc], function_.list, Guarded(function_.code[pc]),
                     [&](Operand operand, Touch) { extend(operand.offset(), pc); });
      }
    }
    return intervals;
  }

 private:
  // What a way through the function tells of predicates: their values, by register.
  using Facts = std::map<uint32_t, bool>;
  // Ways that are looked at for one register; more, and the answer is that it may be.
  static constexpr size_t kMostWays = 4096;

  // Only predicates that guard several instructions can rule ways out.
  void CountGuards() {
    for (const Instruction& in : function_.code) {
      if (Guarded(in) && in.guard.base() == OperandBase::kRegister) ++guards_[in.guard.offset()];
    }
  }

  // Is there a way from the beginning to a read of the register, with no write on it, on which no
  // predicate would have to be true and false? `if (p) x = ...; ... if (p) use(x);` has none.
  bool HasWayToRead(size_t reg) {
    std::set<std::pair<uint32_t, Facts>> seen{{0, {}}};
    std::vector<std::pair<uint32_t, Facts>> open{{0, {}}};
    const auto go = [&](uint32_t block, const Facts& facts) {
      if (seen.emplace(block, facts).second) open.emplace_back(block, facts);
    };
    while (!open.empty()) {
      if (seen.size() > kMostWays) return true;
      auto [block, facts] = std::move(open.back());
      open.pop_back();
      const Way way = FollowBlock(blocks_[block], reg, facts);
      if (way == Way::kReads) return true;
      if (way == Way::kWrites) continue;
      const Instruction& last = function_.code[blocks_[block].last - 1];
      const std::vector<uint32_t>& next = blocks_[block].next;
      if (!LeavesSequence(last.op) || !Guarded(last)) {
        for (const uint32_t other : next) go(other, facts);
        continue;
      }
      const uint32_t guard = last.guard.offset();
      const auto known = facts.find(guard);
      for (size_t i = 0; i < next.size(); ++i) {
        // The first is the way on, where the guard does not hold.
        const bool value = (i > 0) != last.guard_negated;
        if (known != facts.end() && known->second != value) continue;
        Facts then = facts;
        Learn(then, guard, value);
        go(next[i], then);
      }
    }
    return false;
  }

  void Learn(Facts& facts, uint32_t guard, bool value) const {
    if (const auto it = guards_.find(guard); it != guards_.end() && it->second > 1) {
      facts[guard] = value;
    }
  }

  enum class Way : uint8_t { kGoesOn, kReads, kWrites };

  Way FollowBlock(const BasicBlock& block, size_t reg, Facts& facts) const {
    for (uint32_t pc = block.first; pc < block.last; ++pc) {
      const Instruction& in = function_.code[pc];
      bool guarded = Guarded(in);
      if (guarded) {
        const auto known = facts.find(in.guard.offset());
        if (known != facts.end() && known->second == in.guard_negated) continue;
        guarded = known == facts.end();
      }
      bool reads = false;
      bool writes = false;
      const auto is_result = [&](Operand operand) {
        return operand.exists() && (operand == in.d || operand == in.d2);
      };
      ForEachTouch(in, function_.list, false, [&](Operand operand, Touch touch) {
        if (operand.offset() != reg) return;
        if (touch == Touch::kWrite || (touch == Touch::kUpdate && is_result(operand))) {
          writes = true;
        } else {
          reads = true;
        }
      });
      if (reads) return Way::kReads;
      if (writes && !guarded) return Way::kWrites;
      if (writes) Learn(facts, in.guard.offset(), in.guard_negated);
      ForEachTouch(in, function_.list, false, [&](Operand operand, Touch touch) {
        if (touch != Touch::kRead) facts.erase(operand.offset());
      });
    }
    return Way::kGoesOn;
  }

  bool Guarded(const Instruction& in) const { return in.guard != always_ || in.guard_negated; }

  void FindBlocks() {
    const auto size = static_cast<uint32_t>(function_.code.size());
    std::vector<bool> starts(size + 1);
    starts[0] = true;
    for (uint32_t pc = 0; pc < size; ++pc) {
      const Instruction& in = function_.code[pc];
      if (in.op == Op::kBra) starts[in.target] = true;
      if (in.op == Op::kBrxIdx) {
        for (const uint32_t target : function_.branch_targets[in.target]) starts[target] = true;
      }
      if (LeavesSequence(in.op)) starts[pc + 1] = true;
    }
    std::vector<uint32_t> block_of(size + 1);
    for (uint32_t pc = 0; pc < size; ++pc) {
      if (starts[pc]) blocks_.push_back({.first = pc});
      block_of[pc] = static_cast<uint32_t>(blocks_.size() - 1);
      blocks_.back().last = pc + 1;
    }
    for (BasicBlock& block : blocks_) {
      const Instruction& in = function_.code[block.last - 1];
      if ((!LeavesSequence(in.op) || Guarded(in)) && block.last < size)
        block.next.push_back(block_of[block.last]);
      if (in.op == Op::kBra) block.next.push_back(block_of[in.target]);
      if (in.op == Op::kBrxIdx) {
        for (const uint32_t target : function_.branch_targets[in.target]) {
          block.next.push_back(block_of[target]);
        }
      }
    }
  }

  bool Solve() {
    live_in_.assign(blocks_.size(), BitSet(registers_));
    live_out_.assign(blocks_.size(), BitSet(registers_));
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      bool changed = false;
      for (size_t b = blocks_.size(); b-- > 0;) {
        for (const uint32_t next : blocks_[b].next) live_out_[b].Add(live_in_[next]);
        BitSet live = live_out_[b];
        for (uint32_t pc = blocks_[b].last; pc-- > blocks_[b].first;) {
          const Instruction& in = function_.code[pc];
          const bool guarded = Guarded(in);
          const auto writes = [&](Operand operand, Touch touch) {
            return touch == Touch::kWrite ||
                   (results_are_written_ && !guarded && touch == Touch::kUpdate &&
                    (operand == in.d || operand == in.d2));
          };
          ForEachTouch(in, function_.list, guarded, [&](Operand operand, Touch touch) {
            if (writes(operand, touch)) live.Clear(operand.offset());
          });
          ForEachTouch(in, function_.list, guarded, [&](Operand operand, Touch touch) {
            if (!writes(operand, touch)) live.Set(operand.offset());
          });
        }
        changed |= live_in_[b].Add(live);
      }
      if (!changed) return true;
    }
    return false;
  }

  const Function& function_;
  size_t registers_;
  Operand always_;
  bool results_are_written_ = false;
  std::map<uint32_t, int> guards_;  // instructions that each predicate guards
  std::vector<BasicBlock> blocks_;
  std::vector<BitSet> live_in_;
  std::vector<BitSet> live_out_;
};

}  // namespace

void FunctionLowerer::AssignRegisters() {
  Liveness liveness(out_, registers_.size(), PredicateConstant(true));
  const std::vector<Liveness::Interval> intervals = liveness.Intervals();
  out_.may_read_unwritten = liveness.MayReadUnwritten();
  std::vector<uint32_t> order(registers_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(intervals[a].first, a) < std::pair(intervals[b].first, b);
  });
  std::vector<uint32_t> offset(registers_.size(), 0);
  uint32_t end = 0;
  uint32_t words = 0;
  // Widest first keeps every area aligned to its vectors.
  for (const LaneWidth width : {LaneWidth::k16, LaneWidth::k8, LaneWidth::k4, LaneWidth::k2,
                                LaneWidth::k1, LaneWidth::kPredicate}) {
    const uint32_t bytes = width == LaneWidth::kPredicate
                               ? sizeof(uint32_t)
                               : kWarpSize << static_cast<uint32_t>(width);
    RegisterArea area{width, end, end};
    // Places in use, by the end of what they hold: the earliest first.
    using InUse = std::pair<uint32_t, uint32_t>;
    std::vector<InUse> in_use;
    std::vector<uint32_t> free;
    const auto later = std::greater<InUse>();
    for (const uint32_t reg : order) {
      if (registers_[reg] != width || intervals[reg].first > intervals[reg].last) continue;
      // Strictly before: a result never shares the place of a source of the same instruction, so
      // handlers need not care in which order they read and write.
      while (!in_use.empty() && in_use.front().first < intervals[reg].first) {
        free.push_back(in_use.front().second);
        std::pop_heap(in_use.begin(), in_use.end(), later);
        in_use.pop_back();
      }
      if (free.empty()) {
        free.push_back(end);
        end += bytes;
        words += width == LaneWidth::kPredicate ? 0 : std::max(bytes / kWarpSize / 4, 1u);
      }
      offset[reg] = free.back();
      free.pop_back();
      in_use.emplace_back(intervals[reg].last, offset[reg]);
      std::push_heap(in_use.begin(), in_use.end(), later);
    }
    area.last = end;
    end = (end + 63) / 64 * 64;
    if (area.last > area.first) out_.areas.push_back(area);
  }
  out_.register_bytes = end;
  out_.register_words = words;
  const auto place = [&](Operand& operand) {
    if (!operand.exists() || operand.base() != OperandBase::kRegister) return;
    operand = Operand::At(OperandBase::kRegister, operand.width(), offset[operand.offset()]);
  };
  for (Instruction& instruction : out_.code) {
    for (Operand* operand : {&instruction.guard, &instruction.d, &instruction.d2, &instruction.a,
                             &instruction.b, &instruction.c, &instruction.e}) {
      place(*operand);
    }
  }
  for (Operand& operand : out_.list) place(operand);
}

}  // namespace kernelsmith::vgpu
