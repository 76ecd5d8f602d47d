// Which lanes of a warp run next, and the instructions that change that.
//
// Every lane has its own pc and call frame. Lanes with the same pc in the same function run
// together. Of all groups the deepest in calls runs first, then the one with the lowest pc (thread
// frontiers): as PTX comes in an order in which joins lie behind what they join, lanes meet again
// as early as possible. That order alone would starve a lane that holds a lock the others spin on,
// so a group that only spins is deferred until every other group of the warp has had its turn.

#include <algorithm>
#include <bit>
#include <utility>

#include "vgpu/coverage_map.h"
#include "vgpu/op_facts.h"
#include "vgpu/turn_order.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

constexpr uint32_t kNoPc = 0xffffffff;
// Iterations of a waiting loop that saw nothing new before its lanes give way. A few, so that a
// value written by a lane of the same group in the last iteration is still seen at once.
constexpr uint32_t kSpinsBeforeYield = 4;
// Back edges before a group gives way whatever it does: long enough that switching costs nothing,
// short enough that plain (not volatile) waiting loops get along.
constexpr uint32_t kBackEdgesPerTurn = 1 << 14;

enum class Step : uint8_t { kContinue, kReselect, kYield, kFault };

void StorePcs(Warp& w, uint32_t lanes, uint32_t pc) {
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) w.lane_pc[std::countr_zero(rest)] = pc;
}

void Activate(Warp& w, Frame* frame, uint32_t pc, uint32_t lanes) {
  w.frame = frame;
  w.pc = pc;
  w.active = lanes;
  w.base[static_cast<size_t>(OperandBase::kRegister)] = frame->registers;
  w.base[static_cast<size_t>(OperandBase::kConstant)] =
      const_cast<std::byte*>(frame->function->ConstantData());
}

// Lanes of `from` at `pc` of the same function at the same call depth as `frame`.
uint32_t LanesAt(const Warp& w, uint32_t from, const Frame& frame, uint32_t pc) {
  uint32_t lanes = 0;
  for (uint32_t rest = from; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Frame& other = *w.lane_frame[lane];
    if (w.lane_pc[lane] == pc && other.function == frame.function && other.depth == frame.depth) {
      lanes |= 1u << lane;
    }
  }
  return lanes;
}

// Chooses the next group and makes it the active one. False: no lane can run.
bool Select(Warp& w) {
  const uint32_t ready = w.live & ~w.blocked & ~w.deferred;
  if (ready == 0) return false;
  Frame* frame = nullptr;
  uint32_t pc = kNoPc;
  for (uint32_t rest = ready; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Frame* candidate = w.lane_frame[lane];
    if (frame == nullptr || candidate->depth > frame->depth ||
        (candidate->depth == frame->depth && w.lane_pc[lane] < pc)) {
      frame = candidate;
      pc = w.lane_pc[lane];
    }
  }
  const uint32_t group = LanesAt(w, w.live & ~w.at_barrier, *frame, pc);
  w.blocked &= ~group;
  w.deferred &= ~group;
  MergeFrames(w, frame, group);
  w.merge_pc = kNoPc;
  for (uint32_t rest = ready & ~group; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Frame& other = *w.lane_frame[lane];
    if (other.depth == frame->depth && other.function == frame->function) {
      w.merge_pc = std::min(w.merge_pc, w.lane_pc[lane]);
    }
  }
  Activate(w, frame, pc, group);
  return true;
}

// What neither ends a loop nor shows outside of it. Plain loads are among them: whoever writes
// there meanwhile is in a race.
bool ChangesRegistersOnly(const Instruction& in) {
  return !in.waits && !in.is_volatile && !HasEffect(in.op);
}

// `lanes` go round from `last` to `first` and have done nothing else for a whole turn: any way out
// of the loop and back would have taken another backward branch. With the registers of the end of
// the turn before, and nothing but registers changed, they will do so for ever.
void LookForEndlessLoop(Warp& w, uint32_t first, uint32_t last, uint32_t lanes) {
  const Function& function = *w.frame->function;
  for (uint32_t pc = first; pc <= last; ++pc) {
    if (!ChangesRegistersOnly(function.code[pc])) return;
  }
  const std::byte* registers = w.frame->registers;
  Warp::LoopState& known = w.long_loop;
  if (known.frame == w.frame && known.lanes == lanes &&
      known.registers.size() == function.register_bytes &&
      std::equal(known.registers.begin(), known.registers.end(), registers)) {
    w.pc = last;
    w.Fail(FaultKind::kEndlessLoop, std::countr_zero(lanes), 0,
           "endless loop: it goes round and changes nothing any more");
    return;
  }
  known = {w.frame, first, last, lanes, {registers, registers + function.register_bytes}};
}

// Bookkeeping of a branch of `lanes` back from `last` to `first`. True: the group should give way.
bool BackEdge(Warp& w, uint32_t first, uint32_t last, uint32_t lanes) {
  ++w.back_edges;
  w.block->back_edges += static_cast<uint64_t>(std::popcount(lanes));
  if (first != w.long_loop.first || last != w.long_loop.last)
    w.long_loop = {w.frame, first, last, 0, {}};
  if (w.waited) {
    w.same_waits = w.wait_hash == w.last_wait_hash ? w.same_waits + 1 : 0;
    // It got something new twice: a loop with atomics, in which others may well come in between.
    if (Interleaves(w.launch->request.schedule) && w.same_waits == 0 && w.last_wait_hash != 0) {
      w.back_edges = kBackEdgesPerTurn;
    }
    w.last_wait_hash = w.wait_hash;
    w.wait_hash = 0;
    w.waited = false;
    if (w.same_waits >= kSpinsBeforeYield) return true;
  }
  if (w.back_edges < kBackEdgesPerTurn) return false;
  LookForEndlessLoop(w, first, last, lanes);
  return true;
}

Step GiveWay(Warp& w) {
  w.deferred |= w.active;
  w.same_waits = 0;
  w.last_wait_hash = 0;
  return Step::kReselect;
}

bool AtEntry(const Warp& w) {
  return w.entries != nullptr && w.active == kFullMask && w.frame->depth == 0 &&
         w.entries[w.pc] >= 0;
}

Step Jump(Warp& w, uint32_t target) {
  const uint32_t from = w.pc;
  w.pc = target;
  if (target <= from && BackEdge(w, target, from, w.active)) {
    StorePcs(w, w.active, w.pc);
    return GiveWay(w);
  }
  if (target < w.merge_pc && !AtEntry(w)) return Step::kContinue;
  StorePcs(w, w.active, w.pc);
  return Step::kReselect;
}

Step Branch(Warp& w, const Instruction& in, uint32_t taken) {
  if (taken == w.active) return Jump(w, in.target);
  const bool back = in.target <= w.pc;
  StorePcs(w, w.active & ~taken, w.pc + 1);
  StorePcs(w, taken, in.target);
  if (back && BackEdge(w, in.target, w.pc, taken)) {
    w.deferred |= taken;
    w.same_waits = 0;
    w.last_wait_hash = 0;
  }
  return Step::kReselect;
}

Step BranchIndexed(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& targets = w.function().branch_targets[in.target];
  const uint32_t* index = w.Lanes<uint32_t>(in.a);
  StorePcs(w, w.active & ~mask, w.pc + 1);
  uint32_t back = 0;  // lanes
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (index[lane] >= targets.size()) {
      w.Fail(FaultKind::kIllegalInstruction, lane, 0,
             "brx.idx with index " + std::to_string(index[lane]) + " of " +
                 std::to_string(targets.size()) + " targets");
      return Step::kFault;
    }
    w.lane_pc[lane] = targets[index[lane]];
    if (w.lane_pc[lane] <= w.pc) back |= 1u << lane;
  }
  if (back != 0 && BackEdge(w, 0, w.pc, back)) return GiveWay(w);
  return Step::kReselect;
}

Step Call(Warp& w, const Instruction& in, uint32_t mask) {
  const Function& function = w.function();
  const CallSite& site = function.calls[in.target];
  if (site.system != 0) {
    RunSystemCall(w, site, mask);
    if (w.stopped) return Step::kFault;
    ++w.pc;
    if (w.pc != w.merge_pc) return Step::kContinue;
    StorePcs(w, w.active, w.pc);
    return Step::kReselect;
  }
  StorePcs(w, w.active, w.pc + 1);
  if (site.callee != nullptr) {
    PushFrame(w, *site.callee, mask, &site);
    return w.stopped ? Step::kFault : Step::kReselect;
  }
  const uint64_t* target = w.Lanes<uint64_t>(in.a);
  for (uint32_t rest = mask; rest != 0;) {
    const int lane = std::countr_zero(rest);
    uint32_t same = 0;
    for (uint32_t other = rest; other != 0; other &= other - 1) {
      const int l = std::countr_zero(other);
      if (target[l] == target[lane]) same |= 1u << l;
    }
    rest &= ~same;
    const auto callee = w.launch->kernel->by_address.find(target[lane]);
    if (callee == w.launch->kernel->by_address.end()) {
      const auto why = w.launch->kernel->unsupported.find(target[lane]);
      w.Fail(FaultKind::kIllegalInstruction, lane, target[lane],
             why != w.launch->kernel->unsupported.end()
                 ? "indirect call of a function that cannot run: " + why->second
                 : "indirect call of an address that is no function");
      return Step::kFault;
    }
    PushFrame(w, *callee->second, same, &site);
    if (w.stopped) return Step::kFault;
  }
  return Step::kReselect;
}

Step Exit(Warp& w, uint32_t mask) {
  StorePcs(w, w.active & ~mask, w.pc + 1);
  if (w.launch->observer != nullptr) {
    WarpPicture picture(w);
    w.launch->observer->OnExit(picture, mask);
  }
  w.live &= ~mask;
  w.deferred &= ~mask;
  DropFrames(w, mask);
  CheckBarriers(*w.block);
  return Step::kReselect;
}

// Tells the observer which lanes a bar.warp.sync orders: those with equal masks.
void TellWarpBarrier(Warp& w, const uint32_t* members, uint32_t lanes) {
  WarpPicture picture(w);
  for (uint32_t rest = lanes; rest != 0;) {
    const int first = std::countr_zero(rest);
    uint32_t same = 0;
    for (uint32_t other = rest; other != 0; other &= other - 1) {
      const int lane = std::countr_zero(other);
      if (members[lane] == members[first]) same |= 1u << lane;
    }
    rest &= ~same;
    w.launch->observer->OnWarpBarrier(picture, same);
  }
}

Step Synchronise(Warp& w, const Instruction& in, uint32_t mask) {
  // Lanes that wait here already, perhaps from a turn before.
  const uint32_t waiting = LanesAt(w, w.blocked & ~w.at_barrier, *w.frame, w.pc);
  if (waiting != 0) {
    MergeFrames(w, w.frame, waiting);
    w.blocked &= ~waiting;
    w.active |= waiting;
    // Only lanes whose guard held wait here.
    mask |= waiting;
  }
  const uint32_t* members = w.Lanes<uint32_t>(in.e);
  uint32_t now = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if ((members[lane] & w.live & ~mask) == 0) now |= 1u << lane;
  }
  now |= mask & w.forced;
  w.forced &= ~mask;
  const uint32_t wait = mask & ~now;
  if (now != 0) {
    if (w.launch->observer != nullptr) {
      WarpPicture picture(w);
      w.launch->observer->OnWarpSync(picture, in, now);
      if (in.op == Op::kBarWarpSync) TellWarpBarrier(w, members, now);
    }
    in.handler(w, in, now);
    if (w.stopped) return Step::kFault;
    if (w.launch->Wants(interest::kInstructions) || w.tracked) {
      WarpPicture picture(w);
      w.launch->observer->AfterInstruction(picture, in, now);
    }
  }
  if (w.launch->coverage_map != nullptr) {
    CoverEdge(w, w.function(), w.pc, w.pc + 1, w.active & ~wait);
  }
  if (wait == 0) {
    ++w.pc;
    if (w.pc != w.merge_pc) return Step::kContinue;
    StorePcs(w, w.active, w.pc);
    return Step::kReselect;
  }
  StorePcs(w, w.active & ~wait, w.pc + 1);
  StorePcs(w, wait, w.pc);
  for (uint32_t rest = wait; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    w.member_mask[lane] = members[lane];
  }
  w.blocked |= wait;
  return Step::kReselect;
}

Step Control(Warp& w, const Instruction& in, uint32_t mask) {
  switch (in.op) {
    case Op::kBra:
      return Branch(w, in, mask);
    case Op::kBrxIdx:
      return BranchIndexed(w, in, mask);
    case Op::kCall:
      return Call(w, in, mask);
    case Op::kRet:
      if (w.frame->depth > 0) {
        StorePcs(w, w.active & ~mask, w.pc + 1);
        ReturnFrom(w, mask);
        return Step::kReselect;
      }
      return Exit(w, mask);
    case Op::kExit:
      return Exit(w, mask);
    case Op::kTrap:
      w.Fail(FaultKind::kTrap, std::countr_zero(mask), 0, "trap");
      return Step::kFault;
    case Op::kBarrier: {
      StorePcs(w, w.active, w.pc + 1);
      const uint32_t on = ArriveAtBarrier(w, in, mask);
      if (w.stopped) return Step::kFault;
      // The warp that comes last does not run ahead of the others: behind a barrier warps take
      // their turns in order again.
      const bool waits = in.variant != static_cast<uint8_t>(BarrierKind::kArrive);
      return waits && on != 0 && w.block->warps.size() > 1 ? Step::kYield : Step::kReselect;
    }
    default:
      return Synchronise(w, in, mask);
  }
}

template <bool kObserved, bool kCovered>
WarpOutcome Run(Warp& w) {
  w.back_edges = 0;
  w.same_waits = 0;
  w.last_wait_hash = 0;
  while (true) {
    if (w.stopped) return WarpOutcome::kFault;
    if (!Select(w)) {
      if (w.live == 0) return WarpOutcome::kDone;
      if (w.deferred != 0) {
        w.deferred = 0;
        return w.back_edges >= kBackEdgesPerTurn ? WarpOutcome::kQuantum : WarpOutcome::kSpinning;
      }
      if (ReleaseWarpSync(w, false)) continue;
      return WarpOutcome::kWaiting;
    }
    if (!std::exchange(w.skip_entry, false) && AtEntry(w)) return WarpOutcome::kEntry;
    const Instruction* code = w.frame->function->code.data();
    uint64_t warp_instructions = 0;
    uint64_t lane_instructions = 0;
    bool yields = false;
    for (Step step = Step::kContinue; step == Step::kContinue;) {
      const Instruction& in = code[w.pc];
      const uint32_t mask =
          w.active & (w.Predicate(in.guard) ^ (in.guard_negated ? kFullMask : 0u));
      ++warp_instructions;
      lane_instructions += static_cast<uint32_t>(std::popcount(mask));
      if constexpr (kCovered) CoverInstruction(w, in, mask);
      if (mask == 0) {
        if (kObserved && w.tracked) {
          WarpPicture picture(w);
          w.launch->observer->BeforeInstruction(picture, in, 0);
        }
        if (++w.pc == w.merge_pc) {
          StorePcs(w, w.active, w.pc);
          step = Step::kReselect;
        }
        continue;
      }
      if (kObserved && (w.launch->Wants(interest::kInstructions) || w.tracked)) {
        WarpPicture picture(w);
        w.launch->observer->BeforeInstruction(picture, in, mask);
      }
      if (in.control) {
        step = Control(w, in, mask);
        yields = step == Step::kYield;
        continue;
      }
      in.handler(w, in, mask);
      if constexpr (kObserved) {
        // The instruction itself may have made the warp a tracked one.
        if (w.launch->Wants(interest::kInstructions) || w.tracked) {
          WarpPicture picture(w);
          w.launch->observer->AfterInstruction(picture, in, mask);
        }
        if (in.index && w.launch->Wants(interest::kIndexArithmetic)) {
          WarpPicture picture(w);
          w.launch->observer->OnIndexArithmetic(picture, in, mask);
        }
      }
      w.waited |= in.waits;
      if (w.stopped) {
        step = Step::kFault;
      } else if (++w.pc == w.merge_pc) {
        StorePcs(w, w.active, w.pc);
        step = Step::kReselect;
      }
    }
    w.warp_instructions += warp_instructions;
    w.lane_instructions += lane_instructions;
    if (yields) return WarpOutcome::kWaiting;
  }
}

}  // namespace

bool ReleaseWarpSync(Warp& w, bool force) {
  const uint32_t waiting = w.blocked & ~w.at_barrier;
  if (waiting == 0) return false;
  uint32_t at_warp_barrier = 0;
  for (uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Frame& frame = *w.lane_frame[lane];
    const uint32_t group = LanesAt(w, waiting, frame, w.lane_pc[lane]);
    if ((w.member_mask[lane] & w.live & ~group) == 0) {
      w.blocked &= ~group;
      return true;
    }
    if (frame.function->code[w.lane_pc[lane]].op == Op::kBarWarpSync) at_warp_barrier |= 1u << lane;
  }
  // bar.warp.sync need not be the same instruction for all lanes.
  uint32_t released = 0;
  for (uint32_t rest = at_warp_barrier; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if ((w.member_mask[lane] & w.live & ~at_warp_barrier) == 0) released |= 1u << lane;
  }
  if (released != 0) {
    if (w.launch->observer != nullptr) {
      TellWarpBarrier(w, w.member_mask.data(), released);
    }
    w.blocked &= ~released;
    for (uint32_t rest = released; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(rest));
      if (w.launch->coverage_map != nullptr) {
        CoverEdge(w, *w.lane_frame[lane]->function, w.lane_pc[lane], w.lane_pc[lane] + 1,
                  1u << lane);
      }
      ++w.lane_pc[lane];
    }
    return true;
  }
  if (w.at_barrier != 0 && !force) return false;
  // The lanes named in the mask wait elsewhere and never come: undefined in PTX. GPUs go on with
  // those that are there.
  const int lane = std::countr_zero(waiting);
  const uint32_t group = LanesAt(w, waiting, *w.lane_frame[lane], w.lane_pc[lane]);
  w.blocked &= ~group;
  w.forced |= group;
  return true;
}

WarpOutcome RunWarp(Warp& warp) {
  const bool observed = warp.launch->observer != nullptr;
  if (warp.launch->coverage_map != nullptr) {
    return observed ? Run<true, true>(warp) : Run<false, true>(warp);
  }
  return observed ? Run<true, false>(warp) : Run<false, false>(warp);
}

}  // namespace kernelsmith::vgpu
