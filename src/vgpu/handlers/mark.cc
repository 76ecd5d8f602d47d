// The stores of a slice.

#include "vgpu/handlers/access.h"
#include "vgpu/handlers/handlers.h"
#include "vgpu/slice_kernel.h"
#include "vgpu/slice_run.h"

namespace kernelsmith::vgpu {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build

void MarkLanes(Warp& w, const Instruction& in, uint32_t mask, uint32_t bytes,
               const uint64_t* address) {
  SliceThread& slice = *w.launch->slice;
  LaneArray<uint64_t> place;
  LaneArray<uint64_t> host;
  std::copy(address, address + kWarpSize, place.at);
  // What a store could not do fails here, too. The windows that this finds are no reads.
  slice.marking = true;
  const bool good = Translate(w, in, in.space, AccessKind::kStore, mask, bytes, place, host);
  MemoryWindow noted;
  for (uint32_t rest = good ? mask : 0; rest != 0; rest &= rest - 1) {
    const uint64_t at = address[std::countr_zero(rest)];
    if (at < noted.low || at >= noted.high) {
      if (!w.FindWindow(at, bytes)) continue;  // shared or local memory
      noted = w.window;
      if (in.variant != kMarkOfMade) slice.NoteMarked(noted);
    }
    slice.run().Mark(at, bytes, static_cast<uint32_t>(w.block->number));
  }
  w.ForgetWindows();
  slice.marking = false;
}

namespace {

void Mark(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> address;
  ComputeAddresses(w, in, address);
  MarkLanes(w, in, mask, uint32_t{in.bytes} * in.width, address.at);
}

}  // namespace

Handler FindMarkHandler(const Instruction& in) {
  return in.op == Op::kMarkFragment ? FindMatrixHandler(in) : Mark;
}

}  // namespace kernelsmith::vgpu
