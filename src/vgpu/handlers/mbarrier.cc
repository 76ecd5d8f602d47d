// mbarrier: arrivals and waits on a word in shared memory (math/mbarrier.h). Lanes take their turn
// in ascending order; waiting is a test that a program repeats.

#include "vgpu/math/mbarrier.h"

#include <bit>

#include "vgpu/handlers/access.h"
#include "vgpu/handlers/handlers.h"

namespace kernelsmith::vgpu {
namespace {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build

uint64_t Changed(MbarrierOp op, uint64_t word, uint32_t b) {
  switch (op) {
    case MbarrierOp::kInit:
      return math::MbarrierInit(b);
    case MbarrierOp::kInval:
      return 0;
    case MbarrierOp::kArrive:
      return math::MbarrierArrive(word, b, 0, false);
    case MbarrierOp::kArriveDrop:
      return math::MbarrierArrive(word, b, 0, true);
    case MbarrierOp::kArriveExpect:
      return math::MbarrierArrive(word, 1, b, false);
    case MbarrierOp::kArriveDropExpect:
      return math::MbarrierArrive(word, 1, b, true);
    case MbarrierOp::kExpect:
      return math::MbarrierExpect(word, b);
    case MbarrierOp::kComplete:
      return math::MbarrierComplete(word, b);
    case MbarrierOp::kTest:
    case MbarrierOp::kTestParity:
    case MbarrierOp::kPendingCount:
      return word;
  }
  return word;
}

void Mix(Warp& w, uint64_t value) { w.wait_hash = (w.wait_hash ^ value) * 0x9e3779b97f4a7c15; }

MemoryAccess AccessTo(const Warp& w, const Instruction& in, AccessKind kind, uint32_t mask,
                      const LaneArray<uint64_t>& address) {
  MemoryAccess access{.instruction = &in, .kind = kind, .mask = mask, .bytes = 8};
  for (size_t lane = 0; lane < kWarpSize; ++lane) {
    access.address[lane] = GenericAddress(*w.launch, in.space, address.at[lane]);
  }
  return access;
}

void Change(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> address;
  LaneArray<uint64_t> host;
  ComputeAddresses(w, in, address);
  if (!Translate(w, in, in.space, AccessKind::kAtomic, mask, 8, address, host)) return;
  const auto op = static_cast<MbarrierOp>(in.variant);
  const uint32_t* b = in.b.exists() ? w.Lanes<uint32_t>(in.b) : nullptr;
  uint64_t* d = in.d.exists() ? w.Lanes<uint64_t>(in.d) : nullptr;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    auto* place = reinterpret_cast<uint64_t*>(host.at[i]);
    const uint32_t value = b != nullptr ? b[i] : 1;
    uint64_t old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &old, Changed(op, old, value), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    // Others wait for what changes here, as for strong stores.
    if (Changed(op, old, value) != old) w.launch->progress = true;
    if (d != nullptr) d[i] = old;
    Mix(w, old + static_cast<uint64_t>(i));
  }
}

void Test(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> address;
  LaneArray<uint64_t> host;
  ComputeAddresses(w, in, address);
  if (!Translate(w, in, in.space, AccessKind::kAtomic, mask, 8, address, host)) return;
  const bool parity = static_cast<MbarrierOp>(in.variant) == MbarrierOp::kTestParity;
  uint32_t ended = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const uint64_t word =
        __atomic_load_n(reinterpret_cast<const uint64_t*>(host.at[i]), __ATOMIC_SEQ_CST);
    const bool done = parity ? math::MbarrierParityEnded(word, w.Lanes<uint32_t>(in.b)[i])
                             : math::MbarrierEnded(word, w.Lanes<uint64_t>(in.b)[i]);
    ended |= static_cast<uint32_t>(done) << i;
    Mix(w, word + static_cast<uint64_t>(i));
  }
  CommitPredicate(w.Predicate(in.d), ended, mask);
  if (ended != 0 && w.launch->observer != nullptr) {
    const MemoryAccess access = AccessTo(w, in, AccessKind::kAtomic, ended, address);
    WarpPicture picture(w);
    w.launch->observer->OnMbarrierEnded(picture, access);
  }
}

void AsyncGroup(Warp& w, const Instruction& in, uint32_t mask) {
  if (w.launch->observer == nullptr) return;
  LaneArray<uint64_t> address{};
  if (static_cast<AsyncOp>(in.variant) == AsyncOp::kArrive) ComputeAddresses(w, in, address);
  const MemoryAccess access = AccessTo(w, in, AccessKind::kAsyncCopy, mask, address);
  WarpPicture picture(w);
  w.launch->observer->OnAsyncGroup(picture, access);
}

void PendingCount(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t* a = w.Lanes<uint64_t>(in.a);
  uint32_t* d = w.Lanes<uint32_t>(in.d);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    d[i] = math::MbarrierPending(a[i]);
  }
}

}  // namespace

Handler FindMbarrierHandler(const Instruction& in) {
  if (in.op == Op::kAsyncGroup) return AsyncGroup;
  if (in.op != Op::kMbarrier) return nullptr;
  switch (static_cast<MbarrierOp>(in.variant)) {
    case MbarrierOp::kTest:
    case MbarrierOp::kTestParity:
      return Test;
    case MbarrierOp::kPendingCount:
      return PendingCount;
    default:
      return Change;
  }
}

}  // namespace kernelsmith::vgpu
