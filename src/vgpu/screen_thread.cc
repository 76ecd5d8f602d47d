// The screen's part in one thread of the engine: blocks, accesses, synchronisation.

#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/op_facts.h"
#include "vgpu/screen.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

// The lanes a warp began with.
uint32_t LanesOf(const Block& block, uint32_t warp) {
  const uint32_t lanes = std::min<uint32_t>(kWarpSize, block.threads - warp * kWarpSize);
  return lanes == kWarpSize ? kFullMask : (1u << lanes) - 1;
}

// The lane that a shuffle reads, as in the ISA's pseudocode; the lane itself where out of range.
int SourceOf(const Instruction& in, int lane, uint32_t b, uint32_t c) {
  const int bval = static_cast<int>(b & 31);
  const int segment = static_cast<int>(c >> 8 & 31);
  const int last = (lane & segment) | (static_cast<int>(c & 31) & ~segment);
  switch (static_cast<ShuffleMode>(in.variant)) {
    case ShuffleMode::kUp:
      return lane - bval >= last ? lane - bval : lane;
    case ShuffleMode::kDown:
      return lane + bval <= last ? lane + bval : lane;
    case ShuffleMode::kBfly:
      return (lane ^ bval) <= last ? lane ^ bval : lane;
    case ShuffleMode::kIdx:
      break;
  }
  const int from = (lane & segment) | (bval & ~segment);
  return from <= last ? from : lane;
}

}  // namespace

// ---- blocks

ScreenThread::ScreenThread(Screen& screen, const LaunchState& launch)
    : screen_(screen), launch_(launch), interests_(interest::kAccesses) {
  const Screen::Checks& checks = screen.checks();
  if (checks.bad_accesses) interests_ |= interest::kBadAccesses;
  if (checks.index) interests_ |= interest::kIndexArithmetic;
  const bool local = launch.local_stride > 0;
  if (checks.initialisation && local) interests_ |= interest::kUndefinedBits;
}

void ScreenThread::BeginBlock(Block& block) {
  if (block.screen == nullptr) block.screen = std::make_shared<ScreenBlock>();
  ScreenBlock& own = *block.screen;
  const uint32_t stride = screen_.stride_;
  const size_t cells = (size_t{block.shared_bytes} >> screen_.shift_) + Screen::kLineCells;
  if (own.writes.size() != cells || own.shift != screen_.shift_ || own.shared.stride != stride ||
      own.next_stamp > CellClock::kMost / 2) {
    own.writes.assign(cells, 0);
    own.reads.assign(cells, 0);
    own.shift = screen_.shift_;
    own.next_stamp = stride;
  }
  own.shared = {.past = own.next_stamp,
                .read_past = screen_.checks().initialisation ? 0 : own.next_stamp,
                .first = own.next_stamp,
                .now = own.next_stamp,
                .stride = stride};
  own.next_stamp += stride;
  Show(own);
  own.global = {.past = screen_.past_,
                .read_past = screen_.past_,
                .stride = stride,
                .launch = screen_.launch_stamps_};
  own.stale = true;
  own.begun = false;
  for (ScreenBlock::Arrivals& barrier : own.barriers) barrier.instruction = nullptr;
}

void ScreenThread::Show(ScreenBlock& block) {
  const CellClock& clock = block.shared;
  // Without a look at initialisation the past counts as well.
  const uint32_t from = clock.read_past == 0 ? clock.first : 0;
  block.view = {.now = clock.now,
                .several = clock.several(),
                .read_first = from,
                .read_before = clock.now - from,
                .writes = block.writes.data(),
                .reads = block.reads.data()};
}

void ScreenThread::NextInterval(Block& block) {
  ScreenBlock& own = *block.screen;
  own.stale = true;
  own.shared.now = own.next_stamp;
  own.next_stamp += own.shared.stride;
  Show(own);
  if (own.next_stamp > CellClock::kMost) Suspect("a block has too many barriers");
}

bool ScreenThread::BeginInterval(ScreenBlock& block) {
  const uint32_t stride = screen_.stride_;
  const bool goes_on = block.begun && block.global.now + stride == next_stamp_;
  if (end_stamp_ - next_stamp_ < stride || (!goes_on && end_stamp_ - next_stamp_ < 16 * stride)) {
    next_stamp_ = screen_.NewStamps(Screen::kStampShare);
    if (next_stamp_ == 0) {
      Suspect("it has too many threads");
      return false;
    }
    end_stamp_ = next_stamp_ + Screen::kStampShare;
    block.begun = false;
  }
  // Other blocks' stamps may lie between: then what this one did before counts as another's.
  if (!block.begun || !goes_on) block.global.first = next_stamp_;
  block.global.now = next_stamp_;
  next_stamp_ += stride;
  block.begun = true;
  block.stale = false;
  return true;
}

// ---- accesses

bool ScreenThread::FindSite(uint64_t address, uint64_t bytes, bool write, void** region) {
  Region* found = screen_.Find(address, bytes, write);
  *region = found != nullptr && found->watched ? found : nullptr;
  return !stopped();
}

void ScreenThread::SaveBefore(Region& region, uint64_t address, uint64_t bytes) {
  const uint64_t offset = address - region.allocation.address;
  const uint64_t last = (offset + bytes - 1) / Screen::kPieceBytes;
  for (uint64_t piece = offset / Screen::kPieceBytes; piece <= last; ++piece) {
    if (region.saved[piece].load(std::memory_order_acquire) == 0) screen_.Save(region, piece);
  }
}

void ScreenThread::Note(const Region& region, uint64_t begin, uint64_t end, bool write) {
  if (region.number >= touched_.size()) touched_.resize(region.number + 1);
  ScreenFootprint& own = touched_[region.number];
  uint64_t& first = write ? own.write_begin : own.read_begin;
  uint64_t& last = write ? own.write_end : own.read_end;
  first = std::min(first, begin);
  last = std::max(last, end);
}

bool ScreenThread::Cells(Region* region, ScreenBlock& block, size_t first, size_t count,
                         uint32_t per_lane, uint32_t me, bool write) {
  const CellCode& code = *screen_.cells_;
  if (region == nullptr) {
    uint32_t* writes = block.writes.data() + first;
    uint32_t* reads = block.reads.data() + first;
    const auto cells = static_cast<uint32_t>(count);
    const bool good = write ? code.write(writes, reads, cells, per_lane, me, block.shared)
                            : code.read(writes, reads, cells, per_lane, me, block.shared);
    if (!good) Suspect("shared memory: a race, or a read of what was not written");
    return good;
  }
  CellClock clock = block.global;
  if (!region->all_defined) clock.read_past = 0;
  bool good = true;
  for (size_t at = first; at < first + count;) {
    const size_t line = at / Screen::kLineCells;
    const size_t end = std::min(first + count, (line + 1) * Screen::kLineCells);
    const uint32_t who = me + static_cast<uint32_t>((at - first) >> per_lane);
    const auto cells = static_cast<uint32_t>(end - at);
    screen_.Lock(*region, line);
    if (write) {
      good &= code.write(region->writes + at, region->reads + at, cells, per_lane, who, clock);
    } else if (!code.read(region->writes + at, region->reads + at, cells, per_lane, who, clock)) {
      // Not written in this launch: the checkers know whether it was before.
      for (uint32_t i = 0; i < cells; ++i) {
        const uint32_t stamp = region->writes[at + i];
        if (clock.Past(stamp, who + (i >> per_lane), 0)) continue;
        bool defined = !region->all_defined && stamp < clock.past;
        const uint64_t address = region->base + ((at + i) << region->shift);
        for (uint32_t byte = 0; defined && byte < 1u << region->shift; ++byte) {
          defined = region->defined[address + byte - region->allocation.address] == 0xff;
        }
        good &= defined;
      }
    }
    screen_.Unlock(*region, line);
    at = end;
  }
  if (!good) Suspect("global memory: a race, or a read of what was not written");
  return good;
}

bool ScreenThread::AccessRow(Warp& warp, void* where, uint64_t address, int64_t stride,
                             uint32_t first_lane, uint32_t lanes, uint32_t bytes, bool write) {
  auto* region = static_cast<Region*>(where);
  ScreenBlock& block = *warp.block->screen;
  const uint32_t shift = screen_.shift_;
  if (stride == int64_t{bytes} && std::has_single_bit(bytes) && bytes >> shift != 0) {
    if (region != nullptr && block.stale && !BeginInterval(block)) return false;
    const uint32_t me = (region == nullptr ? block.shared.now : block.global.now) +
                        warp.index * kWarpSize + first_lane;
    const size_t first = region == nullptr ? address >> shift : region->CellOf(address);
    const auto per_lane = static_cast<uint32_t>(std::countr_zero(bytes >> shift));
    if ((first & ((size_t{1} << per_lane) - 1)) == 0) {
      if (region != nullptr) {
        const uint32_t cells = (lanes * bytes) >> shift;
        if (screen_.cells_->known(region->writes + first, region->reads + first, cells, per_lane,
                                  me, !write)) {
          return true;
        }
        const uint64_t end = address + uint64_t{lanes} * bytes;
        Note(*region, address, end, write);
        if (write) SaveBefore(*region, address, end - address);
      }
      return Cells(region, block, first, (size_t{lanes} * bytes) >> shift, per_lane, me, write);
    }
  }
  std::array<uint64_t, kWarpSize> lane_address;
  // Two readers stand for all: any writer is another thread than one of them.
  const uint32_t last = stride == 0 && !write ? std::min(lanes, 2u) : lanes;
  for (uint32_t i = 0; i < kWarpSize; ++i) {
    lane_address[i] =
        address + static_cast<uint64_t>(stride) * (static_cast<uint64_t>(i) - first_lane);
  }
  const uint32_t mask = static_cast<uint32_t>(((uint64_t{1} << last) - 1) << first_lane);
  return AccessLanes(warp, where, lane_address.data(), mask, bytes,
                     write ? AccessKind::kStore : AccessKind::kLoad);
}

bool ScreenThread::AccessLanes(Warp& warp, void* where, const uint64_t* address, uint32_t mask,
                               uint32_t bytes, AccessKind kind) {
  auto* region = static_cast<Region*>(where);
  ScreenBlock& block = *warp.block->screen;
  if (region != nullptr && block.stale && !BeginInterval(block)) return false;
  const uint32_t now = (region == nullptr ? block.shared.now : block.global.now);
  const bool reading = kind == AccessKind::kLoad;
  const bool single = bytes >> screen_.shift_ == 1 && (reading || kind == AccessKind::kStore);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t me = now + warp.index * kWarpSize + lane;
    if (region != nullptr && single && (address[lane] & (bytes - 1)) == 0) {
      const size_t cell = region->CellOf(address[lane]);
      if (screen_.cells_->known(region->writes + cell, region->reads + cell, 1, 0, me, reading)) {
        continue;
      }
    }
    if (!Lane(region, block, address[lane], me, bytes, kind)) return false;
  }
  return true;
}

bool ScreenThread::Lane(Region* region, ScreenBlock& block, uint64_t address, uint32_t me,
                        uint32_t bytes, AccessKind kind) {
  const uint32_t shift = screen_.shift_;
  const uint64_t cell_bytes = uint64_t{1} << shift;
  if (((address | bytes) & (cell_bytes - 1)) != 0) {
    const std::lock_guard lock(screen_.mutex_);
    screen_.bytewise_.insert(launch_.kernel);
    screen_.Again("it needs smaller cells");
    return false;
  }
  if (region != nullptr) {
    const bool write = kind != AccessKind::kLoad;
    Note(*region, address, address + bytes, write);
    if (write) SaveBefore(*region, address, bytes);
  }
  const CellClock& clock = region == nullptr ? block.shared : block.global;
  uint32_t* writes = region == nullptr ? block.writes.data() : region->writes;
  uint32_t* reads = region == nullptr ? block.reads.data() : region->reads;
  const size_t first = region == nullptr ? address >> shift : region->CellOf(address);
  bool good = true;
  for (size_t i = first; i < first + (bytes >> shift); ++i) {
    if (region != nullptr) screen_.Lock(*region, i / Screen::kLineCells);
    const uint32_t w = writes[i];
    const uint32_t r = reads[i];
    bool defined = clock.Past(w, me, clock.read_past) || w >= clock.past;
    if (region != nullptr && !region->all_defined && w < clock.past) {
      for (uint64_t byte = 0; byte < cell_bytes; ++byte) {
        const uint64_t at = region->base + (i << shift) + byte - region->allocation.address;
        defined &= region->defined[at] == 0xff;
      }
    }
    const bool written = clock.Past(w, me, clock.past);
    switch (kind) {
      case AccessKind::kLoad:
        good &= defined && written;
        reads[i] = clock.Reader(r, me);
        break;
      case AccessKind::kStore:
        good &= written && clock.Past(r, me, clock.past);
        writes[i] = me;
        break;
      default: {  // atomics do not race with one another
        const bool is_atomic = clock.IsAtomic(w);
        good &= defined && (written || is_atomic) && clock.Past(r, me, clock.past);
        // What this block wrote before in this launch is ordered with its own atomics, not with
        // those of other blocks; a cell has no room for both.
        good &= region == nullptr || w < clock.past || w == me || is_atomic;
        // Nor may the thread's own write, still unordered with others, be forgotten.
        if (w != me) {
          writes[i] = written || w == clock.atomics() ? clock.atomics() : clock.all_atomics();
        }
        break;
      }
    }
    if (region != nullptr) screen_.Unlock(*region, i / Screen::kLineCells);
  }
  if (!good) {
    Suspect(region == nullptr ? "shared memory: a race, or a read of what was not written"
                              : "global memory: a race, or a read of what was not written");
  }
  return good;
}

bool ScreenThread::LocalLane(WarpView& warp, int lane, uint64_t offset, uint32_t bytes,
                             bool write) {
  if (offset >= warp.local_bytes() || warp.local_bytes() - offset < bytes) return true;
  uint8_t* defined = warp.DefinedLocal(lane) + offset;
  if (write) {
    std::memset(defined, 0xff, bytes);
    return true;
  }
  for (uint32_t i = 0; i < bytes; ++i) {
    if (defined[i] == 0xff) continue;
    Suspect("local memory: a read of what was not written");
    return false;
  }
  return true;
}

bool ScreenThread::OnMemoryAccess(WarpView& view, const MemoryAccess& access) {
  Warp& warp = static_cast<WarpPicture&>(view).warp();
  const auto stop = [&] {
    warp.stopped = true;
    return false;
  };
  if (stopped()) return stop();
  if (access.kind == AccessKind::kPrefetch) return true;
  const Instruction& in = *access.instruction;
  if (in.op == Op::kLoad && in.address == AddressBase::kParameters) return true;
  const bool write = access.kind != AccessKind::kLoad;
  uint32_t shared = 0;
  uint32_t global = 0;
  std::array<uint64_t, kWarpSize> offset{};
  for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(rest));
    const uint64_t address = access.address[lane];
    if (address - launch_.shared_window < kSharedWindowSize) {
      offset[lane] = address - launch_.shared_window;
      // Outside is the engine's business.
      if (offset[lane] + access.bytes <= warp.block->shared_bytes) shared |= 1u << lane;
    } else if (address - launch_.local_window < kLocalWindowSize) {
      const bool judged = (interests_ & interest::kUndefinedBits) == 0 ||
                          LocalLane(view, static_cast<int>(lane), address - launch_.local_window,
                                    access.bytes, access.kind == AccessKind::kStore);
      if (!judged) return stop();
    } else {
      global |= 1u << lane;
    }
  }
  const auto judge = [&](Region* region, const uint64_t* address, uint32_t mask) {
    const auto first = static_cast<uint32_t>(std::countr_zero(mask));
    const auto lanes = static_cast<uint32_t>(std::popcount(mask));
    const uint64_t stride = lanes > 1 ? address[first + 1] - address[first] : 0;
    // Rows: lanes side by side whose addresses are so as well.
    bool row = access.kind == AccessKind::kLoad || access.kind == AccessKind::kStore;
    row = row && (mask >> first) + 1ull == uint64_t{1} << lanes;
    for (uint32_t i = 0; row && i < lanes; ++i) {
      row = address[first + i] == address[first] + stride * i;
    }
    return row ? AccessRow(warp, region, address[first], static_cast<int64_t>(stride), first, lanes,
                           access.bytes, write)
               : AccessLanes(warp, region, address, mask, access.bytes, access.kind);
  };
  if (shared != 0 && !judge(nullptr, offset.data(), shared)) return stop();
  while (global != 0) {
    const uint64_t address = access.address[static_cast<size_t>(std::countr_zero(global))];
    const auto inside = [&](const Region& region, uint64_t a) {
      const Allocation& allocation = region.allocation;
      return a >= allocation.address && a < allocation.end() &&
             access.bytes <= allocation.end() - a;
    };
    Region*& recent = recent_[write ? 1 : 0];
    if (recent == nullptr || !inside(*recent, address)) {
      recent = screen_.Find(address, access.bytes, write);
    }
    if (stopped()) return stop();
    uint32_t here = global & -global;
    if (recent != nullptr) {
      for (uint32_t rest = global; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        if (inside(*recent, access.address[static_cast<size_t>(lane)])) here |= 1u << lane;
      }
      if (recent->watched && !judge(recent, access.address.data(), here)) return stop();
    }
    global &= ~here;
  }
  return true;
}

bool ScreenThread::OnBadAccess(WarpView&, const MemoryAccess&, uint32_t, BadAccess) {
  Suspect("a bad access");
  return false;
}

// ---- arithmetic and synchronisation

void ScreenThread::OnIndexArithmetic(WarpView& warp, const Instruction& in, uint32_t mask) {
  if (in.d.bytes() != 4 || !MayWrapIndex(in.op)) return;
  const auto* d = static_cast<const int32_t*>(warp.Lanes(in.d));
  const auto* a = static_cast<const int32_t*>(warp.Lanes(in.a));
  const auto* b = static_cast<const int32_t*>(warp.Lanes(in.b));
  const auto* c = in.op == Op::kMadLo ? static_cast<const int32_t*>(warp.Lanes(in.c)) : nullptr;
  // The result has overwritten a source: the checker does not know either, but of a sum.
  const bool lost_a = in.a == in.d;
  if (in.b == in.d || (c != nullptr && in.c == in.d) || (lost_a && in.op != Op::kAdd)) return;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const int64_t x =
        lost_a ? static_cast<int32_t>(static_cast<uint32_t>(d[i]) - static_cast<uint32_t>(b[i]))
               : a[i];
    int64_t value = 0;
    switch (in.op) {
      case Op::kAdd:
        value = x + b[i];
        break;
      case Op::kSub:
        value = x - b[i];
        break;
      case Op::kShl:
        value = static_cast<uint32_t>(b[i]) < 32 ? x * (int64_t{1} << b[i])
                                                 : (x == 0 ? 0 : int64_t{1} << 40);
        break;
      default:
        value = x * b[i] + (c != nullptr ? c[i] : 0);
        break;
    }
    if (value == static_cast<int32_t>(value)) continue;
    Suspect("index arithmetic that wraps");
    static_cast<WarpPicture&>(warp).warp().stopped = true;
    return;
  }
}

void ScreenThread::OnBarrier(WarpView& view, const BarrierEvent& event) {
  Warp& warp = static_cast<WarpPicture&>(view).warp();
  ScreenBlock::Arrivals& barrier = warp.block->screen->barriers[event.barrier];
  if (barrier.instruction == nullptr) {
    barrier.instruction = event.instruction;
    barrier.lanes.assign(warp.block->warps.size(), 0);
  }
  if (barrier.instruction != event.instruction || event.instruction->b.exists() ||
      event.kind == BarrierEvent::Kind::kArrive) {
    Suspect("a barrier that is not one for the whole block");
    warp.stopped = true;
  }
  barrier.lanes[warp.index] |= event.mask;
}

void ScreenThread::OnReleased(Block& block, uint32_t id) {
  ScreenBlock::Arrivals& barrier = block.screen->barriers[id];
  if (barrier.instruction == nullptr) return;
  barrier.instruction = nullptr;
  for (size_t i = 0; i < block.warps.size(); ++i) {
    if (barrier.lanes[i] == LanesOf(block, static_cast<uint32_t>(i))) continue;
    Suspect("a barrier that not all threads reach");
    for (Warp& warp : block.warps) warp.stopped = true;
    return;
  }
  NextInterval(block);
}

void ScreenThread::OnWarpSync(WarpView& view, const Instruction& in, uint32_t now) {
  if (!screen_.checks().synchronisation || !in.e.exists()) return;
  const auto* members = static_cast<const uint32_t*>(view.Lanes(in.e));
  if (members == nullptr) return;
  Warp& warp = static_cast<WarpPicture&>(view).warp();
  const uint32_t initial = LanesOf(*warp.block, warp.index);
  // All that a mask names are here, with the same mask, and so is the lane that a shuffle reads.
  bool good = true;
  for (uint32_t rest = now; good && rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint32_t mask = members[lane];
    if (mask == 0 && in.op != Op::kShfl) continue;  // the forms without a mask
    good = (mask >> lane & 1) != 0 && (mask & initial & ~now) == 0;
    for (uint32_t others = mask & now; good && others != 0; others &= others - 1) {
      good = members[std::countr_zero(others)] == mask;
    }
    if (good && in.op == Op::kShfl && (mask & now) != kFullMask) {
      const int from = SourceOf(in, lane, static_cast<uint32_t>(view.ReadOperand(in.b, lane)),
                                static_cast<uint32_t>(view.ReadOperand(in.c, lane)));
      good = (mask & now) >> from & 1;
    }
  }
  if (good) return;
  Suspect("a mask of lanes that do not all take part");
  warp.stopped = true;
}

}  // namespace kernelsmith::vgpu
