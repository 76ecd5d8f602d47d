// The labels (environment_labels.h) of the registers of all warps that run, and of memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "checkers/environment_labels.h"
#include "vgpu/observer.h"

namespace kernelsmith::checkers {

// What is asked of a function again and again: the number of each register, by its offset in the
// frame, and which instructions have the address of a variable or function as an operand.
class RegisterSlots {
 public:
  explicit RegisterSlots(const vgpu::Function& function);
  uint32_t At(vgpu::Operand operand) const { return slots_[operand.offset() / 4]; }
  uint32_t count() const { return count_; }
  bool HasSymbol(const vgpu::Instruction& in) const {
    return in.location < has_symbol_.size() && has_symbol_[in.location];
  }

 private:
  std::vector<uint32_t> slots_;  // by offset / 4
  uint32_t count_ = 0;
  std::vector<bool> has_symbol_;  // by location
};
using SlotsOfFunctions = std::map<const vgpu::Function*, RegisterSlots>;

// The registers of one frame of a warp.
class LabelledFrame {
 public:
  LabelledFrame(const RegisterSlots& slots, uint32_t depth);

  Label Get(vgpu::Operand operand, int lane) const {
    const Register& r = registers_[slots_.At(operand)];
    return (r.lanes >> lane & 1) != 0 ? r.labels[static_cast<size_t>(lane)] : kSameEverywhere;
  }
  void Set(vgpu::Operand operand, int lane, Label label);
  bool HasSymbol(const vgpu::Instruction& in) const { return slots_.HasSymbol(in); }
  // Lanes of which something in this register may vary.
  uint32_t Lanes(vgpu::Operand operand) const { return registers_[slots_.At(operand)].lanes; }
  void TakeLane(const LabelledFrame& from, int lane);

  const uint32_t depth;
  uint32_t lanes = 0;  // that may still be in it

 private:
  struct Register {
    uint32_t lanes = 0;
    std::array<Label, vgpu::kWarpSize> labels;  // of those lanes
  };
  const RegisterSlots& slots_;
  std::vector<Register> registers_;
};

class LabelledWarp {
 public:
  std::map<uint64_t, LabelledFrame> frames;   // by id
  std::unordered_map<uint64_t, Label> local;  // by lane and word
  static uint64_t LocalKey(int lane, uint64_t word) {
    return static_cast<uint64_t>(lane) << 40 | word;
  }

  // The frame that the active lanes are in.
  LabelledFrame& Current(const vgpu::WarpView& warp, SlotsOfFunctions& slots);

 private:
  void Meet(LabelledFrame& in, uint32_t lanes);
};

// A word of global memory that may differ elsewhere.
struct LabelledWord {
  Label label = kSameEverywhere;
  uint32_t place = 0;  // who stored it
};

}  // namespace kernelsmith::checkers
