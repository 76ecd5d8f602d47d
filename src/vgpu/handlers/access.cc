#include "vgpu/handlers/access.h"

namespace kernelsmith::vgpu {

bool TranslateLanes(Warp& w, MemorySpace space, uint32_t mask, uint32_t bytes, bool write,
                    const uint64_t* address, uint64_t* host) {
  const LaunchState& launch = *w.launch;
  uint64_t valid = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint64_t a = address[lane];
    const auto fail = [&] {
      w.FailAddress(lane, a, bytes, space, write);
      return false;
    };
    if ((a & (bytes - 1)) != 0) return fail();
    uint64_t offset = a;
    MemorySpace actual = space;
    if (space == MemorySpace::kGeneric) {
      if (a - launch.shared_window < kSharedWindowSize) {
        actual = MemorySpace::kShared;
        offset = a - launch.shared_window;
      } else if (a - launch.local_window < kLocalWindowSize) {
        actual = MemorySpace::kLocal;
        offset = a - launch.local_window;
      }
    }
    if (actual == MemorySpace::kShared) {
      if (offset >= w.block->shared_bytes || w.block->shared_bytes - offset < bytes) return fail();
      valid = reinterpret_cast<uint64_t>(w.block->shared) + offset;
    } else if (actual == MemorySpace::kLocal) {
      if (offset >= w.local_stride || w.local_stride - offset < bytes) return fail();
      valid = reinterpret_cast<uint64_t>(w.local) + static_cast<uint64_t>(lane) * w.local_stride +
              offset;
    } else {
      if (!w.FindWindow(a, bytes)) return fail();
      valid = a + static_cast<uint64_t>(w.window.delta);
    }
    host[lane] = valid;
  }
  // Vector code reads all lanes: the others get an address that is fit to be read.
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1) == 0) host[lane] = valid;
  }
  return true;
}

bool ObserveAccess(Warp& w, const Instruction& in, MemorySpace space, AccessKind kind,
                   uint32_t mask, uint32_t bytes, const uint64_t* address) {
  MemoryAccess access{.instruction = &in, .kind = kind, .mask = mask, .bytes = bytes};
  for (int lane = 0; lane < kWarpSize; ++lane) {
    access.address[static_cast<size_t>(lane)] = GenericAddress(*w.launch, space, address[lane]);
  }
  WarpPicture picture(w);
  return w.launch->observer->OnMemoryAccess(picture, access);
}

}  // namespace kernelsmith::vgpu
