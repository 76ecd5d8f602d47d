// From the address operands of a memory instruction to host addresses.
#pragma once

#include <bit>

#include "vgpu/handlers/lanes.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

// Checks and translates lane by lane. On the first bad one the launch fails and false comes back,
// unless an observer hears of it and lets the others go on: then `mask` is left with those.
// Also the way for warps whose lanes touch several allocations or spaces.
bool TranslateLanes(Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                    uint32_t& mask, uint32_t bytes, const uint64_t* address, uint64_t* host);
// Host address of [address, address + bytes), which one lane accesses in pieces of `unit` bytes (a
// power of two, the alignment). 0: nothing to do, as with Translate.
uint64_t TranslateRange(Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                        int lane, uint64_t address, uint32_t bytes, uint32_t unit);
// Tells the observer; false: skip the access.
bool ObserveAccess(Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                   uint32_t mask, uint32_t bytes, const uint64_t* address);
// Of a slice: the lanes of `mask` would store `bytes` at these addresses.
void MarkLanes(Warp& w, const Instruction& in, uint32_t mask, uint32_t bytes,
               const uint64_t* address);

namespace KS_MATH_ISA {

// The lanes' addresses in the instruction's space.
inline void ComputeAddresses(const Warp& w, const Instruction& in, LaneArray<uint64_t>& address) {
  const auto offset = static_cast<uint64_t>(in.offset);
  switch (in.address) {
    case AddressBase::kAbsolute:
      for (int i = 0; i < kWarpSize; ++i) address.at[i] = offset;
      return;
    case AddressBase::kRegister32: {
      // 32-bit addresses wrap at 32 bits.
      const uint32_t* a = w.Lanes<uint32_t>(in.a);
      for (int i = 0; i < kWarpSize; ++i) {
        address.at[i] = static_cast<uint32_t>(a[i] + static_cast<uint32_t>(offset));
      }
      return;
    }
    case AddressBase::kRegister64: {
      const uint64_t* a = w.Lanes<uint64_t>(in.a);
      for (int i = 0; i < kWarpSize; ++i) address.at[i] = a[i] + offset;
      return;
    }
    case AddressBase::kFrame:
      for (int i = 0; i < kWarpSize; ++i) address.at[i] = w.frame->local_base[i] + offset;
      return;
    case AddressBase::kParameters:
      for (int i = 0; i < kWarpSize; ++i) address.at[i] = w.launch->parameters + offset;
      return;
  }
}

// Host addresses of the lanes of `mask`, for accesses of `bytes` (whole vector) aligned to
// `alignment`. Lanes outside the mask get the address of one inside, so that vector code may read
// there. False: nothing to do (the launch failed, or an observer skips the access). `mask` loses
// the lanes that an observer leaves out.
inline bool Translate(Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                      uint32_t& mask, uint32_t bytes, LaneArray<uint64_t>& address,
                      LaneArray<uint64_t>& host) {
  if (mask != kFullMask) {
    const uint64_t first = address.at[std::countr_zero(mask)];
    for (int i = 0; i < kWarpSize; ++i) {
      address.at[i] = (mask >> i & 1) != 0 ? address.at[i] : first;
    }
  }
  if (w.launch->Wants(interest::kAccesses) &&
      !ObserveAccess(w, in, space, kind, mask, bytes, address.at)) {
    return false;
  }
  const bool write = kind != AccessKind::kLoad;
  uint64_t low = ~uint64_t{0};
  uint64_t high = 0;
  uint64_t bits = 0;
  for (int i = 0; i < kWarpSize; ++i) {
    const uint64_t a = address.at[i];
    low = a < low ? a : low;
    high = a > high ? a : high;
    bits |= a;
  }
  const bool aligned = (bits & (bytes - 1)) == 0;
  uint64_t delta = 0;
  if (!aligned) {
    return TranslateLanes(w, in, space, kind, mask, bytes, address.at, host.at);
  }
  if (space == MemorySpace::kShared) {
    if (high >= w.block->shared_bytes || w.block->shared_bytes - high < bytes) {
      return TranslateLanes(w, in, space, kind, mask, bytes, address.at, host.at);
    }
    delta = reinterpret_cast<uint64_t>(w.block->shared);
  } else if (space == MemorySpace::kLocal) {
    if (high >= w.local_stride || w.local_stride - high < bytes ||
        w.launch->Wants(interest::kBadAccesses)) {
      return TranslateLanes(w, in, space, kind, mask, bytes, address.at, host.at);
    }
    const auto local = reinterpret_cast<uint64_t>(w.local);
    for (int i = 0; i < kWarpSize; ++i) {
      host.at[i] = local + static_cast<uint64_t>(i) * w.local_stride + address.at[i];
    }
    return true;
  } else {
    if (low < w.window.low || high >= w.window.high || w.window.high - high < bytes) {
      const uint64_t shared = w.launch->shared_window;
      if (space == MemorySpace::kGeneric && low >= shared &&
          high - shared < w.block->shared_bytes &&
          w.block->shared_bytes - (high - shared) >= bytes) {
        delta = reinterpret_cast<uint64_t>(w.block->shared) - shared;
      } else if (w.FindWindow(low, high - low + bytes)) {
        delta = static_cast<uint64_t>(w.window.delta);
      } else {
        return TranslateLanes(w, in, space, kind, mask, bytes, address.at, host.at);
      }
    } else {
      delta = static_cast<uint64_t>(w.window.delta);
    }
    if (write && !w.window.writable) {
      return TranslateLanes(w, in, space, kind, mask, bytes, address.at, host.at);
    }
  }
  for (int i = 0; i < kWarpSize; ++i) host.at[i] = address.at[i] + delta;
  return true;
}

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu
