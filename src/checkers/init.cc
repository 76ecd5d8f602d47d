// Reads of memory and registers that nothing was ever written to. Bits are followed through copies
// and arithmetic and reported where they decide something: an address, a branch, a store that a
// guard selects, or bytes that the host copies back. What a shuffle reads from a lane that does not
// take part is such a value, too: most of them are thrown away, which is how sums of partial warps
// are written.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <tuple>

#include "checkers/init_matrix.h"
#include "checkers/init_memory.h"
#include "checkers/init_registers.h"
#include "checkers/suite.h"
#include "checkers/undefined_bits.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::checkers {

namespace {

using vgpu::AccessKind;
using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::Op;
using vgpu::Operand;
using vgpu::OperandBase;
using vgpu::WarpView;

bool AllDefined(const uint8_t* shadow, uint64_t bytes) {
  uint8_t all = 0xff;
  for (uint64_t i = 0; i < bytes; ++i) all &= shadow[i];
  return all == 0xff;
}

bool IsContiguous(const vgpu::MemoryAccess& access, uint64_t low) {
  uint64_t next = low;
  for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    if (access.address[static_cast<size_t>(std::countr_zero(rest))] != next) return false;
    next += access.bytes;
  }
  return true;
}

// Gaps between the members of a struct are copied along with it, and nobody ever looks at them. A
// gap is part of a 4-byte word of which something is defined. Two of the four bytes may as well be
// one of two halves, which is data unless it comes from a thread's own stack, where structs live
// that are copied member by member otherwise.
bool IsPadding(uint32_t undefined, Space origin) {
  if (undefined == 0 || undefined == 0xffffffff) return false;
  const bool half = undefined == 0xffff || undefined == 0xffff0000;
  return !half || origin == Space::kLocal;
}

class InitChecker final : public Checker {
 public:
  // `padding`: gaps of structs count as written once they are in global memory.
  InitChecker(FindingSink& sink, bool padding) : Checker(sink), padding_(padding) {}

  uint32_t interests() const override {
    return vgpu::interest::kAccesses | vgpu::interest::kUndefinedBits |
           vgpu::interest::kClusterAccesses;
  }
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override {
    return vgpu::ScreenChecks{.initialisation = true};
  }
  const uint8_t* DefinedBytes(const vgpu::Allocation& allocation) override {
    return memory_.Shadow(allocation.address);
  }
  void OnScreenedWrite(uint64_t address, uint64_t bytes) override {
    memory_.SetDefined(address, bytes);
    memory_.ForgetOrigins(address, bytes);
  }

  // -- the host -----------------------------------------------------------------------------------
  void OnAllocate(const vgpu::Allocation& allocation, const Place&) override {
    // The host writes to managed and pinned memory without telling us.
    if (allocation.kind == vgpu::AllocationKind::kDevice) {
      memory_.Add(allocation.address, allocation.size);
    }
  }
  void OnFree(const vgpu::Allocation& allocation, uint64_t, const Place&) override {
    memory_.Remove(allocation.address);
  }
  void OnFill(const HostCopy& fill) override {
    fill.ForEachRow([&](uint64_t to, uint64_t) { memory_.SetDefined(to, fill.width); });
  }
  void OnDefined(uint64_t address, uint64_t bytes) override { memory_.SetDefined(address, bytes); }
  void OnCopy(const HostCopy& copy) override {
    copy.ForEachRow([&](uint64_t to, uint64_t from) {
      Region* source = copy.from_device ? memory_.Find(from, copy.width) : nullptr;
      Region* target = copy.to_device ? memory_.Find(to, copy.width) : nullptr;
      if (target != nullptr && source != nullptr) {
        memory_.Copy(*target, to, *source, from, copy.width);
      } else if (target != nullptr) {
        memory_.SetDefined(to, copy.width);
      } else if (source != nullptr && !copy.to_device) {
        HostReads(*source, from, copy.width, copy.place, "the host copies");
      } else if (source != nullptr) {
        HostReads(*source, from, copy.width, copy.place, "a copy to memory of the host takes");
      }
    });
  }
  void OnHostRead(uint64_t address, uint64_t bytes, const Place& where) override {
    if (Region* region = memory_.Find(address, bytes)) {
      HostReads(*region, address, bytes, where, "the output has", Severity::kError);
    }
  }

  // -- kernels ------------------------------------------------------------------------------------
  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override { launches_[launch.id] = launch; }

  void OnDeviceMalloc(WarpView&, int, uint64_t address, uint64_t size) override {
    if (address != 0) memory_.Add(address, size);
  }
  bool OnDeviceFree(WarpView&, int, uint64_t address) override {
    memory_.Remove(address);
    return true;
  }

  void OnWarpEnd(WarpView& warp) override { origins_of_warps_.erase(KeyOf(warp)); }

  bool OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) override {
    const Instruction& in = *access.instruction;
    loaded_.any = false;
    if (in.op == Op::kCpAsync) {
      AsyncCopy(warp, access);
      return true;
    }
    if (in.op == Op::kBulkCopy && access.kind != AccessKind::kAtomic) {
      BulkCopy(warp, access);
      return true;
    }
    switch (access.kind) {
      case AccessKind::kLoad:
        Load(warp, access);
        if (in.op == Op::kWmmaLoad) matrix_.Loaded(warp, in, loaded_);
        break;
      case AccessKind::kStore:
        Store(warp, access);
        break;
      case AccessKind::kAtomic:
      case AccessKind::kReduction:
        Atomic(warp, access);
        break;
      default:
        break;
    }
    return true;
  }

  void BeforeInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override {
    if (!warp.tracked()) return;
    CheckUses(warp, in, mask);
    matrix_.Begin();
    if (in.op == Op::kBarrier) ReduceAtBarrier(warp, in, mask);
  }

  void OnWarpSync(WarpView& warp, const Instruction& in, uint32_t now) override {
    lost_ = 0;
    if (in.op != Op::kShfl || !in.e.exists()) return;
    const auto* members = static_cast<const uint32_t*>(warp.Lanes(in.e));
    if (members == nullptr) return;
    const auto mode = static_cast<vgpu::ShuffleMode>(in.variant);
    const bool at_once = UsesAtOnce(warp.function(), in);
    ForEachLane(now, [&](int lane) {
      const uint32_t there = members[lane] == 0 ? now : now & members[lane];
      const int from =
          ShuffleSource(mode, lane, static_cast<uint32_t>(warp.ReadOperand(in.b, lane)),
                        static_cast<uint32_t>(warp.ReadOperand(in.c, lane)));
      if ((there >> from & 1) != 0) return;
      // sync.cc tells of it where it stands.
      const bool must_be_right =
          mode != vgpu::ShuffleMode::kDown || lane == std::countr_zero(members[lane]);
      if (members[lane] != 0 && must_be_right && at_once) return;
      lost_ |= 1u << lane;
    });
    if (lost_ == 0) return;
    warp.Track();
    OriginPtr& cached = origins_[{&in, warp.launch_id()}];
    if (cached == nullptr) {
      cached = std::make_shared<Origin>(
          Origin{PlaceOf(launches_[warp.launch_id()].kernel, warp, in, std::countr_zero(lost_)),
                 Space::kNone, true});
    }
    origins_of_warps_[KeyOf(warp)] = cached;
  }

  void AfterInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override {
    if (!warp.tracked()) return;
    if (IsMatrix(in.op)) {
      matrix_.Propagate(warp, in, mask, loaded_);
    } else {
      PropagateUndefined(warp, in, mask, loaded_);
    }
    if (in.op == Op::kShfl) {
      ForEachLane(lost_ & mask, [&](int lane) { SetUndefined(warp, in.d, lane, ~uint64_t{0}); });
      lost_ = 0;
    }
    loaded_.any = false;
  }

 private:
  using WarpKey = std::tuple<uint64_t, uint64_t, uint32_t>;
  static WarpKey KeyOf(const WarpView& warp) {
    return {warp.launch_id(), warp.block_number(), warp.warp_in_block()};
  }

  // The shadow of [address, address + bytes) as the lane sees it; null: all defined, or not there.
  uint8_t* ShadowAt(WarpView& warp, const vgpu::LaunchInfo& launch, int lane, uint64_t address,
                    uint32_t bytes, Space* space) {
    if (address - launch.shared_window < vgpu::kSharedWindowSize) {
      const uint64_t offset = address - launch.shared_window;
      *space = Space::kShared;
      return offset + bytes <= warp.shared_bytes() ? warp.DefinedShared() + offset : nullptr;
    }
    if (address - launch.shared_window < vgpu::kSharedWindows * vgpu::kSharedWindowSize) {
      const vgpu::SharedPlace place = warp.SharedAt(address);
      *space = Space::kShared;
      return place.exists && place.offset + bytes <= place.bytes ? place.defined + place.offset
                                                                 : nullptr;
    }
    if (address - launch.local_window < vgpu::kLocalWindowSize) {
      const uint64_t offset = address - launch.local_window;
      *space = Space::kLocal;
      return offset + bytes <= warp.local_bytes() ? warp.DefinedLocal(lane) + offset : nullptr;
    }
    *space = Space::kGlobal;
    Region* region = memory_.Find(address, bytes);
    if (region == nullptr) return nullptr;
    region->all_defined = false;  // the caller may say otherwise
    return region->At(address);
  }

  // Whole warps in one region, the common case, without a look at each lane's space.
  Region* CommonRegion(const vgpu::MemoryAccess& access, uint64_t* low, uint64_t* high) {
    *low = ~uint64_t{0};
    *high = 0;
    // Lanes outside the mask have the address of one inside.
    for (const uint64_t a : access.address) {
      *low = a < *low ? a : *low;
      *high = a > *high ? a : *high;
    }
    *high += access.bytes;
    return memory_.Find(*low, *high - *low);
  }

  void Load(WarpView& warp, const vgpu::MemoryAccess& access) {
    uint64_t low = 0;
    uint64_t high = 0;
    if (Region* region = CommonRegion(access, &low, &high);
        region != nullptr && high - low <= 32 * uint64_t{access.bytes} &&
        AllDefined(region->At(low), high - low)) {
      return;
    }
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint64_t address = access.address[static_cast<size_t>(lane)];
      Space space = Space::kNone;
      const uint8_t* shadow = ShadowAt(warp, launch, lane, address, access.bytes, &space);
      if (shadow == nullptr || AllDefined(shadow, access.bytes)) continue;
      loaded_.Set(lane, shadow, access.bytes);
      NoteOrigin(warp, *access.instruction, lane, space, address, access.bytes);
    }
    if (loaded_.any) warp.Track();
  }

  void NoteOrigin(WarpView& warp, const Instruction& in, int lane, Space space, uint64_t address,
                  uint32_t bytes) {
    if (space == Space::kGlobal) {
      if (OriginPtr known = memory_.OriginIn(address, bytes)) {
        origins_of_warps_[KeyOf(warp)] = std::move(known);
        return;
      }
    }
    OriginPtr& cached = origins_[{&in, warp.launch_id()}];
    if (cached == nullptr) {
      cached = std::make_shared<Origin>(
          Origin{PlaceOf(launches_[warp.launch_id()].kernel, warp, in, lane), space});
    }
    origins_of_warps_[KeyOf(warp)] = cached;
  }

  void Store(WarpView& warp, const vgpu::MemoryAccess& access) {
    const Instruction& in = *access.instruction;
    if (!warp.tracked()) {
      uint64_t low = 0;
      uint64_t high = 0;
      Region* region = CommonRegion(access, &low, &high);
      if (region != nullptr &&
          high - low ==
              uint64_t{access.bytes} * static_cast<uint32_t>(std::popcount(access.mask))) {
        // As many bytes as lanes write: contiguous, unless lanes overlap, which leaves gaps.
        if (IsContiguous(access, low)) {
          std::memset(region->At(low), 0xff, high - low);
          return;
        }
      }
    }
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    const bool simple = in.op == Op::kStore;
    const bool matrix = warp.tracked() && (in.op == Op::kWmmaStore || in.op == Op::kStmatrix);
    LoadedBits stored;
    if (matrix) matrix_.Store(warp, in, access.mask, &stored);
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint64_t address = access.address[static_cast<size_t>(lane)];
      Space space = Space::kNone;
      uint8_t* shadow = ShadowAt(warp, launch, lane, address, access.bytes, &space);
      if (shadow == nullptr) continue;
      if (!warp.tracked() || (!simple && !matrix)) {
        std::memset(shadow, 0xff, access.bytes);
        continue;
      }
      bool undefined = false;
      for (uint32_t i = 0; matrix && i < access.bytes; ++i) {
        const uint8_t byte = stored.bytes[static_cast<size_t>(lane)][i];
        shadow[i] = static_cast<uint8_t>(~byte);
        undefined |= byte != 0;
      }
      const uint32_t count = matrix ? 0 : in.list_count > 0 ? in.list_count : 1;
      const uint32_t element = count == 0 ? access.bytes : access.bytes / count;
      for (uint32_t k = 0; k < count; ++k) {
        const Operand source = in.list_count > 0 ? warp.function().list[in.list_first + k] : in.b;
        for (uint32_t i = 0; i < element; ++i) {
          const uint64_t bits = UndefinedOf(warp, source, lane, static_cast<int>(i / 8));
          const auto byte = static_cast<uint8_t>(bits >> (8 * (i % 8)));
          shadow[k * element + i] = static_cast<uint8_t>(~byte);
          undefined |= byte != 0;
        }
      }
      if (space != Space::kGlobal) continue;
      memory_.ForgetOrigins(address, access.bytes);
      if (!undefined) continue;
      const OriginPtr origin = OriginOf(warp, in, lane);
      if (padding_ && element >= 4 && ForgivePadding(shadow, access.bytes, origin->space)) continue;
      memory_.SetOrigin(address, origin);
    }
  }

  // Gaps of structs count as defined once they are in global memory. True: that was all.
  static bool ForgivePadding(uint8_t* shadow, uint32_t bytes, Space origin) {
    bool all = true;
    for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
      uint32_t defined;
      std::memcpy(&defined, shadow + i, sizeof defined);
      if (IsPadding(~defined, origin)) std::memset(shadow + i, 0xff, 4);
      all &= ~defined == 0 || IsPadding(~defined, origin);
    }
    return all;
  }

  void Atomic(WarpView& warp, const vgpu::MemoryAccess& access) {
    const Instruction& in = *access.instruction;
    if (in.op == Op::kMbarrier) {
      Store(warp, access);
      return;
    }
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    const bool exchange =
        in.op != Op::kAtomVector && in.variant == static_cast<uint8_t>(vgpu::AtomicOp::kExch);
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint64_t address = access.address[static_cast<size_t>(lane)];
      Space space = Space::kNone;
      uint8_t* shadow = ShadowAt(warp, launch, lane, address, access.bytes, &space);
      if (shadow == nullptr) continue;
      const bool old_defined = AllDefined(shadow, access.bytes);
      if (!old_defined) {
        loaded_.Set(lane, shadow, access.bytes);
        NoteOrigin(warp, in, lane, space, address, access.bytes);
        if (space == Space::kGlobal && !exchange) {
          memory_.SetOrigin(address, OriginOf(warp, in, lane));
        }
      }
      if (exchange || (old_defined && warp.tracked())) {
        uint64_t bits = warp.tracked() ? UndefinedOf(warp, in.b, lane) : 0;
        std::memset(shadow, 0xff, access.bytes);
        for (uint32_t i = 0; bits != 0 && i < std::min(access.bytes, 8u); ++i, bits >>= 8) {
          shadow[i] = static_cast<uint8_t>(~bits);
        }
      } else if (!old_defined) {
        std::memset(shadow, 0, access.bytes);
      }
    }
    if (loaded_.any) warp.Track();
  }

  void AsyncCopy(WarpView& warp, const vgpu::MemoryAccess& access) {
    const Instruction& in = *access.instruction;
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint64_t address = access.address[static_cast<size_t>(lane)];
      Space space = Space::kNone;
      if (access.kind == AccessKind::kAsyncCopy) {
        async_target_[static_cast<size_t>(lane)] = address;
        uint8_t* shadow = ShadowAt(warp, launch, lane, address, access.bytes, &space);
        if (shadow != nullptr) std::memset(shadow, 0xff, access.bytes);
        continue;
      }
      const uint8_t* from = ShadowAt(warp, launch, lane, address, access.bytes, &space);
      const uint64_t offset = address - warp.ReadOperand(in.b, lane);
      uint8_t* to = ShadowAt(warp, launch, lane, async_target_[static_cast<size_t>(lane)] + offset,
                             access.bytes, &space);
      if (from != nullptr && to != nullptr) std::memcpy(to, from, access.bytes);
    }
  }

  // Comes as loads of units of the source and writes of units of the target, in the same order.
  void BulkCopy(WarpView& warp, const vgpu::MemoryAccess& access) {
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    const int lane = std::countr_zero(access.mask);
    Space space = Space::kNone;
    uint8_t* shadow = ShadowAt(warp, launch, lane, access.address[static_cast<size_t>(lane)],
                               access.bytes, &space);
    if (access.kind == AccessKind::kLoad) {
      if (bulk_taken_ == bulk_.size()) {
        bulk_.clear();
        bulk_taken_ = 0;
      }
      bulk_.insert(bulk_.end(), access.bytes, 0xff);
      if (shadow == nullptr || AllDefined(shadow, access.bytes)) return;
      std::memcpy(bulk_.data() + bulk_.size() - access.bytes, shadow, access.bytes);
      NoteOrigin(warp, *access.instruction, lane, space, access.address[static_cast<size_t>(lane)],
                 access.bytes);
      return;
    }
    const bool known = bulk_.size() - bulk_taken_ >= access.bytes;
    if (shadow != nullptr) {
      if (known) {
        std::memcpy(shadow, bulk_.data() + bulk_taken_, access.bytes);
      } else {
        std::memset(shadow, 0xff, access.bytes);
      }
      if (space == Space::kGlobal) {
        const uint64_t address = access.address[static_cast<size_t>(lane)];
        memory_.ForgetOrigins(address, access.bytes);
        if (!AllDefined(shadow, access.bytes)) {
          memory_.SetOrigin(address, OriginOf(warp, *access.instruction, lane));
        }
      }
    }
    if (known) bulk_taken_ += access.bytes;
  }

  // -- uses --------------------------------------------------------------------------------------

  void CheckUses(WarpView& warp, const Instruction& in, uint32_t mask) {
    const bool access = IsLaneAccess(in.op);
    const bool effect = in.control || (access && WritesMemory(in.op));
    if (effect && in.guard.base() == OperandBase::kRegister) {
      for (uint32_t rest = warp.active_lanes(); rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        if (UndefinedOf(warp, in.guard, lane) == 0) continue;
        Use(warp, in, lane,
            in.control ? "a branch depends on" : "whether memory is written depends on");
        SetUndefined(warp, in.guard, lane, 0);  // reported: once is enough
      }
    }
    const bool by_register = in.address == vgpu::AddressBase::kRegister32 ||
                             in.address == vgpu::AddressBase::kRegister64;
    if ((access && by_register) || in.op == Op::kBrxIdx) {
      for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        if (UndefinedOf(warp, in.a, lane) == 0) continue;
        Use(warp, in, lane, access ? "an address depends on" : "a jump depends on");
        SetUndefined(warp, in.a, lane, 0);
      }
    }
  }

  // bar.red is done when the last thread has come, out of sight: its result is defined, and what
  // goes into it is used here.
  void ReduceAtBarrier(WarpView& warp, const Instruction& in, uint32_t mask) {
    if (!in.d.exists()) return;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if (UndefinedOf(warp, in.c, lane) != 0) {
        Use(warp, in, lane, "what a barrier collects depends on");
      }
      SetUndefined(warp, in.d, lane, 0);
    }
  }

  void Use(WarpView& warp, const Instruction& in, int lane, const char* what) {
    const auto known = known_.find({&in, warp.launch_id()});
    if (known != known_.end()) {
      sink().Count(known->second, 1);
      return;
    }
    Finding finding{.kind = FindingKind::kUninitializedRead,
                    .place = PlaceOf(launches_[warp.launch_id()].kernel, warp, in, lane),
                    .decides = true};
    const auto origin = origins_of_warps_.find(KeyOf(warp));
    if (origin != origins_of_warps_.end() && origin->second->space != Space::kNone) {
      finding.space = origin->second->space;
      finding.message =
          fmt::format("{} {} memory that was never written", what, NameOf(origin->second->space));
      finding.other = origin->second->place;
      finding.other_message = "read here";
    } else if (origin != origins_of_warps_.end() && origin->second->shuffle) {
      finding.kind = FindingKind::kShuffleMask;
      finding.message =
          fmt::format("{} what a shuffle read from a lane that does not take part", what);
      finding.other = origin->second->place;
      finding.other_message = "read here";
      // A branch of a lane whose sum is thrown away does no harm.
      if (in.control) {
        finding.severity = Severity::kWarning;
        finding.decides = false;
      }
    } else {
      finding.message = fmt::format("{} a variable that was never given a value", what);
    }
    known_[{&in, warp.launch_id()}] = sink().Add(std::move(finding));
  }

  OriginPtr OriginOf(WarpView& warp, const Instruction& in, int lane) {
    const auto it = origins_of_warps_.find(KeyOf(warp));
    if (it != origins_of_warps_.end()) return it->second;
    return std::make_shared<Origin>(
        Origin{PlaceOf(launches_[warp.launch_id()].kernel, warp, in, lane), Space::kNone});
  }

  // -- the host looks -----------------------------------------------------------------------------

  // `unwritten`: how bad bytes are that nobody ever wrote. The host may know how much of a buffer
  // counts, or copy the gaps of structs; in an output all of it counts.
  void HostReads(Region& region, uint64_t address, uint64_t bytes, const Place& where,
                 const char* what, Severity unwritten = Severity::kWarning) {
    const uint8_t* shadow = region.At(address);
    // Programs copy much and often, and nearly always what was written.
    if (region.all_defined || AllDefined(shadow, bytes)) return;
    uint64_t undefined = 0;
    uint64_t first = bytes;
    for (uint64_t i = 0; i < bytes; ++i) {
      if (shadow[i] == 0xff) continue;
      if (undefined++ == 0) first = i;
    }
    if (undefined == 0) return;
    Finding finding{.kind = FindingKind::kUninitializedRead,
                    .space = Space::kGlobal,
                    .place = where,
                    .address = address + first};
    if (const OriginPtr origin = memory_.OriginOf(address + first)) {
      // A kernel put them there: the line of its read is what is wrong.
      const Origin& from = *origin;
      finding.place = from.place;
      finding.space = from.space;
      if (from.shuffle) finding.kind = FindingKind::kShuffleMask;
      finding.message =
          from.shuffle
              ? fmt::format("a lane that does not take part is read; {} what comes of it", what)
          : from.space == Space::kNone
              ? fmt::format("a variable that was never given a value is stored; {} it", what)
              : fmt::format("{} memory that was never written is read; {} what comes of it",
                            NameOf(from.space), what);
      finding.other = where;
      finding.other_message = "seen by the host";
      finding.host_sees_it = true;
    } else {
      finding.severity = unwritten;
      finding.message = fmt::format(
          "{} {} bytes that were never written, the first {} bytes into "
          "the {}-byte allocation",
          what, undefined, address + first - region.start, region.size);
    }
    sink().Add(std::move(finding));
  }

  const bool padding_;
  std::map<uint64_t, vgpu::LaunchInfo> launches_;
  DefinedMemory memory_;
  std::map<std::pair<const Instruction*, uint64_t>, OriginPtr> origins_;
  std::map<WarpKey, OriginPtr> origins_of_warps_;
  std::map<std::pair<const Instruction*, uint64_t>, size_t> known_;
  LoadedBits loaded_;
  uint32_t lost_ = 0;  // lanes to which the shuffle at hand gives nothing
  MatrixAccesses matrix_;
  std::vector<uint8_t> bulk_;  // shadow of what a bulk copy has loaded
  size_t bulk_taken_ = 0;      // and written
  std::array<uint64_t, kWarpSize> async_target_{};
};

}  // namespace

std::unique_ptr<Checker> MakeInitChecker(FindingSink& sink, vgpu::VirtualGpu&) {
  return std::make_unique<InitChecker>(sink, true);
}

// Tensors have no gaps: what looks like one is a part of a number.
std::unique_ptr<Checker> MakeInitCheckerOfTensors(FindingSink& sink, vgpu::VirtualGpu&) {
  return std::make_unique<InitChecker>(sink, false);
}

}  // namespace kernelsmith::checkers
