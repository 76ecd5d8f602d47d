#include "counters/async_waits.h"

#include <algorithm>

namespace kernelsmith::counters {

using vgpu::AsyncOp;
using vgpu::Op;

namespace {

// More instructions than that, of one warp, take longer than any copy: what a group has beyond them
// must not make up for another that is waited for at once.
constexpr uint64_t kMostOverlap = 512;

}  // namespace

void AsyncWaits::Look(const vgpu::Function& function) {
  used_ = used_ || std::any_of(function.code.begin(), function.code.end(),
                               [](const auto& in) { return in.op == Op::kCpAsync; });
}

void AsyncWaits::Execute(uint32_t number, const vgpu::Instruction& in, uint64_t issue) {
  if (number >= warps_.size()) warps_.resize(number + 1);
  Warp& warp = warps_[number];
  warp.slots += issue;
  if (in.op == Op::kCpAsync) warp.open = true;
  if (in.op != Op::kAsyncGroup) return;
  switch (static_cast<AsyncOp>(in.variant)) {
    case AsyncOp::kCommit:
      warp.groups.push_back({warp.slots, warp.open});
      warp.open = false;
      break;
    case AsyncOp::kWait:
      Wait(warp, static_cast<size_t>(in.offset));
      break;
    case AsyncOp::kWaitAll:
      if (warp.open) warp.groups.push_back({warp.slots, true});
      warp.open = false;
      Wait(warp, 0);
      break;
    case AsyncOp::kArrive:  // an mbarrier's; its waits are loops over tests
      break;
  }
}

// For all groups but the last `but`. The latest of them decides; empty ones are no wait.
void AsyncWaits::Wait(Warp& warp, size_t but) {
  if (warp.groups.size() <= but) return;
  const auto end = warp.groups.end() - static_cast<ptrdiff_t>(but);
  const auto latest = std::find_if(std::make_reverse_iterator(end), warp.groups.rend(),
                                   [](const Group& group) { return group.has_copies; });
  if (latest != warp.groups.rend()) {
    ++waits_;
    overlap_ += std::min(warp.slots - latest->sent, kMostOverlap);
  }
  warp.groups.erase(warp.groups.begin(), end);
}

}  // namespace kernelsmith::counters
