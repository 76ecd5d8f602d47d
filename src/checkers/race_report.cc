// What the race checker says of a race, and whether the two writes of one were of the same value.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "checkers/race_state.h"

namespace kernelsmith::checkers {

using vgpu::AccessKind;
using vgpu::Op;

namespace {

constexpr uint32_t kLanes = 32;

vgpu::Dim3 Unflatten(uint64_t number, const vgpu::Dim3& extent) {
  return {static_cast<uint32_t>(number % extent.x),
          static_cast<uint32_t>(number / extent.x % extent.y),
          static_cast<uint32_t>(number / extent.x / extent.y)};
}

}  // namespace

Place RaceChecker::PlaceOfEntry(const Entry& entry) const {
  const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
  const Launch& launch = *launches_[stamp.launch];
  Place place = sites_[entry.site]->place;
  place.block = Unflatten(stamp.block, launch.grid);
  place.thread = Unflatten(entry.thread(), launch.block);
  return place;
}

// Both sides are plain stores, and the bytes of the cell are the same.
bool RaceChecker::WritesSameValue(const Actor& actor, const Entry& entry) const {
  const vgpu::Instruction& in = *actor.access.instruction;
  if (in.op != Op::kStore || ((entry.who | actor.me.who) & Entry::kAsync) != 0) return false;
  const auto value = [&](uint32_t lane, uint64_t address, std::byte* bytes) {
    const uint64_t offset = address - actor.access.address[lane];
    const vgpu::Operand operand =
        in.list_count > 0 ? actor.warp.function().list[in.list_first + offset / in.bytes] : in.b;
    uint64_t parts[2] = {
        actor.warp.ReadOperand(operand, static_cast<int>(lane), 0),
        in.bytes > 8 ? actor.warp.ReadOperand(operand, static_cast<int>(lane), 1) : 0};
    std::memcpy(bytes, reinterpret_cast<const std::byte*>(parts) + offset % in.bytes,
                actor.cell_bytes);
  };
  std::byte mine[16] = {};
  std::byte theirs[16] = {};
  value(actor.lane, actor.address, mine);
  // A lane of this very access: its value is not in memory yet.
  const uint32_t other = entry.thread() % kLanes;
  const bool same_access = entry.site == actor.site.id && entry.stamp == actor.me.stamp &&
                           entry.thread() / kLanes == actor.thread / kLanes &&
                           (actor.access.mask >> other & 1) != 0 &&
                           actor.address - actor.access.address[other] < actor.access.bytes;
  if (same_access) {
    value(other, actor.address, theirs);
  } else {
    const bool found = actor.warp.ReadMemory(static_cast<int>(actor.lane), actor.address, theirs,
                                             actor.cell_bytes);
    if (!found) return false;
  }
  return std::memcmp(mine, theirs, actor.cell_bytes) == 0;
}

void RaceChecker::Report(Actor& actor, const Entry& entry, bool entry_writes, bool volatile_pair) {
  if (repeating_) return;
  const bool writes = actor.site.writes && actor.access.kind != AccessKind::kLoad;
  const bool async = ((entry.who | actor.me.who) & Entry::kAsync) != 0;
  FindingKind kind = FindingKind::kRace;
  if (async) {
    kind = FindingKind::kAsyncHazard;
  } else if (writes && entry_writes && ((entry.who | actor.me.who) & Entry::kStrong) == 0 &&
             WritesSameValue(actor, entry)) {
    kind = FindingKind::kRaceSameValue;
  }
  const Space space = actor.shared ? Space::kShared : Space::kGlobal;
  const std::array<uint32_t, 4> key{std::min(actor.site.id, entry.site),
                                    std::max(actor.site.id, entry.site),
                                    static_cast<uint32_t>(kind), static_cast<uint32_t>(space)};
  if (const auto it = race_of_.find(key); it != race_of_.end()) {
    ++races_[it->second].finding.count;
    return;
  }
  std::optional<vgpu::Allocation> allocation;
  if (!actor.shared) {
    allocation = memory_.Find(actor.address);
    if (!allocation) return;  // no memory at all: the bounds checker's business
  }
  const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
  const bool same_launch = stamp.launch == launch_->number;
  const bool same_block = same_launch && stamp.block == actor.block.order->number;
  const bool same_thread = same_block && entry.thread() == actor.thread;
  const bool same_warp = same_block && entry.thread() / kLanes == actor.thread / kLanes;
  const auto name = [&](const Entry& e, bool is_write) {
    const RaceSite& site = *sites_[e.site];
    if ((e.who & Entry::kAsync) != 0) return std::string("asynchronous copy");
    if (site.is_atomic) return std::string("atomic");
    const bool strong = (e.who & Entry::kStrong) != 0;
    return std::string(strong ? "strong " : "") + (is_write ? "write" : "read");
  };
  const std::string mine = name(actor.me, writes);
  const std::string theirs = name(entry, entry_writes);
  std::string message;
  if (async && (entry.who & Entry::kPending) != 0 && (same_thread || same_block)) {
    const bool bulk = sites_[entry.site]->bulk;
    message =
        fmt::format("{} of what an asynchronous copy of {} may still be writing: {} {}{}", mine,
                    same_thread ? "the same thread" : "another thread",
                    same_thread ? "it comes before" : "the copy was not waited for by",
                    bulk ? "a wait at its mbarrier" : "cp.async.wait_group (__pipeline_wait_prior)",
                    same_thread || bulk ? "" : " and a barrier");
  } else if (kind == FindingKind::kRaceSameValue) {
    message = fmt::format("race between two writes of the same value to {} memory",
                          actor.shared ? "shared" : "global");
  } else {
    message = fmt::format("race between a{} {} and a{} {} {}", mine.front() == 'a' ? "n" : "", mine,
                          theirs.front() == 'a' ? "n" : "", theirs,
                          actor.shared ? "in shared memory" : "in global memory");
  }
  if (!same_launch) {
    message += ": no stream or event orders the two kernels";
  } else if (!same_block) {
    const bool narrow = (entry.who & actor.me.who & Entry::kStrong) != 0;
    message += narrow ? ": the scope of one of them is its block, the other is in another block"
               : actor.shared
                   ? ": no cluster.sync() or mbarrier orders the two blocks of the cluster"
                   : ": the two blocks are not ordered";
  } else if (volatile_pair) {
    message += ": volatile does not order the lanes of a warp, __syncwarp() would";
  } else if (!same_thread) {
    message += same_warp ? ": lanes of one warp, with no __syncwarp() or barrier between them"
                         : ": no barrier between them";
  }
  Finding finding{.kind = kind,
                  .severity = DefaultSeverity(kind),
                  .space = space,
                  .place = PlaceOf(launch_->kernel, actor.warp, *actor.access.instruction,
                                   static_cast<int>(actor.lane)),
                  .message = std::move(message),
                  .address = actor.address,
                  .other = PlaceOfEntry(entry),
                  .other_message = fmt::format("the other: {}", theirs),
                  .between_operations = !same_launch,
                  .allocation = std::move(allocation)};
  // Which came first is chance: the place is the later line, behind which the other is seen.
  const auto line = [](const Place& place) {
    return std::tie(place.source.file, place.source.line, place.ptx.line);
  };
  if (line(finding.place) < line(*finding.other)) {
    std::swap(finding.place, *finding.other);
    finding.other_message = fmt::format("the other: {}", mine);
  }
  race_of_[key] = races_.size();
  races_.push_back({std::move(finding), key});
}

// An access to shared memory of a block that may have ended, and its memory with it.
void RaceChecker::ReportEnded(const Entry& entry, bool writes, uint64_t block_number) {
  const std::array<uint32_t, 4> key{entry.site, entry.site,
                                    static_cast<uint32_t>(FindingKind::kUseAfterFree),
                                    static_cast<uint32_t>(Space::kShared)};
  if (const auto it = race_of_.find(key); it != race_of_.end()) {
    ++races_[it->second].finding.count;
    return;
  }
  const vgpu::Dim3 home = Unflatten(block_number, launch_->grid);
  Finding finding{
      .kind = FindingKind::kRace,
      .severity = DefaultSeverity(FindingKind::kRace),
      .space = Space::kShared,
      .place = PlaceOfEntry(entry),
      .message = fmt::format(
          "{} shared memory of block ({},{},{}), which may have ended by then: nothing makes it "
          "wait, as cluster.sync() before its end would",
          writes ? "write to" : "read of", home.x, home.y, home.z)};
  race_of_[key] = races_.size();
  races_.push_back({std::move(finding), key});
}

}  // namespace kernelsmith::checkers
