#include "checkers/environment_registers.h"

#include <bit>
#include <iterator>

#include "vgpu/environment.h"

namespace kernelsmith::checkers {

RegisterSlots::RegisterSlots(const vgpu::Function& function)
    : slots_(function.register_bytes / 4 + 1) {
  for (const vgpu::RegisterArea& area : function.areas) {
    const uint32_t bytes = area.width == vgpu::LaneWidth::kPredicate
                               ? static_cast<uint32_t>(sizeof(uint32_t))
                               : static_cast<uint32_t>(vgpu::kWarpSize)
                                     << static_cast<uint32_t>(area.width);
    for (uint32_t at = area.first; at < area.last; at += bytes) slots_[at / 4] = count_++;
  }
  has_symbol_.resize(function.locations.size());
  for (const vgpu::Instruction& in : function.code) {
    if (in.location < has_symbol_.size() && !SymbolsOf(function, in).empty()) {
      has_symbol_[in.location] = true;
    }
  }
}

LabelledFrame::LabelledFrame(const RegisterSlots& slots, uint32_t depth)
    : depth(depth), slots_(slots), registers_(slots.count() + 1) {}

void LabelledFrame::Set(vgpu::Operand operand, int lane, Label label) {
  Register& r = registers_[slots_.At(operand)];
  const uint32_t bit = 1u << lane;
  if (label == kSameEverywhere) {
    r.lanes &= ~bit;
    return;
  }
  r.lanes |= bit;
  r.labels[static_cast<size_t>(lane)] = label;
}

void LabelledFrame::TakeLane(const LabelledFrame& from, int lane) {
  const uint32_t bit = 1u << lane;
  for (size_t i = 0; i < registers_.size() && i < from.registers_.size(); ++i) {
    registers_[i].lanes = (registers_[i].lanes & ~bit) | (from.registers_[i].lanes & bit);
    registers_[i].labels[static_cast<size_t>(lane)] =
        from.registers_[i].labels[static_cast<size_t>(lane)];
  }
}

// Lanes that called the function apart go on in one frame, with their registers.
void LabelledWarp::Meet(LabelledFrame& in, uint32_t lanes) {
  for (auto& [id, other] : frames) {
    if (&other == &in || other.depth != in.depth) continue;
    for (uint32_t rest = other.lanes & lanes; rest != 0; rest &= rest - 1) {
      in.TakeLane(other, std::countr_zero(rest));
    }
    other.lanes &= ~lanes;
  }
  in.lanes |= lanes;
}

LabelledFrame& LabelledWarp::Current(const vgpu::WarpView& warp, SlotsOfFunctions& slots) {
  const uint64_t id = warp.frame_id();
  const uint32_t depth = warp.call_depth();
  const uint32_t lanes = warp.active_lanes();
  const auto known = frames.find(id);
  if (known != frames.end()) {
    if ((lanes & ~known->second.lanes) != 0) Meet(known->second, lanes & ~known->second.lanes);
    return known->second;
  }
  // Lanes that are in a new frame have left all others of its depth and below.
  for (auto it = frames.begin(); it != frames.end();) {
    if (it->second.depth >= depth) it->second.lanes &= ~lanes;
    it = it->second.lanes == 0 ? frames.erase(it) : std::next(it);
  }
  const vgpu::Function& function = warp.function();
  const RegisterSlots& its = slots.try_emplace(&function, function).first->second;
  LabelledFrame& made = frames.try_emplace(id, its, depth).first->second;
  made.lanes = lanes;
  return made;
}

}  // namespace kernelsmith::checkers
