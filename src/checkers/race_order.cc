#include "checkers/race_order.h"

#include <algorithm>

#include "checkers/checker.h"
#include "support/check.h"

namespace kernelsmith::checkers {

namespace {

constexpr uint32_t kLanes = 32;

size_t Index(SyncScope scope) { return static_cast<size_t>(scope); }

}  // namespace

LaunchOrder::Block& LaunchOrder::BeginBlock(uint32_t number) {
  Block& block = blocks_[number];
  block = {};
  block.number = number;
  block.warps.resize((threads_ + kLanes - 1) / kLanes);
  last_ = &block;
  return block;
}

LaunchOrder::Block& LaunchOrder::At(uint32_t number) {
  if (last_ != nullptr && last_->number == number && blocks_.size() == 1) return *last_;
  const auto it = blocks_.find(number);
  return it != blocks_.end() ? it->second : BeginBlock(number);
}

LaunchOrder::Lane& LaunchOrder::LaneOf(Block& block, uint32_t thread) {
  Warp& warp = block.warps[thread / kLanes];
  if (warp.lanes == nullptr) warp.lanes = std::make_unique<std::array<Lane, 32>>();
  return (*warp.lanes)[thread % kLanes];
}

bool LaunchOrder::Ordered(const Block& here, uint32_t reader, uint32_t block, uint32_t thread,
                          uint32_t clock) {
  const Warp& warp = here.warps[reader / kLanes];
  if (block == here.number) {
    if (clock <= here.full || thread == reader) return true;
    if (thread / kLanes == reader / kLanes && clock <= warp.full) return true;
  } else if (!here.known.empty() && here.known.ClockOf(block, thread) >= clock) {
    return true;
  }
  return warp.lanes != nullptr &&
         (*warp.lanes)[reader % kLanes].known.ClockOf(block, thread) >= clock;
}

VectorClock LaunchOrder::Snapshot(const Block& block, uint32_t thread) const {
  VectorClock all = VectorClock::Of(block.number, block.full, thread, block.now);
  all.Join(block.known);
  const Warp& warp = block.warps[thread / kLanes];
  if (warp.full > block.full) {
    // What the warp's last synchronisation made known of its other lanes.
    std::vector<std::pair<uint32_t, uint32_t>> lanes;
    const uint32_t first = thread / kLanes * kLanes;
    for (uint32_t i = 0; i < kLanes; ++i) lanes.emplace_back(first + i, warp.full);
    all.Join(VectorClock::Of(block.number, block.full, std::move(lanes)));
  }
  if (warp.lanes != nullptr) all.Join((*warp.lanes)[thread % kLanes].known);
  return all;
}

void LaunchOrder::Arrive(Block& block, uint32_t warp, uint32_t barrier, uint32_t lanes,
                         bool waits) {
  Barrier& at = block.barriers[barrier];
  at.arrived.resize(block.warps.size());
  at.waiting.resize(block.warps.size());
  at.arrived[warp] |= lanes;
  if (waits) {
    at.waiting[warp] |= lanes;
    return;
  }
  at.only_sync = false;
  ForEachLane(lanes,
              [&](uint32_t lane) { at.clocks.emplace_back(warp * kLanes + lane, block.now); });
  Tick(block);  // what they do from here on is not part of what the barrier orders
}

void LaunchOrder::Release(Block& block, uint32_t barrier, const std::vector<uint32_t>& live) {
  Barrier& at = block.barriers[barrier];
  at.arrived.resize(block.warps.size());
  at.waiting.resize(block.warps.size());
  bool whole = at.only_sync;
  for (size_t w = 0; w < block.warps.size(); ++w) whole = whole && (live[w] & ~at.waiting[w]) == 0;

  VectorClock known;                 // what all that took part know
  std::array<VectorClock, 2> ready;  // what their fences made ready
  for (size_t w = 0; w < block.warps.size(); ++w) {
    if (block.warps[w].lanes == nullptr) continue;
    // Exited threads count as arrived at a barrier of the whole block.
    ForEachLane(whole ? 0xffffffff : at.arrived[w], [&](uint32_t i) {
      const Lane& lane = (*block.warps[w].lanes)[i];
      known.Join(lane.known);
      known.Join(lane.seen[0]);
      known.Join(lane.seen[1]);
      ready[0].Join(lane.ready[0]);
      ready[1].Join(lane.ready[1]);
    });
  }
  if (whole) {
    block.full = block.now;
    block.known.Join(known);
  } else {
    for (size_t w = 0; w < block.warps.size(); ++w) {
      ForEachLane(at.waiting[w], [&](uint32_t lane) {
        at.clocks.emplace_back(static_cast<uint32_t>(w * kLanes) + lane, block.now);
      });
    }
    std::sort(at.clocks.begin(), at.clocks.end());
    // A thread may have arrived twice (arrive, then sync): the later clock counts.
    std::vector<std::pair<uint32_t, uint32_t>> clocks;
    for (const auto& entry : at.clocks) {
      if (!clocks.empty() && clocks.back().first == entry.first) clocks.pop_back();
      clocks.push_back(entry);
    }
    known.Join(VectorClock::Of(block.number, block.full, std::move(clocks)));
  }
  for (size_t w = 0; w < block.warps.size(); ++w) {
    Warp& warp = block.warps[w];
    if (whole && ready[0].empty() && ready[1].empty()) {
      if (warp.lanes == nullptr) continue;
      for (Lane& lane : *warp.lanes) lane = {};
      warp.lanes = nullptr;
      continue;
    }
    ForEachLane(at.waiting[w], [&](uint32_t i) {
      Lane& lane = LaneOf(block, static_cast<uint32_t>(w * kLanes) + i);
      if (whole) {
        lane.known.Clear();
      } else {
        lane.known.Join(known);
      }
      lane.seen = {};
      lane.ready[0].Join(ready[0]);
      lane.ready[1].Join(ready[1]);
    });
  }
  at = {};
  Tick(block);
}

void LaunchOrder::SyncLanes(Block& block, uint32_t warp_index, uint32_t lanes, uint32_t live) {
  Warp& warp = block.warps[warp_index];
  const bool whole = (live & ~lanes) == 0;
  if (whole) warp.full = block.now;
  if (!whole || warp.lanes != nullptr) {
    const uint32_t first = warp_index * kLanes;
    std::vector<std::pair<uint32_t, uint32_t>> clocks;
    ForEachLane(lanes, [&](uint32_t i) { clocks.emplace_back(first + i, block.now); });
    VectorClock known = VectorClock::Of(block.number, block.full, std::move(clocks));
    std::array<VectorClock, 2> ready;
    ForEachLane(lanes, [&](uint32_t i) {
      const Lane& lane = LaneOf(block, first + i);
      known.Join(lane.known);
      known.Join(lane.seen[0]);
      known.Join(lane.seen[1]);
      ready[0].Join(lane.ready[0]);
      ready[1].Join(lane.ready[1]);
    });
    // What all lanes knew of one another already stays known through `full`.
    if (!whole && warp.full > block.full) {
      std::vector<std::pair<uint32_t, uint32_t>> before;
      for (uint32_t i = 0; i < kLanes; ++i) before.emplace_back(first + i, warp.full);
      known.Join(VectorClock::Of(block.number, block.full, std::move(before)));
    }
    ForEachLane(lanes, [&](uint32_t i) {
      Lane& lane = LaneOf(block, first + i);
      lane.known = known;
      lane.seen = {};
      lane.ready = ready;
    });
  }
  Tick(block);
}

void LaunchOrder::Fence(Block& block, uint32_t warp, uint32_t lanes, SyncScope scope) {
  ForEachLane(lanes, [&](uint32_t i) {
    const uint32_t thread = warp * kLanes + i;
    Lane& lane = LaneOf(block, thread);
    for (size_t s = 0; s <= Index(scope); ++s) {
      lane.known.Join(lane.seen[s]);
      lane.seen[s].Clear();
    }
    const VectorClock now = Snapshot(block, thread);
    for (size_t s = 0; s <= Index(scope); ++s) lane.ready[s] = now;
  });
  Tick(block);
}

void LaunchOrder::StrongRead(Block& block, uint32_t thread, uint64_t key, SyncScope scope,
                             bool acquire) {
  const auto it = words_.find(key);
  if (it == words_.end()) return;
  const Word& word = it->second;
  Lane& lane = LaneOf(block, thread);
  if (word.owner == block.number) {
    lane.seen[0].Join(word.block);
    if (acquire) lane.known.Join(word.block);
  }
  if (scope == SyncScope::kDevice) {
    lane.seen[1].Join(word.device);
    if (acquire) lane.known.Join(word.device);
  }
}

void LaunchOrder::StrongWrite(Block& block, uint32_t thread, uint64_t key, SyncScope scope,
                              bool release, bool is_atomic) {
  VectorClock for_block;
  VectorClock for_device;
  if (release) {
    for_block = Snapshot(block, thread);
    if (scope == SyncScope::kDevice) for_device = for_block;
    Tick(block);
  } else if (const auto& lanes = block.warps[thread / kLanes].lanes; lanes != nullptr) {
    for_block = (*lanes)[thread % kLanes].ready[0];
    if (scope == SyncScope::kDevice) for_device = (*lanes)[thread % kLanes].ready[1];
  }
  auto it = words_.find(key);
  if (it == words_.end()) {
    if (for_block.empty() && for_device.empty()) return;
    it = words_.try_emplace(key).first;
  }
  Word& word = it->second;
  if (!is_atomic) word = {};
  if (word.owner != block.number) word.block.Clear();
  word.owner = block.number;
  word.block.Join(for_block);
  word.device.Join(for_device);
}

void LaunchOrder::ClusterArrive(Block& block, uint32_t warp, uint32_t lanes, uint32_t cluster,
                                uint32_t phase, bool release) {
  VectorClock& word = phases_[{cluster, phase}];
  const uint32_t first = warp * kLanes;
  const Warp& at = block.warps[warp];
  if (release) {
    std::vector<std::pair<uint32_t, uint32_t>> clocks;
    for (uint32_t i = 0; i < kLanes; ++i) {
      if ((lanes >> i & 1) != 0) {
        clocks.emplace_back(first + i, block.now);
      } else if (at.full > block.full) {
        clocks.emplace_back(first + i, at.full);
      }
    }
    word.Join(VectorClock::Of(block.number, block.full, std::move(clocks)));
    word.Join(block.known);
  }
  if (at.lanes != nullptr) {
    ForEachLane(lanes, [&](uint32_t i) {
      const Lane& lane = (*at.lanes)[i];
      word.Join(lane.ready[1]);
      if (!release) return;
      word.Join(lane.known);
      word.Join(lane.seen[0]);
      word.Join(lane.seen[1]);
    });
  }
  Tick(block);  // what they do from here on is not part of it
}

void LaunchOrder::ClusterEnded(Block& block, uint32_t warp, uint32_t lanes, uint32_t cluster,
                               uint32_t phase) {
  const auto it = phases_.find({cluster, phase});
  if (it == phases_.end()) return;
  ForEachLane(lanes, [&](uint32_t i) { LaneOf(block, warp * kLanes + i).known.Join(it->second); });
}

VectorClock LaunchOrder::KnownOfOthers(const Block& block) {
  VectorClock known = block.known;
  for (const Warp& warp : block.warps) {
    if (warp.lanes == nullptr) continue;
    for (const Lane& lane : *warp.lanes) known.Join(lane.known);
  }
  return known;
}

}  // namespace kernelsmith::checkers
