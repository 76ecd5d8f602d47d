#include "vgpu/handlers/access.h"

namespace kernelsmith::vgpu {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build

namespace {

struct LaneTarget {
  uint64_t host = 0;  // 0: bad
  BadAccess why = BadAccess::kOutside;
};

LaneTarget TranslateLane(Warp& w, MemorySpace space, int lane, uint32_t bytes, bool write,
                         uint64_t a) {
  const LaunchState& launch = *w.launch;
  if ((a & (bytes - 1)) != 0) return {.why = BadAccess::kMisaligned};
  uint64_t offset = a;
  MemorySpace actual = space;
  if (space == MemorySpace::kGeneric) {
    if (a - launch.shared_window < kSharedWindows * kSharedWindowSize) {
      actual = MemorySpace::kShared;
      offset = a - launch.shared_window;
    } else if (a - launch.local_window < kLocalWindowSize) {
      actual = MemorySpace::kLocal;
      offset = a - launch.local_window;
    }
  }
  if (actual == MemorySpace::kShared) {
    const Block* block = BlockOfSharedAddress(*w.block, offset);
    if (block == nullptr || offset >= block->shared_bytes || block->shared_bytes - offset < bytes) {
      return {};
    }
    return {.host = reinterpret_cast<uint64_t>(block->shared) + offset};
  }
  if (actual == MemorySpace::kLocal) {
    uint64_t end = w.local_stride;
    if (launch.Wants(interest::kBadAccesses)) {
      // The frame's own end; behind it is padding, or nothing. After an alloca the stack's.
      const uint64_t base = w.frame->local_base[lane];
      const Function& function = *w.frame->function;
      end = function.uses_alloca ? w.stack_top[lane] : base + function.frame_end;
    }
    if (offset >= end || end - offset < bytes) return {};
    return {.host = reinterpret_cast<uint64_t>(w.local) +
                    static_cast<uint64_t>(lane) * w.local_stride + offset};
  }
  if (!w.FindWindow(a, bytes)) return {};
  if (write && !w.window.writable) return {.why = BadAccess::kReadOnly};
  return {.host = a + static_cast<uint64_t>(w.window.delta)};
}

MemoryAccess AccessOf(const Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                      uint32_t mask, uint32_t bytes, const uint64_t* address) {
  MemoryAccess access{.instruction = &in, .kind = kind, .mask = mask, .bytes = bytes};
  const uint64_t base = GenericAddress(*w.launch, space, 0);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    access.address[static_cast<size_t>(lane)] = base + address[lane];
  }
  return access;
}

}  // namespace

bool TranslateLanes(Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                    uint32_t& mask, uint32_t bytes, const uint64_t* address, uint64_t* host) {
  const bool write = kind != AccessKind::kLoad;
  uint64_t valid = 0;
  std::array<uint32_t, 3> bad{};  // lanes, by reason
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const LaneTarget target = TranslateLane(w, space, lane, bytes, write, address[lane]);
    if (target.host != 0) {
      host[lane] = valid = target.host;
      continue;
    }
    if (!w.launch->Wants(interest::kBadAccesses)) {
      w.FailAddress(lane, address[lane], bytes, space, write);
      return false;
    }
    bad[static_cast<size_t>(target.why)] |= 1u << lane;
  }
  for (size_t why = 0; why < bad.size(); ++why) {
    if (bad[why] == 0) continue;
    WarpPicture picture(w);
    const MemoryAccess access = AccessOf(w, in, space, kind, mask, bytes, address);
    if (!w.launch->observer->OnBadAccess(picture, access, bad[why], static_cast<BadAccess>(why))) {
      const int lane = std::countr_zero(bad[why]);
      w.FailAddress(lane, address[lane], bytes, space, write);
      return false;
    }
  }
  mask &= ~(bad[0] | bad[1] | bad[2]);
  if (mask == 0) return false;
  // Vector code reads all lanes: the others get an address that is fit to be read.
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1) == 0) host[lane] = valid;
  }
  return true;
}

uint64_t TranslateRange(Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                        int lane, uint64_t address, uint32_t bytes, uint32_t unit) {
  const bool observed = w.launch->Wants(interest::kAccesses | interest::kBadAccesses);
  uint64_t first = 0;
  // Without observers the ends tell: nothing accessible has holes.
  for (uint32_t at = 0; at < bytes; at += unit) {
    if (!observed && at != 0 && at + unit < bytes) continue;
    LaneArray<uint64_t> place;
    LaneArray<uint64_t> host;
    for (uint64_t& a : place.at) a = address + at;
    uint32_t mask = 1u << lane;
    if (!Translate(w, in, space, kind, mask, unit, place, host)) return 0;
    if (at == 0) first = host.at[lane];
    if (host.at[lane] != first + at) {
      w.FailAddress(lane, address + at, unit, space, kind != AccessKind::kLoad);
      return 0;
    }
  }
  return first;
}

bool ObserveAccess(Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                   uint32_t mask, uint32_t bytes, const uint64_t* address) {
  const MemoryAccess access = AccessOf(w, in, space, kind, mask, bytes, address);
  if (w.block->cluster != nullptr && !w.launch->Wants(interest::kClusterAccesses)) {
    // The observer knows shared memory as the own block's only.
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const uint64_t at = access.address[static_cast<size_t>(std::countr_zero(rest))];
      const uint64_t slot = (at - w.launch->shared_window) / kSharedWindowSize;
      if (slot != 0 && slot < kSharedWindows) return true;
    }
  }
  WarpPicture picture(w);
  return w.launch->observer->OnMemoryAccess(picture, access);
}

}  // namespace kernelsmith::vgpu
