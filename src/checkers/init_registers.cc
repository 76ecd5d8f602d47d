#include "checkers/init_registers.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checkers/undefined_bits.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::checkers {

using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::Op;
using vgpu::Operand;
using vgpu::OperandBase;
using vgpu::WarpView;

void LoadedBits::Set(int lane, const uint8_t* defined, uint32_t count) {
  if (!any) {
    any = true;
    std::memset(bytes.data(), 0, sizeof bytes);
  }
  for (uint32_t i = 0; i < std::min<size_t>(count, kMostBytes); ++i) {
    bytes[static_cast<size_t>(lane)][i] = static_cast<uint8_t>(~defined[i]);
  }
}

uint64_t LoadedBits::Of(int lane, uint32_t first, uint32_t count) const {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < count && first + i < kMostBytes; ++i) {
    bits |= uint64_t{bytes[static_cast<size_t>(lane)][first + i]} << (8 * i);
  }
  return bits;
}

uint64_t UndefinedOf(WarpView& warp, Operand operand, int lane, int part) {
  if (!operand.exists()) return 0;
  const auto* lanes = static_cast<const std::byte*>(warp.UndefinedLanes(operand));
  if (lanes == nullptr) return 0;
  if (operand.is_predicate()) {
    uint32_t word;
    std::memcpy(&word, lanes, sizeof word);
    return word >> lane & 1;
  }
  uint64_t value = 0;
  const uint32_t bytes = operand.bytes();
  std::memcpy(&value, lanes + static_cast<size_t>(lane) * bytes + static_cast<size_t>(part) * 8,
              std::min<uint32_t>(bytes, 8));
  return value;
}
void SetUndefined(WarpView& warp, Operand operand, int lane, uint64_t bits, int part) {
  if (!operand.exists()) return;
  auto* lanes = static_cast<std::byte*>(warp.UndefinedLanes(operand));
  if (lanes == nullptr) return;
  if (operand.is_predicate()) {
    uint32_t word;
    std::memcpy(&word, lanes, sizeof word);
    word = (word & ~(1u << lane)) | static_cast<uint32_t>(bits & 1) << lane;
    std::memcpy(lanes, &word, sizeof word);
    return;
  }
  const uint32_t bytes = operand.bytes();
  std::memcpy(lanes + static_cast<size_t>(lane) * bytes + static_cast<size_t>(part) * 8, &bits,
              std::min<uint32_t>(bytes, 8));
}

namespace {

void Clear(WarpView& warp, Operand operand, uint32_t mask) {
  if (!operand.exists() || operand.base() != OperandBase::kRegister) return;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    SetUndefined(warp, operand, lane, 0);
    if (operand.bytes() == 16) SetUndefined(warp, operand, lane, 0, 1);
  }
}

void PropagateLoad(WarpView& warp, const Instruction& in, uint32_t mask, const LoadedBits& loaded) {
  const uint32_t count = in.list_count > 0 ? in.list_count : 1;
  const uint32_t bytes = in.bytes;
  const bool sign = ptx::KindOf(in.type) == ptx::TypeKind::kSigned;
  for (uint32_t k = 0; k < count; ++k) {
    const Operand target = in.list_count > 0 ? warp.function().list[in.list_first + k] : in.d;
    if (!target.exists()) continue;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      uint64_t bits = loaded.any ? loaded.Of(lane, k * bytes, std::min(bytes, 8u)) : 0;
      if (sign && bytes < 8 && (bits >> (8 * bytes - 1) & 1) != 0)
        bits |= ~uint64_t{0} << (8 * bytes);
      SetUndefined(warp, target, lane, bits);
      if (target.bytes() == 16) {
        SetUndefined(warp, target, lane, loaded.any ? loaded.Of(lane, k * bytes + 8, 8) : 0, 1);
      }
    }
  }
}

void PropagatePacking(WarpView& warp, const Instruction& in, uint32_t mask) {
  const bool pack = in.op == Op::kPack;
  const Operand whole = pack ? in.d : in.a;
  const uint32_t count = in.list_count;
  if (count == 0 || !whole.exists()) return;
  const uint32_t width = whole.bytes() * 8 / count;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::array<uint64_t, 2> bits{};
    if (!pack) {
      bits = {UndefinedOf(warp, whole, lane, 0),
              whole.bytes() == 16 ? UndefinedOf(warp, whole, lane, 1) : 0};
    }
    for (uint32_t k = 0; k < count; ++k) {
      const Operand part = warp.function().list[in.list_first + k];
      const uint32_t at = k * width;
      const uint64_t ones = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      if (pack) {
        bits[at / 64] |= (UndefinedOf(warp, part, lane) & ones) << (at % 64);
      } else {
        SetUndefined(warp, part, lane, bits[at / 64] >> (at % 64) & ones);
      }
    }
    if (pack) {
      SetUndefined(warp, whole, lane, bits[0]);
      if (whole.bytes() == 16) SetUndefined(warp, whole, lane, bits[1], 1);
    }
  }
}

void PropagateShuffle(WarpView& warp, const Instruction& in, uint32_t mask) {
  std::array<uint64_t, kWarpSize> bits{};
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const int from = ShuffleSource(static_cast<vgpu::ShuffleMode>(in.variant), lane,
                                   static_cast<uint32_t>(warp.ReadOperand(in.b, lane)),
                                   static_cast<uint32_t>(warp.ReadOperand(in.c, lane)));
    // An inactive source is another checker's business.
    const int source = (mask >> from & 1) != 0 ? from : lane;
    bits[static_cast<size_t>(lane)] = UndefinedOf(warp, in.a, source);
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    SetUndefined(warp, in.d, lane, bits[static_cast<size_t>(lane)]);
    SetUndefined(warp, in.d2, lane, 0);
  }
}

}  // namespace

void PropagateUndefined(WarpView& warp, const Instruction& in, uint32_t mask,
                        const LoadedBits& loaded) {
  switch (in.op) {
    case Op::kLoad:
      PropagateLoad(warp, in, mask, loaded);
      return;
    case Op::kAtom:
      for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        SetUndefined(warp, in.d, lane, loaded.any ? loaded.Of(lane, 0, 8) : 0);
      }
      return;
    case Op::kPack:
    case Op::kUnpack:
      PropagatePacking(warp, in, mask);
      return;
    case Op::kShfl:
      PropagateShuffle(warp, in, mask);
      return;
    default:
      break;
  }
  if (CombinesLanes(in.op)) {
    uint64_t any = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      any |= UndefinedOf(warp, in.a, std::countr_zero(rest));
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      SetUndefined(warp, in.d, lane, any != 0 ? ~uint64_t{0} : 0);
      SetUndefined(warp, in.d2, lane, any != 0 ? ~uint64_t{0} : 0);
    }
    return;
  }
  if (vgpu::FactsOf(in.op).list != vgpu::ListUse::kSources) {
    // Matrix instructions: what of a fragment depends on what is not followed.
    for (uint32_t k = 0; k < in.list_count; ++k) {
      Clear(warp, warp.function().list[in.list_first + k], mask);
    }
  }
  if (!in.d.exists() && !in.d2.exists()) return;
  const bool guarded = in.guard.base() == OperandBase::kRegister;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto operand = [&](Operand o) {
      return Shadowed{warp.ReadOperand(o, lane), UndefinedOf(warp, o, lane)};
    };
    const Shadowed a = operand(in.a);
    const Shadowed b = operand(in.b);
    const Shadowed c = operand(in.c);
    const Shadowed e = operand(in.e);
    const int bits = !in.d.exists() || in.d.is_predicate() ? 1 : static_cast<int>(in.d.bytes()) * 8;
    uint64_t undefined = UndefinedResult(in, a, b, c, e, std::min(bits, 64));
    if (guarded && UndefinedOf(warp, in.guard, lane) != 0) undefined = ~uint64_t{0};
    SetUndefined(warp, in.d, lane, undefined);
    if (bits == 128) SetUndefined(warp, in.d, lane, UndefinedOf(warp, in.a, lane, 1), 1);
    const uint64_t any = a.undefined | b.undefined | c.undefined | e.undefined;
    SetUndefined(warp, in.d2, lane, any != 0 ? ~uint64_t{0} : 0);
  }
}

}  // namespace kernelsmith::checkers
