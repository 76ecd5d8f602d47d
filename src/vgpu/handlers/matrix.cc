// mma, wmma, ldmatrix, stmatrix, movmatrix: see math/matrix.h for the numbers.

#include "vgpu/math/matrix.h"

#include "vgpu/handlers/access.h"
#include "vgpu/handlers/handlers.h"

namespace kernelsmith::vgpu {

namespace {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build

// More than any fragment has: d, a, b and c of m16n16k16 in f32 are 8 + 8 + 8 + 8.
constexpr int kMaxRegisters = 64;

const MatrixInfo& InfoOf(const Warp& w, const Instruction& in) {
  return w.function().matrices[in.target];
}

void CommitRegister(Warp& w, Operand target, const LaneArray<uint64_t>& bits, uint32_t mask) {
  if (target.bytes() == 8) {
    Commit(w.Lanes<uint64_t>(target), bits, mask);
    return;
  }
  LaneArray<uint32_t> r;
  std::memcpy(r.at, bits.at, sizeof r.at);
  Commit(w.Lanes<uint32_t>(target), r, mask);
}

// The list: registers of d, then of a, b and c.
void Mma(Warp& w, const Instruction& in, uint32_t mask) {
  const math::MmaPlan& plan = *InfoOf(w, in).plan;
  const Operand* list = &w.function().list[in.list_first];
  const void* sources[kMaxRegisters];
  const void* const* parts[3];
  const int results = plan.fragment(math::MmaRole::kD).registers;
  int used = 0;
  constexpr math::MmaRole kRoles[] = {math::MmaRole::kA, math::MmaRole::kB, math::MmaRole::kC};
  for (int role = 0; role < 3; ++role) {
    parts[role] = &sources[used];
    const int count = plan.fragment(kRoles[role]).registers;
    for (int i = 0; i < count; ++i, ++used) {
      sources[used] = w.Lanes<std::byte>(list[results + used]);
    }
  }
  void* targets[kMaxRegisters];
  if (mask == kFullMask) {
    for (int i = 0; i < results; ++i) targets[i] = w.Lanes<std::byte>(list[i]);
    plan.Run(parts[0], parts[1], parts[2], targets);
    return;
  }
  // Lanes that do not take part keep their registers.
  LaneArray<uint64_t> scratch[16];
  for (int i = 0; i < results; ++i) targets[i] = scratch[i].at;
  plan.Run(parts[0], parts[1], parts[2], targets);
  for (int i = 0; i < results; ++i) CommitRegister(w, list[i], scratch[i], mask);
}

// Calls `visit(register, element, bit offset in memory for each lane)` for wmma.load and .store.
class WmmaMemory {
 public:
  WmmaMemory(Warp& w, const Instruction& in, uint32_t mask)
      : fragment_(*InfoOf(w, in).fragment), row_major_(InfoOf(w, in).row_major) {
    ComputeAddresses(w, in, base_);
    // The same in all lanes, says PTX; those that do not take part may hold anything.
    const int lane = std::countr_zero(mask);
    stride_ = w.Lanes<uint32_t>(in.b)[lane];
    for (int i = 0; i < kWarpSize; ++i) base_.at[i] = base_.at[lane];
  }

  const math::Fragment& fragment() const { return fragment_; }
  // Bits from the matrix's start to the element of `lane`.
  int64_t BitOffset(int reg, int element, int lane) const {
    const int index = (reg * fragment_.per_register + element) * kWarpSize + lane;
    return math::WmmaBitOffset(fragment_, index, row_major_, stride_);
  }
  uint64_t Address(int64_t bits) const { return base_.at[0] + static_cast<uint64_t>(bits / 8); }

 private:
  const math::Fragment& fragment_;
  bool row_major_;
  int64_t stride_ = 0;
  LaneArray<uint64_t> base_;
};

void WmmaLoad(Warp& w, const Instruction& in, uint32_t mask) {
  const WmmaMemory memory(w, in, mask);
  const math::Fragment& fragment = memory.fragment();
  const Operand* list = &w.function().list[in.list_first];
  const uint32_t bytes = fragment.bits >= 8 ? static_cast<uint32_t>(fragment.bits / 8) : 1;
  for (int reg = 0; reg < fragment.registers; ++reg) {
    LaneArray<uint64_t> value{};
    for (int element = 0; element < fragment.per_register; ++element) {
      LaneArray<uint64_t> address;
      LaneArray<uint64_t> host;
      for (int lane = 0; lane < kWarpSize; ++lane) {
        address.at[lane] = memory.Address(memory.BitOffset(reg, element, lane));
      }
      uint32_t found = mask;
      if (!Translate(w, in, in.space, AccessKind::kLoad, found, bytes, address, host)) {
        if (w.stopped) return;
        continue;
      }
      for (int lane = 0; lane < kWarpSize; ++lane) {
        if ((mask & ~found) >> lane & 1) continue;
        uint64_t bits = 0;
        std::memcpy(&bits, reinterpret_cast<const void*>(host.at[lane]), bytes);
        if (fragment.bits < 8) {
          bits = bits >> (memory.BitOffset(reg, element, lane) % 8) & ((1u << fragment.bits) - 1);
        }
        value.at[lane] |= bits << (element * fragment.bits);
      }
    }
    if (fragment.register_bits == 64) {
      CommitRegister(w, list[reg], value, mask);
    } else {
      LaneArray<uint32_t> r;
      for (int lane = 0; lane < kWarpSize; ++lane)
        r.at[lane] = static_cast<uint32_t>(value.at[lane]);
      Commit(w.Lanes<uint32_t>(list[reg]), r, mask);
    }
  }
}

void WmmaStore(Warp& w, const Instruction& in, uint32_t mask) {
  const WmmaMemory memory(w, in, mask);
  const math::Fragment& fragment = memory.fragment();
  const Operand* list = &w.function().list[in.list_first];
  // Results are f16, f32, f64 or s32: whole bytes. Repeated registers are not stored twice.
  const auto bytes = static_cast<uint32_t>(fragment.bits / 8);
  const int distinct = fragment.distinct > 0 ? fragment.distinct : fragment.registers;
  for (int reg = 0; reg < distinct; ++reg) {
    const std::byte* lanes = w.Lanes<std::byte>(list[reg]);
    for (int element = 0; element < fragment.per_register; ++element) {
      LaneArray<uint64_t> address;
      LaneArray<uint64_t> host;
      for (int lane = 0; lane < kWarpSize; ++lane) {
        address.at[lane] = memory.Address(memory.BitOffset(reg, element, lane));
      }
      uint32_t found = mask;
      if (!Translate(w, in, in.space, AccessKind::kStore, found, bytes, address, host)) {
        if (w.stopped) return;
        continue;
      }
      for (uint32_t rest = found; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        std::memcpy(reinterpret_cast<void*>(host.at[lane]),
                    lanes + lane * fragment.register_bits / 8 + element * fragment.bits / 8, bytes);
      }
    }
  }
}

// As WmmaStore, for a slice.
void MarkFragment(Warp& w, const Instruction& in, uint32_t mask) {
  const WmmaMemory memory(w, in, mask);
  const math::Fragment& fragment = memory.fragment();
  const auto bytes = static_cast<uint32_t>(fragment.bits / 8);
  const int distinct = fragment.distinct > 0 ? fragment.distinct : fragment.registers;
  for (int reg = 0; reg < distinct; ++reg) {
    for (int element = 0; element < fragment.per_register; ++element) {
      LaneArray<uint64_t> address;
      for (int lane = 0; lane < kWarpSize; ++lane) {
        address.at[lane] = memory.Address(memory.BitOffset(reg, element, lane));
      }
      MarkLanes(w, in, mask, bytes, address.at);
      if (w.stopped) return;
    }
  }
}

// Lane i holds the address of row i of the matrices, one after the other.
bool RowAddresses(Warp& w, const Instruction& in, uint32_t& mask, AccessKind kind,
                  LaneArray<uint64_t>& host) {
  constexpr uint32_t kRowBytes = 16;
  const int count = in.list_count;
  const uint32_t used = count == 4 ? kFullMask : (1u << (8 * count)) - 1;
  LaneArray<uint64_t> address;
  ComputeAddresses(w, in, address);
  mask &= used;
  return mask != 0 && Translate(w, in, in.space, kind, mask, kRowBytes, address, host);
}

void Ldmatrix(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> host;
  uint32_t found = mask;
  if (!RowAddresses(w, in, found, AccessKind::kLoad, host)) return;
  const Operand* list = &w.function().list[in.list_first];
  uint16_t rows[kWarpSize][8];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    std::memcpy(rows[lane], reinterpret_cast<const void*>(host.at[lane]), sizeof rows[lane]);
  }
  LaneArray<uint32_t> results[4];
  uint32_t* registers[4] = {results[0].at, results[1].at, results[2].at, results[3].at};
  math::Ldmatrix(rows, in.list_count, InfoOf(w, in).transposed, registers);
  for (int i = 0; i < in.list_count; ++i) Commit(w.Lanes<uint32_t>(list[i]), results[i], mask);
}

void Stmatrix(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> host;
  uint32_t found = mask;
  if (!RowAddresses(w, in, found, AccessKind::kStore, host)) return;
  const Operand* list = &w.function().list[in.list_first];
  uint16_t rows[kWarpSize][8];
  const uint32_t* registers[4] = {};
  for (int i = 0; i < in.list_count; ++i) registers[i] = w.Lanes<uint32_t>(list[i]);
  math::Stmatrix(registers, in.list_count, InfoOf(w, in).transposed, rows);
  for (int lane = 0; lane < 8 * in.list_count; ++lane) {
    if ((found >> lane & 1) == 0) continue;
    std::memcpy(reinterpret_cast<void*>(host.at[lane]), rows[lane], sizeof rows[lane]);
  }
}

void Movmatrix(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint32_t> r;
  math::Movmatrix(w.Lanes<uint32_t>(in.a), r.at);
  Commit(w.Lanes<uint32_t>(in.d), r, mask);
}

}  // namespace

Handler FindMatrixHandler(const Instruction& in) {
  switch (in.op) {
    case Op::kMma:
    case Op::kWmmaMma:
      return Mma;
    case Op::kWmmaLoad:
      return WmmaLoad;
    case Op::kWmmaStore:
      return WmmaStore;
    case Op::kMarkFragment:
      return MarkFragment;
    case Op::kLdmatrix:
      return Ldmatrix;
    case Op::kStmatrix:
      return Stmatrix;
    case Op::kMovmatrix:
      return Movmatrix;
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu
