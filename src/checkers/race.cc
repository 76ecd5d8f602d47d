#include "checkers/race.h"

#include <algorithm>
#include <bit>

#include "checkers/race_state.h"
#include "checkers/suite.h"

namespace kernelsmith::checkers {

using vgpu::AccessKind;
using vgpu::Op;

namespace {

constexpr uint32_t kLanes = 32;
// Entries name sites by 16 bits.
constexpr size_t kMaxSites = 0xffff;

}  // namespace

RaceChecker::RaceChecker(FindingSink& sink, vgpu::VirtualGpu& gpu)
    : Checker(sink), gpu_(gpu), memory_(gpu.memory()) {
  sites_.push_back(std::make_unique<RaceSite>());  // 0: one too many
}

RaceChecker::~RaceChecker() = default;

std::unique_ptr<Checker> MakeRaceChecker(FindingSink& sink, vgpu::VirtualGpu& gpu) {
  return std::make_unique<RaceChecker>(sink, gpu);
}

// -- launches and blocks

void RaceChecker::OnLaunchBegin(const vgpu::LaunchInfo& info) {
  const bool settled = std::all_of(launches_.begin(), launches_.end(), [&](const auto& l) {
    return l->order == nullptr && (l->operation == 0 || operations_.IsSettled(l->operation));
  });
  if (settled) {
    // Nothing that comes can race with what was: entries below `stamp_base_` count no more.
    stamp_base_ += static_cast<uint32_t>(stamps_.size());
    stamps_.clear();
    launches_.clear();
    begun_.Clear();
    if (sites_.size() > kMaxSites / 2 || stamp_base_ > uint32_t{1} << 31) {
      sites_.resize(1);
      stamp_base_ = 0;
      global_.Clear();
      shared_pages_ = {};
    }
  }
  site_of_.clear();
  launches_.push_back(std::make_unique<Launch>(info, static_cast<uint32_t>(launches_.size())));
  launch_ = launches_.back().get();
  launch_->own_stamp = stamp_base_ + static_cast<uint32_t>(stamps_.size()) + 1;
  launch_->first_stamp = launch_->own_stamp;
  if (launch_->operation == 0) return;
  launch_->before = operations_.Before(launch_->operation);
  if (const auto early = beside_.find(launch_->operation); early != beside_.end()) {
    launch_->beside = early->second;
  }
  for (const auto& access : host_) {
    if (MayOverlap(launch_->operation, access->rows.operation)) launch_->host.push_back(access);
  }
  // As long as something earlier may overlap, its entries must be looked at.
  const bool all_ended = launch_->before.ContainsAll(begun_);
  begun_.Add(launch_->operation);
  if (all_ended) return;
  for (const auto& other : launches_) {
    if (other->operation == 0 || other->operation == launch_->operation ||
        launch_->before.Contains(other->operation)) {
      continue;
    }
    launch_->first_stamp = other->own_stamp;
    break;
  }
}

void RaceChecker::OnLaunchEnd(const vgpu::Fault*) {
  if (launch_ == nullptr) return;
  launch_->blocks.clear();
  launch_->recent = nullptr;
  launch_->order = nullptr;
  launch_->request = nullptr;
  for (Race& race : races_) {
    if (race.finding.kind == FindingKind::kRaceSameValue) {
      // Where different values were written as well, that is the finding.
      std::array<uint32_t, 4> worse = race.key;
      worse[2] = static_cast<uint32_t>(FindingKind::kRace);
      if (race_of_.contains(worse)) continue;
    }
    sink().Add(std::move(race.finding));
  }
  races_.clear();
  race_of_.clear();
  launch_ = nullptr;
}

void RaceChecker::OnResume(uint64_t launch_id) {
  if (launch_ != nullptr && launch_->id == launch_id) return;
  for (auto it = launches_.rbegin(); it != launches_.rend(); ++it) {
    if ((*it)->id != launch_id) continue;
    launch_ = it->get();
    return;
  }
}

void RaceChecker::OnBlockBegin(uint64_t number) {
  if (!repeating_ && !launch_->watched) RepeatBeside(*launch_);
  BlockState& state = launch_->blocks[number];
  state.order = &launch_->order->BeginBlock(static_cast<uint32_t>(number));
  const uint32_t warps = (launch_->threads + kLanes - 1) / kLanes;
  state.live.assign(warps, 0xffffffff);
  if (const uint32_t rest = launch_->threads % kLanes; rest != 0)
    state.live.back() = (1u << rest) - 1;
}

void RaceChecker::OnBlockEnd(uint64_t number) {
  const auto it = launch_->blocks.find(number);
  if (it == launch_->blocks.end()) return;
  launch_->recent = nullptr;
  if (launch_->HasClusters()) {
    EndClusterBlock(number, it->second);
    return;
  }
  for (auto& page : it->second.shared) shared_pages_.Return(std::move(page));
  launch_->order->EndBlock(static_cast<uint32_t>(number));
  launch_->blocks.erase(it);
}

// Its shared memory goes with it: whoever used it from another block must have been waited for. The
// state stays until the whole cluster has ended, as others may still come.
void RaceChecker::EndClusterBlock(uint64_t number, BlockState& state) {
  const VectorClock known = LaunchOrder::KnownOfOthers(*state.order);
  const auto look = [&](const Entry& entry, bool writes) {
    if (entry.stamp < launch_->own_stamp) return;
    const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
    if (stamp.launch != launch_->number || stamp.block == number ||
        launch_->ClusterOf(stamp.block) != launch_->ClusterOf(number)) {
      return;
    }
    if (known.ClockOf(stamp.block, entry.thread()) < stamp.clock) {
      ReportEnded(entry, writes, number);
    }
  };
  for (const auto& page : state.shared) {
    if (page == nullptr) continue;
    for (const Cell& cell : page->cells) {
      look(cell.write, true);
      look(cell.other_write, true);
      look(cell.read, false);
      look(cell.other_read, false);
    }
  }
  state.ended = true;
  std::vector<uint64_t> all;
  for (const auto& [other, block] : launch_->blocks) {
    if (launch_->ClusterOf(other) != launch_->ClusterOf(number)) continue;
    if (!block.ended) return;
    all.push_back(other);
  }
  for (const uint64_t other : all) {
    for (auto& page : launch_->blocks[other].shared) shared_pages_.Return(std::move(page));
    launch_->order->EndBlock(static_cast<uint32_t>(other));
    launch_->blocks.erase(other);
  }
}

RaceChecker::BlockState& RaceChecker::StateOf(uint64_t number) {
  if (launch_->recent == nullptr || launch_->recent_number != number) {
    launch_->recent = &launch_->blocks.at(number);
    launch_->recent_number = number;
  }
  return *launch_->recent;
}

uint32_t RaceChecker::StampOf(BlockState& state) {
  LaunchOrder::Block& order = *state.order;
  if (order.stamp == 0) {
    stamps_.push_back({.launch = launch_->number, .block = order.number, .clock = order.now});
    order.stamp = stamp_base_ + static_cast<uint32_t>(stamps_.size());
  }
  return order.stamp;
}

// -- accesses

const RaceSite& RaceChecker::SiteOf(const vgpu::WarpView& warp, const vgpu::Instruction& in) {
  const auto [it, is_new] = site_of_.try_emplace(&in, 0);
  if (!is_new) return *sites_[it->second];
  if (sites_.size() >= kMaxSites) return *sites_[0];
  auto site = std::make_unique<RaceSite>(
      MakeRaceSite(launch_->kernel, warp.function(), in, launch_->HasClusters()));
  site->id = static_cast<uint16_t>(sites_.size());
  it->second = site->id;
  sites_.push_back(std::move(site));
  return *sites_.back();
}

bool RaceChecker::OnMemoryAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) {
  if (access.kind == AccessKind::kPrefetch) return true;
  const RaceSite& site = SiteOf(warp, *access.instruction);
  const bool constant = site.constant && !launch_->host.empty();
  if ((site.ignored && !constant) || site.id == 0) return true;
  BlockState& state = StateOf(warp.block_number());
  Actor actor{.warp = warp, .access = access, .site = site, .block = state, .me = {}};
  if (constant) {
    actor.lane = static_cast<uint32_t>(std::countr_zero(access.mask));
    CheckHost(actor, access.address[actor.lane], access.bytes, false);
    return true;
  }
  actor.me.site = site.id;
  actor.me.stamp = StampOf(state);
  const uint32_t first = warp.warp_in_block() * kLanes;
  const bool strong = (site.flags & Entry::kStrong) != 0;
  uint32_t lanes = access.mask;
  if (access.kind == AccessKind::kLoad && !strong) {
    // One word for all: two readers stand for the rest, as everywhere.
    const uint64_t address = access.address[static_cast<size_t>(std::countr_zero(lanes))];
    bool same = true;
    for (uint32_t rest = lanes; rest != 0 && same; rest &= rest - 1) {
      same = access.address[static_cast<size_t>(std::countr_zero(rest))] == address;
    }
    if (same) lanes = (lanes & -lanes) | 1u << (31 - std::countl_zero(lanes));
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    actor.lane = static_cast<uint32_t>(std::countr_zero(rest));
    actor.thread = first + actor.lane;
    actor.me.who = static_cast<uint16_t>(actor.thread | site.flags);
    AccessLane(actor, access.address[actor.lane], access.bytes);
  }
  return true;
}

void RaceChecker::AccessLane(Actor& actor, uint64_t address, uint32_t bytes) {
  const uint64_t shared_window = memory_.shared_window();
  uint64_t offset = address - shared_window;
  actor.shared = offset < vgpu::kSharedWindows * vgpu::kSharedWindowSize;
  if (!actor.shared && address - memory_.local_window() < vgpu::kLocalWindowSize) return;
  BlockState& block = actor.block;
  actor.home = &block;
  if (actor.shared) {
    if (offset >= vgpu::kSharedWindowSize) {
      const vgpu::SharedPlace place = actor.warp.SharedAt(address);
      const auto home = launch_->blocks.find(place.block_number);
      if (!place.exists || home == launch_->blocks.end()) return;
      offset = place.offset;
      actor.home = &home->second;
    }
    const uint32_t size = actor.warp.shared_bytes();
    if (offset >= size || size - offset < bytes) return;  // the bounds checker's business
    if (actor.home->shared.empty()) {
      actor.home->shared.resize((size + kPageBytes - 1) / kPageBytes);
    }
  }
  const AccessKind kind = actor.access.kind;
  // cp.async comes twice, as a load of its source and as a write.
  const bool writes = actor.site.writes && kind != AccessKind::kLoad;
  if (actor.home->ended) {
    ReportEnded(actor.me, writes, actor.home->order->number);
    return;
  }
  if (!actor.shared && !launch_->host.empty()) CheckHost(actor, address, bytes, writes);
  const SharedCopy copy{.offset = static_cast<uint32_t>(offset),
                        .bytes = bytes,
                        .thread = actor.thread,
                        .site = actor.site.id};
  bool releases = actor.site.releases;
  if (kind == AccessKind::kLoad) {
    actor.me.who &= static_cast<uint16_t>(~(Entry::kAsync | Entry::kPending));
  } else if (kind == AccessKind::kAsyncCopy && actor.shared &&
             (actor.site.flags & Entry::kPending) != 0) {
    block.copies[actor.thread].open.push_back(copy);
  } else if (actor.site.bulk && kind == AccessKind::kAtomic) {
    actor.me.who |= Entry::kStrong | Entry::kDeviceScope;  // the arrival at its mbarrier
  } else if (actor.site.bulk) {
    releases = false;
    const uint64_t barrier =
        actor.warp.ReadOperand(actor.access.instruction->e, static_cast<int>(actor.lane));
    if (actor.shared) {
      actor.me.who |= Entry::kAsync | Entry::kPending;
      actor.home->bulk[static_cast<uint32_t>(barrier % vgpu::kSharedWindowSize)].push_back(copy);
    }
  }
  const auto finest =
      static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(address) | bytes | 4u));
  const uint64_t base = address - offset;  // where the home's shared memory begins
  for (uint64_t at = address; at < address + bytes;) {
    Page* page;
    if (actor.shared) {
      std::unique_ptr<Page>& place = actor.home->shared[(at - base) / kPageBytes];
      if (place == nullptr) place = shared_pages_.Take();
      page = place.get();
    } else {
      page = &global_.At(at);
    }
    if (finest < page->shift) page->Refine(finest);
    const uint32_t shift = page->shift;
    const uint64_t page_start = actor.shared ? (at - base) % kPageBytes : at % kPageBytes;
    const uint64_t end = std::min(address + bytes, at + (kPageBytes - page_start));
    actor.cell_bytes = 1u << shift;
    for (uint64_t index = page_start >> shift; at < end; ++index, at += actor.cell_bytes) {
      actor.address = at;
      if (writes) {
        Write(actor, page->cells[index]);
      } else {
        Read(actor, page->cells[index]);
      }
    }
  }
  if ((actor.site.flags & Entry::kStrong) == 0 && !releases) return;
  LaunchOrder& order = *launch_->order;
  const uint64_t key =
      actor.shared ? SharedKey(actor.home->order->number, offset) : address | uint64_t{1} << 63;
  const RaceSite& site = actor.site;
  if (site.reads && !order.quiet()) {
    order.StrongRead(*block.order, actor.thread, key, site.scope, site.acquires);
  }
  if (writes) {
    order.StrongWrite(*block.order, actor.thread, key, site.scope, releases,
                      site.is_atomic || site.bulk);
    // A release ends the interval of what it published.
    actor.me.stamp = StampOf(block);
  }
}

// Does what `entry` says happen before the access that is looked at? True for no entry.
bool RaceChecker::IsPast(const Actor& actor, const Entry& entry) const {
  if (entry.stamp < launch_->first_stamp) return true;
  const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
  if (stamp.launch != launch_->number) {
    if (actor.shared) return true;
    const Launch& other = *launches_[stamp.launch];
    return other.operation == 0 || launch_->operation == 0 ||
           other.operation == launch_->operation || launch_->before.Contains(other.operation) ||
           (actor.block.waited && launch_->beside.Contains(other.operation));
  }
  if (actor.shared && stamp.block != actor.home->order->number &&
      (!launch_->HasClusters() ||
       launch_->ClusterOf(stamp.block) != launch_->ClusterOf(actor.home->order->number))) {
    return true;  // The access is that of a block that had this memory before.
  }
  if ((entry.who & Entry::kPending) != 0) return false;
  return LaunchOrder::Ordered(*actor.block.order, actor.thread, stamp.block, entry.thread(),
                              stamp.clock);
}

// An atomic that read the word and happens before this access came after all atomics before it in
// the word's own order: the last block of a reduction may reset the counter of the tickets.
bool RaceChecker::Observed(const Actor& actor, const Cell& cell) const {
  return (cell.write.who & cell.other_write.who & Entry::kStrong) != 0 &&
         sites_[cell.write.site]->is_atomic && sites_[cell.write.site]->reads &&
         IsPast(actor, cell.write);
}

// The entry and the access conflict, one of them writes, and nothing orders them: is that a race?
void RaceChecker::Check(Actor& actor, const Entry& entry, bool entry_writes) {
  bool volatile_pair = false;
  if ((entry.who & actor.me.who & Entry::kStrong) != 0) {
    const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
    const bool same_launch = stamp.launch == launch_->number;
    const bool same_block = same_launch && stamp.block == actor.block.order->number;
    const bool reaches = same_block || (entry.who & actor.me.who & Entry::kDeviceScope) != 0;
    // Lanes of a warp that exchange data by volatile shared memory, as was the custom before Volta.
    const bool is_write = actor.site.writes;
    const RaceSite& reader = is_write ? *sites_[entry.site] : actor.site;
    volatile_pair = reaches && actor.shared && same_block && is_write != entry_writes &&
                    entry.thread() / kLanes == actor.thread / kLanes &&
                    (entry.who & actor.me.who & Entry::kVolatile) != 0 && !reader.in_loop;
    if (reaches && !volatile_pair) return;
  }
  Report(actor, entry, entry_writes, volatile_pair);
}

void RaceChecker::Read(Actor& actor, Cell& cell) {
  if (actor.access.instruction->op == Op::kBulkCopy) CheckProxy(actor, cell);
  // What came after a launch that runs again has taken its place.
  if (repeating_ && (IsLater(cell.write) || IsLater(cell.read))) return;
  const Entry me = actor.me;
  if (cell.read.stamp == me.stamp && cell.read.who == me.who &&
      cell.write.stamp < launch_->first_stamp) {
    return;
  }
  // What a waiting loop of this thread has seen may be read again.
  const bool waited = cell.read.thread() == actor.thread && sites_[cell.read.site]->in_loop &&
                      (me.who & Entry::kVolatile) != 0;
  if (cell.write.stamp != 0 && !waited && !IsPast(actor, cell.write)) {
    Check(actor, cell.write, true);
  }
  if (cell.other_write.stamp != 0 && !IsPast(actor, cell.other_write) && !Observed(actor, cell)) {
    Check(actor, cell.other_write, true);
  }
  if (IsPast(actor, cell.read)) {
    cell.read = me;
    return;
  }
  if (IsPast(actor, cell.other_read)) {
    cell.other_read = me;
    return;
  }
  // Both stay. A plain read conflicts with more than a strong one.
  if ((me.who & Entry::kStrong) != 0) return;
  if ((cell.read.who & Entry::kStrong) != 0) {
    cell.read = me;
  } else if ((cell.other_read.who & Entry::kStrong) != 0) {
    cell.other_read = me;
  }
}

void RaceChecker::Write(Actor& actor, Cell& cell) {
  const Entry me = actor.me;
  if (repeating_ && IsLater(cell.write)) return;
  if (repeating_ && IsLater(cell.read) && (me.who & Entry::kStrong) == 0) {
    cell.write = me;
    return;
  }
  const bool write_past = IsPast(actor, cell.write);
  const bool read_past = IsPast(actor, cell.read);
  const bool other_read_past = IsPast(actor, cell.other_read);
  if (!write_past) Check(actor, cell.write, true);
  const bool other_past = IsPast(actor, cell.other_write);
  if (!other_past && !Observed(actor, cell)) Check(actor, cell.other_write, true);
  if (!read_past) Check(actor, cell.read, false);
  if (!other_read_past) Check(actor, cell.other_read, false);
  if ((me.who & Entry::kStrong) == 0) {
    cell = {.write = me};
    return;
  }
  // Atomics and the like of other threads are no races, but later plain accesses must know them.
  // A plain one among those (such as the initialisation of a barrier) says more.
  const bool plain = cell.write.stamp != 0 && (cell.write.who & Entry::kStrong) == 0;
  const bool keeps_plain = !other_past && (cell.other_write.who & Entry::kStrong) == 0;
  if (plain || (!write_past && !keeps_plain)) cell.other_write = cell.write;
  cell.write = me;
  if (read_past) cell.read = {};
  if (other_read_past) cell.other_read = {};
}

}  // namespace kernelsmith::checkers
