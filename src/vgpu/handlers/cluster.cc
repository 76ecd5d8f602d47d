// mapa, getctarank and barrier.cluster.

#include <bit>

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {
namespace {

template <typename T>
void Mapa(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  const uint32_t* b = w.Lanes<uint32_t>(in.b);
  T* d = w.Lanes<T>(in.d);
  const uint64_t window = in.space == MemorySpace::kShared ? 0 : w.launch->shared_window;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const uint64_t offset = (a[i] - window) % kSharedWindowSize;
    d[i] = static_cast<T>(window + offset + ClusterOffset(*w.block, b[i]));
  }
}

template <typename T>
void Getctarank(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  uint32_t* d = w.Lanes<uint32_t>(in.d);
  const uint64_t window = in.space == MemorySpace::kShared ? 0 : w.launch->shared_window;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const uint64_t slot = (a[i] - window) / kSharedWindowSize;
    d[i] = slot == 0 ? w.block->rank : static_cast<uint32_t>(slot - 1);
  }
}

// The phase ends when every thread that has not exited has arrived.
void Settle(Cluster& cluster) {
  for (size_t rank = 0; rank < cluster.blocks.size(); ++rank) {
    for (const Warp& w : cluster.blocks[rank]->warps) {
      if ((w.live & ~cluster.arrived[rank][w.index]) != 0) return;
    }
  }
  for (auto& block : cluster.arrived) std::fill(block.begin(), block.end(), 0);
  ++cluster.phase;
}

void Arrive(Warp& w, const Instruction& in, uint32_t mask) {
  Cluster* cluster = w.block->cluster;
  if (w.launch->observer != nullptr) {
    WarpPicture picture(w);
    w.launch->observer->OnClusterArrive(picture, in, mask,
                                        cluster != nullptr ? cluster->phase : w.cluster_phase[0]);
  }
  if (cluster == nullptr) return;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    w.cluster_phase[std::countr_zero(rest)] = cluster->phase;
  }
  cluster->arrived[w.block->rank][w.index] |= mask;
  w.launch->progress = true;
  Settle(*cluster);
}

void Test(Warp& w, const Instruction& in, uint32_t mask) {
  Cluster* cluster = w.block->cluster;
  uint32_t ended = mask;
  if (cluster != nullptr) {
    Settle(*cluster);  // others may have exited
    ended = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      if (w.cluster_phase[i] != cluster->phase) ended |= 1u << i;
    }
    w.wait_hash = (w.wait_hash ^ cluster->phase) * 0x9e3779b97f4a7c15;
  }
  uint32_t& d = w.Predicate(in.d);
  d = (d & ~mask) | ended;
  if (ended != 0 && w.launch->observer != nullptr) {
    const uint32_t phase = w.cluster_phase[std::countr_zero(ended)];
    WarpPicture picture(w);
    w.launch->observer->OnClusterEnded(picture, ended, phase);
  }
}

}  // namespace

Handler FindClusterHandler(const Instruction& in) {
  switch (in.op) {
    case Op::kMapa:
      return in.d.bytes() == 8 ? Mapa<uint64_t> : Mapa<uint32_t>;
    case Op::kGetctarank:
      return in.a.bytes() == 8 ? Getctarank<uint64_t> : Getctarank<uint32_t>;
    case Op::kClusterArrive:
      return Arrive;
    case Op::kClusterTest:
      return Test;
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu
