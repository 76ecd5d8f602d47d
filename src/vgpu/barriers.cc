// bar, barrier: synchronisation of a block's threads by 16 named barriers.
//
// A warp counts once all its lanes that have not exited have arrived, whichever instruction they
// came by; it counts as 32 threads then, as PTX says.

#include <fmt/format.h>

#include <bit>

#include "vgpu/screen.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

enum class Rule { kStrict, kLenient };

bool IsComplete(const Block& block, const BarrierState& barrier, Rule rule) {
  uint32_t threads = 0;
  bool everyone = true;
  for (size_t i = 0; i < block.warps.size(); ++i) {
    const uint32_t live = block.warps[i].live;
    const uint32_t arrived = barrier.arrived[i];
    const bool complete = (live & ~arrived) == 0;
    if (arrived != 0 && (complete || rule == Rule::kLenient)) threads += kWarpSize;
    if (!complete && (arrived == 0 || rule == Rule::kStrict)) everyone = false;
  }
  return barrier.expected == 0 ? everyone : threads >= barrier.expected;
}

// The result of bar.red for one lane whose instruction this is.
void WriteReduction(Warp& w, int lane, const Instruction& in, const BarrierState& barrier) {
  if (!in.d.exists()) return;
  std::byte* registers = w.lane_frame[lane]->registers + in.d.offset();
  if (!in.d.is_predicate()) {
    std::memcpy(registers + lane * sizeof(uint32_t), &barrier.count, sizeof(uint32_t));
    return;
  }
  const bool value = in.bool_op == ptx::BoolOp::kAnd ? barrier.all : barrier.any;
  uint32_t word;
  std::memcpy(&word, registers, sizeof word);
  word = (word & ~(1u << lane)) | static_cast<uint32_t>(value) << lane;
  std::memcpy(registers, &word, sizeof word);
}

void Release(Block& block, uint32_t id) {
  BarrierState& barrier = block.barriers[id];
  for (size_t i = 0; i < block.warps.size(); ++i) {
    Warp& w = block.warps[i];
    for (uint32_t rest = barrier.waiting[i] & w.live; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const Instruction& in = w.lane_frame[lane]->function->code[w.lane_pc[lane]];
      WriteReduction(w, lane, in, barrier);
      ++w.lane_pc[lane];
    }
    w.blocked &= ~barrier.waiting[i];
    w.at_barrier &= ~barrier.waiting[i];
    barrier.waiting[i] = 0;
    barrier.arrived[i] = 0;
  }
  barrier.in_use = false;
  barrier.expected = 0;
  barrier.count = 0;
  barrier.all = true;
  barrier.any = false;
  LaunchState& launch = *block.warps[0].launch;
  launch.progress = true;
  if (launch.observer != nullptr) launch.observer->OnBarrierReleased(block.number, id);
  if (launch.screen != nullptr) launch.screen->OnReleased(block, id);
}

bool ReleaseComplete(Block& block, Rule rule) {
  bool released = false;
  for (uint32_t id = 0; id < kBarriers; ++id) {
    if (block.barriers[id].in_use && IsComplete(block, block.barriers[id], rule)) {
      Release(block, id);
      released = true;
    }
  }
  return released;
}

}  // namespace

uint32_t ArriveAtBarrier(Warp& w, const Instruction& in, uint32_t mask) {
  w.block->barriers_used = true;
  Block& block = *w.block;
  const bool waits = in.variant != static_cast<uint8_t>(BarrierKind::kArrive);
  const uint32_t* ids = w.Lanes<uint32_t>(in.a);
  const uint32_t* counts = in.b.exists() ? w.Lanes<uint32_t>(in.b) : nullptr;
  // Lanes may name different barriers: one group of equal names at a time.
  for (uint32_t rest = mask; rest != 0;) {
    const int first = std::countr_zero(rest);
    const uint32_t id = ids[first];
    const uint32_t count = counts != nullptr ? counts[first] : 0;
    uint32_t lanes = 0;
    for (uint32_t other = rest; other != 0; other &= other - 1) {
      const int lane = std::countr_zero(other);
      if (ids[lane] == id) lanes |= 1u << lane;
    }
    rest &= ~lanes;
    if (id >= kBarriers) {
      w.Fail(FaultKind::kIllegalInstruction, first, 0,
             fmt::format("barrier {} does not exist; there are {}", id, kBarriers));
      return 0;
    }
    if (counts != nullptr && (count == 0 || count % kWarpSize != 0)) {
      w.Fail(FaultKind::kIllegalInstruction, first, 0,
             fmt::format("barrier {} with a thread count of {}, which is not a multiple of 32", id,
                         count));
      return 0;
    }
    BarrierState& barrier = block.barriers[id];
    barrier.arrived.resize(block.warps.size());
    barrier.waiting.resize(block.warps.size());
    if (!barrier.in_use) barrier.expected = count;
    barrier.in_use = true;
    barrier.arrived[w.index] |= lanes;
    if (in.c.exists()) {
      const uint32_t value = w.Predicate(in.c) ^ (in.negate_c ? kFullMask : 0u);
      barrier.count += static_cast<uint32_t>(std::popcount(value & lanes));
      barrier.all = barrier.all && (~value & lanes) == 0;
      barrier.any = barrier.any || (value & lanes) != 0;
    }
    if (w.launch->observer != nullptr) {
      WarpPicture picture(w);
      w.launch->observer->OnBarrier(picture, {.kind = in.d.exists() ? BarrierEvent::Kind::kReduction
                                                      : waits       ? BarrierEvent::Kind::kSync
                                                                    : BarrierEvent::Kind::kArrive,
                                              .barrier = id,
                                              .mask = lanes,
                                              .expected = barrier.expected,
                                              .instruction = &in});
    }
    if (waits) {
      barrier.waiting[w.index] |= lanes;
      w.blocked |= lanes;
      w.at_barrier |= lanes;
      for (uint32_t other = lanes; other != 0; other &= other - 1) {
        w.lane_pc[std::countr_zero(other)] = w.pc;
      }
    }
    if (IsComplete(block, barrier, Rule::kStrict)) Release(block, id);
  }
  return mask & ~w.blocked;
}

void CheckBarriers(Block& block) { ReleaseComplete(block, Rule::kStrict); }

bool CheckBarriersLeniently(Block& block) { return ReleaseComplete(block, Rule::kLenient); }

std::string DescribeWaiting(const Block& block) {
  std::string text;
  for (const Warp& w : block.warps) {
    if (w.live == 0) continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("warp {}:", w.index);
    uint32_t done = 0;
    for (uint32_t rest = w.live; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if ((done >> lane & 1) != 0) continue;
      const Function& function = *w.lane_frame[lane]->function;
      uint32_t same = 0;
      for (uint32_t other = w.live; other != 0; other &= other - 1) {
        const int l = std::countr_zero(other);
        if (w.lane_pc[l] == w.lane_pc[lane] && w.lane_frame[l]->function == &function) {
          same |= 1u << l;
        }
      }
      done |= same;
      const Instruction& in = function.code[w.lane_pc[lane]];
      const SourceLocation where = PtxLocationOf(function, in);
      text += fmt::format(" lanes 0x{:08x} at {}:{} ({})", same, where.file, where.line,
                          TextOf(function, in));
    }
    // A message for people: a few warps tell the story.
    constexpr size_t kLongest = 1500;
    if (text.size() > kLongest) return text + " ...";
  }
  return text;
}

}  // namespace kernelsmith::vgpu
