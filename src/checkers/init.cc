#include "checkers/init.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "checkers/undefined_bits.h"

namespace kernelsmith::checkers {

namespace {

using vgpu::AccessKind;
using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::Op;
using vgpu::Operand;
using vgpu::OperandBase;
using vgpu::WarpView;

// The widest access: eight elements of eight bytes.
constexpr size_t kMostBytes = 64;

struct Freer {
  void operator()(uint8_t* bytes) const { std::free(bytes); }
};

// Global memory that began without a value. The shadow (1: defined) comes as zero pages that cost
// nothing until touched.
struct Region {
  uint64_t start = 0;
  uint64_t size = 0;
  std::unique_ptr<uint8_t, Freer> defined;

  bool Contains(uint64_t address, uint64_t bytes) const {
    return address - start < size && size - (address - start) >= bytes;
  }
};

// Where undefined bits came from.
struct Origin {
  Place place;
  Space space = Space::kNone;
};

class InitChecker final : public Checker {
 public:
  explicit InitChecker(FindingSink& sink) : Checker(sink) {}

  uint32_t interests() const override {
    return vgpu::interest::kAccesses | vgpu::interest::kUndefinedBits;
  }

  // -- the host -----------------------------------------------------------------------------------
  void OnAllocate(const vgpu::Allocation& allocation, const Place&) override {
    // The host writes to managed and pinned memory without telling us.
    if (allocation.kind == vgpu::AllocationKind::kDevice)
      AddRegion(allocation.address, allocation.size);
  }
  void OnFree(const vgpu::Allocation& allocation, uint64_t, const Place&) override {
    RemoveRegion(allocation.address);
  }
  void OnFill(const HostCopy& fill) override {
    ForEachRow(fill, [&](uint64_t to, uint64_t) { SetDefined(to, fill.width, 0xff); });
  }
  void OnDefined(uint64_t address, uint64_t bytes) override { SetDefined(address, bytes, 0xff); }
  void OnCopy(const HostCopy& copy) override {
    ForEachRow(copy, [&](uint64_t to, uint64_t from) {
      Region* source = copy.from_device ? Find(from, copy.width) : nullptr;
      Region* target = copy.to_device ? Find(to, copy.width) : nullptr;
      if (target != nullptr && source != nullptr) {
        std::memmove(target->defined.get() + (to - target->start),
                     source->defined.get() + (from - source->start), copy.width);
        CopyOrigins(to, from, copy.width);
      } else if (target != nullptr) {
        SetDefined(to, copy.width, 0xff);
      } else if (source != nullptr && !copy.to_device) {
        HostReads(*source, from, copy.width, copy.place, "the host copies");
      } else if (source != nullptr) {
        HostReads(*source, from, copy.width, copy.place, "a copy to memory of the host takes");
      }
    });
  }
  void OnHostRead(uint64_t address, uint64_t bytes, const Place& where) override {
    if (Region* region = Find(address, bytes)) {
      HostReads(*region, address, bytes, where, "the output has");
    }
  }

  // -- kernels ------------------------------------------------------------------------------------
  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override { launches_[launch.id] = launch; }

  void OnDeviceMalloc(WarpView&, int, uint64_t address, uint64_t size) override {
    if (address != 0) AddRegion(address, size);
  }
  bool OnDeviceFree(WarpView&, int, uint64_t address) override {
    RemoveRegion(address);
    return true;
  }

  void OnWarpEnd(WarpView& warp) override { origins_of_warps_.erase(KeyOf(warp)); }

  bool OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) override {
    const Instruction& in = *access.instruction;
    pending_ = false;
    if (in.op == Op::kCpAsync) {
      AsyncCopy(warp, access);
      return true;
    }
    switch (access.kind) {
      case AccessKind::kLoad:
        Load(warp, access);
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
  }

  void AfterInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override {
    if (!warp.tracked()) return;
    Propagate(warp, in, mask);
    pending_ = false;
  }

 private:
  using WarpKey = std::tuple<uint64_t, uint64_t, uint32_t>;
  static WarpKey KeyOf(const WarpView& warp) {
    return {warp.launch_id(), warp.block_number(), warp.warp_in_block()};
  }

  template <typename Row>
  static void ForEachRow(const HostCopy& copy, const Row& row) {
    for (uint64_t z = 0; z < copy.depth; ++z) {
      for (uint64_t y = 0; y < copy.height; ++y) {
        row(copy.to + z * copy.to_slice + y * copy.to_pitch,
            copy.from + z * copy.from_slice + y * copy.from_pitch);
      }
    }
  }

  void AddRegion(uint64_t start, uint64_t size) {
    RemoveRegion(start);
    if (size == 0) return;
    Region region{.start = start, .size = size};
    region.defined.reset(static_cast<uint8_t*>(std::calloc(size, 1)));
    if (region.defined == nullptr) return;  // too large to watch
    regions_[start] = std::move(region);
    last_ = nullptr;
  }
  void RemoveRegion(uint64_t start) {
    const auto it = regions_.find(start);
    if (it == regions_.end()) return;
    stored_.erase(stored_.lower_bound(start), stored_.lower_bound(start + it->second.size));
    regions_.erase(it);
    last_ = nullptr;
  }
  Region* Find(uint64_t address, uint64_t bytes) {
    if (last_ != nullptr && last_->Contains(address, bytes)) return last_;
    auto it = regions_.upper_bound(address);
    if (it == regions_.begin()) return nullptr;
    Region& region = std::prev(it)->second;
    if (!region.Contains(address, bytes)) return nullptr;
    last_ = &region;
    return last_;
  }
  void SetDefined(uint64_t address, uint64_t bytes, uint8_t value) {
    if (Region* region = Find(address, bytes)) {
      std::memset(region->defined.get() + (address - region->start), value, bytes);
    }
  }

  // The shadow of [address, address + bytes) as the lane sees it; null: all defined, or not there.
  uint8_t* ShadowAt(WarpView& warp, const vgpu::LaunchInfo& launch, int lane, uint64_t address,
                    uint32_t bytes, Space* space) {
    if (address - launch.shared_window < vgpu::kSharedWindowSize) {
      const uint64_t offset = address - launch.shared_window;
      *space = Space::kShared;
      return offset + bytes <= warp.shared_bytes() ? warp.DefinedShared() + offset : nullptr;
    }
    if (address - launch.local_window < vgpu::kLocalWindowSize) {
      const uint64_t offset = address - launch.local_window;
      *space = Space::kLocal;
      return offset + bytes <= warp.local_bytes() ? warp.DefinedLocal(lane) + offset : nullptr;
    }
    *space = Space::kGlobal;
    Region* region = Find(address, bytes);
    return region == nullptr ? nullptr : region->defined.get() + (address - region->start);
  }

  static bool AllDefined(const uint8_t* shadow, uint32_t bytes) {
    uint8_t all = 0xff;
    for (uint32_t i = 0; i < bytes; ++i) all &= shadow[i];
    return all == 0xff;
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
    return Find(*low, *high - *low);
  }

  void Load(WarpView& warp, const vgpu::MemoryAccess& access) {
    uint64_t low = 0;
    uint64_t high = 0;
    if (Region* region = CommonRegion(access, &low, &high);
        region != nullptr && high - low <= 32 * uint64_t{access.bytes} &&
        AllDefined(region->defined.get() + (low - region->start),
                   static_cast<uint32_t>(high - low))) {
      return;
    }
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint64_t address = access.address[static_cast<size_t>(lane)];
      Space space = Space::kNone;
      const uint8_t* shadow = ShadowAt(warp, launch, lane, address, access.bytes, &space);
      if (shadow == nullptr || AllDefined(shadow, access.bytes)) continue;
      if (!pending_) {
        pending_ = true;
        std::memset(pending_bits_.data(), 0, sizeof pending_bits_);
      }
      for (uint32_t i = 0; i < std::min<size_t>(access.bytes, kMostBytes); ++i) {
        pending_bits_[static_cast<size_t>(lane)][i] = static_cast<uint8_t>(~shadow[i]);
      }
      NoteOrigin(warp, *access.instruction, lane, space, address, access.bytes);
    }
    if (pending_) warp.Track();
  }

  void NoteOrigin(WarpView& warp, const Instruction& in, int lane, Space space, uint64_t address,
                  uint32_t bytes) {
    const auto known = stored_.lower_bound(address);
    if (space == Space::kGlobal && known != stored_.end() && known->first < address + bytes) {
      origins_of_warps_[KeyOf(warp)] = known->second;
      return;
    }
    std::shared_ptr<const Origin>& cached = origins_[{&in, warp.launch_id()}];
    if (cached == nullptr) {
      cached = std::make_shared<Origin>(
          Origin{PlaceOf(launches_[warp.launch_id()].kernel, warp, in, lane), space});
    }
    origins_of_warps_[KeyOf(warp)] = cached;
  }

  // Bits of a register element of one lane.
  static uint64_t UndefinedOf(WarpView& warp, Operand operand, int lane, int part = 0) {
    if (!operand.exists()) return 0;
    const auto* lanes = static_cast<const std::byte*>(warp.UndefinedLanes(operand));
    if (lanes == nullptr) return 0;
    if (operand.is_predicate()) {
      uint32_t word;
      std::memcpy(&word, lanes, sizeof word);
      return word >> lane & 1;
    }
    uint64_t value = 0;
    const uint32_t bytes = operand.bytes();
    std::memcpy(&value, lanes + static_cast<size_t>(lane) * bytes + static_cast<size_t>(part) * 8,
                std::min<uint32_t>(bytes, 8));
    return value;
  }
  static void SetUndefined(WarpView& warp, Operand operand, int lane, uint64_t bits, int part = 0) {
    if (!operand.exists()) return;
    auto* lanes = static_cast<std::byte*>(warp.UndefinedLanes(operand));
    if (lanes == nullptr) return;
    if (operand.is_predicate()) {
      uint32_t word;
      std::memcpy(&word, lanes, sizeof word);
      word = (word & ~(1u << lane)) | static_cast<uint32_t>(bits & 1) << lane;
      std::memcpy(lanes, &word, sizeof word);
      return;
    }
    const uint32_t bytes = operand.bytes();
    std::memcpy(lanes + static_cast<size_t>(lane) * bytes + static_cast<size_t>(part) * 8, &bits,
                std::min<uint32_t>(bytes, 8));
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
        if (Contiguous(access, low)) {
          std::memset(region->defined.get() + (low - region->start), 0xff, high - low);
          return;
        }
      }
    }
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    const bool simple = in.op == Op::kStore;
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint64_t address = access.address[static_cast<size_t>(lane)];
      Space space = Space::kNone;
      uint8_t* shadow = ShadowAt(warp, launch, lane, address, access.bytes, &space);
      if (shadow == nullptr) continue;
      if (!warp.tracked() || !simple) {
        std::memset(shadow, 0xff, access.bytes);
        continue;
      }
      bool undefined = false;
      const uint32_t count = in.list_count > 0 ? in.list_count : 1;
      const uint32_t element = access.bytes / count;
      for (uint32_t k = 0; k < count; ++k) {
        const Operand source = in.list_count > 0 ? warp.function().list[in.list_first + k] : in.b;
        for (uint32_t i = 0; i < element; ++i) {
          const uint64_t bits = UndefinedOf(warp, source, lane, static_cast<int>(i / 8));
          const auto byte = static_cast<uint8_t>(bits >> (8 * (i % 8)));
          shadow[k * element + i] = static_cast<uint8_t>(~byte);
          undefined |= byte != 0;
        }
      }
      if (space == Space::kGlobal) {
        stored_.erase(stored_.lower_bound(address), stored_.lower_bound(address + access.bytes));
        if (undefined) stored_[address] = OriginOf(warp, in, lane);
      }
    }
  }

  static bool Contiguous(const vgpu::MemoryAccess& access, uint64_t low) {
    uint64_t next = low;
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      if (access.address[static_cast<size_t>(std::countr_zero(rest))] != next) return false;
      next += access.bytes;
    }
    return true;
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
        if (!pending_) {
          pending_ = true;
          std::memset(pending_bits_.data(), 0, sizeof pending_bits_);
        }
        for (uint32_t i = 0; i < std::min<size_t>(access.bytes, kMostBytes); ++i) {
          pending_bits_[static_cast<size_t>(lane)][i] = static_cast<uint8_t>(~shadow[i]);
        }
        NoteOrigin(warp, in, lane, space, address, access.bytes);
        if (space == Space::kGlobal && !exchange) stored_[address] = OriginOf(warp, in, lane);
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
    if (pending_) warp.Track();
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

  // -- registers ----------------------------------------------------------------------------------

  void CheckUses(WarpView& warp, const Instruction& in, uint32_t mask) {
    const bool effect = in.control || in.op == Op::kStore || in.op == Op::kRed ||
                        in.op == Op::kAtom || in.op == Op::kAtomVector;
    if (effect && in.guard.base() == OperandBase::kRegister) {
      for (uint32_t rest = warp.active_lanes(); rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        if (UndefinedOf(warp, in.guard, lane) == 0) continue;
        Use(warp, in, lane,
            in.control ? "a branch depends on" : "whether memory is written depends on");
        SetUndefined(warp, in.guard, lane, 0);  // reported: once is enough
      }
    }
    const bool access = in.op == Op::kLoad || in.op == Op::kStore || in.op == Op::kAtom ||
                        in.op == Op::kRed || in.op == Op::kAtomVector;
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

  void Use(WarpView& warp, const Instruction& in, int lane, const char* what) {
    const auto known = known_.find({&in, warp.launch_id()});
    if (known != known_.end()) {
      sink().Count(known->second, 1);
      return;
    }
    Finding finding{.kind = FindingKind::kUninitializedRead,
                    .place = PlaceOf(launches_[warp.launch_id()].kernel, warp, in, lane)};
    const auto origin = origins_of_warps_.find(KeyOf(warp));
    if (origin != origins_of_warps_.end() && origin->second->space != Space::kNone) {
      finding.space = origin->second->space;
      finding.message =
          fmt::format("{} {} memory that was never written", what, NameOf(origin->second->space));
      finding.other = origin->second->place;
      finding.other_message = "read here";
    } else {
      finding.message = fmt::format("{} a variable that was never given a value", what);
    }
    known_[{&in, warp.launch_id()}] = sink().Add(std::move(finding));
  }

  std::shared_ptr<const Origin> OriginOf(WarpView& warp, const Instruction& in, int lane) {
    const auto it = origins_of_warps_.find(KeyOf(warp));
    if (it != origins_of_warps_.end()) return it->second;
    return std::make_shared<Origin>(
        Origin{PlaceOf(launches_[warp.launch_id()].kernel, warp, in, lane), Space::kNone});
  }

  void Propagate(WarpView& warp, const Instruction& in, uint32_t mask) {
    switch (in.op) {
      case Op::kLoad:
        PropagateLoad(warp, in, mask);
        return;
      case Op::kAtom:
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
          const int lane = std::countr_zero(rest);
          SetUndefined(warp, in.d, lane, pending_ ? PendingBits(lane, 0, 8) : 0);
        }
        return;
      case Op::kPack:
      case Op::kUnpack:
        PropagatePacking(warp, in, mask);
        return;
      case Op::kShfl:
        PropagateShuffle(warp, in, mask);
        return;
      case Op::kStore:
      case Op::kRed:
      case Op::kCpAsync:
      case Op::kCall:
        return;
      case Op::kVote:
      case Op::kRedux:
      case Op::kMatchAny:
      case Op::kMatchAll: {
        uint64_t any = 0;
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
          any |= UndefinedOf(warp, in.a, std::countr_zero(rest));
        }
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
          const int lane = std::countr_zero(rest);
          SetUndefined(warp, in.d, lane, any != 0 ? ~uint64_t{0} : 0);
          SetUndefined(warp, in.d2, lane, any != 0 ? ~uint64_t{0} : 0);
        }
        return;
      }
      default:
        break;
    }
    if (in.list_count > 0) {
      // Matrix instructions: what of a fragment depends on what is not followed.
      for (uint32_t k = 0; k < in.list_count; ++k) {
        Clear(warp, warp.function().list[in.list_first + k], mask);
      }
    }
    if (!in.d.exists() && !in.d2.exists()) return;
    const bool guarded = in.guard.base() == OperandBase::kRegister;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const auto operand = [&](Operand o) {
        return Shadowed{warp.ReadOperand(o, lane), UndefinedOf(warp, o, lane)};
      };
      const Shadowed a = operand(in.a);
      const Shadowed b = operand(in.b);
      const Shadowed c = operand(in.c);
      const Shadowed e = operand(in.e);
      const int bits =
          !in.d.exists() || in.d.is_predicate() ? 1 : static_cast<int>(in.d.bytes()) * 8;
      uint64_t undefined = UndefinedResult(in, a, b, c, e, std::min(bits, 64));
      if (guarded && UndefinedOf(warp, in.guard, lane) != 0) undefined = ~uint64_t{0};
      SetUndefined(warp, in.d, lane, undefined);
      if (bits == 128) SetUndefined(warp, in.d, lane, UndefinedOf(warp, in.a, lane, 1), 1);
      const uint64_t any = a.undefined | b.undefined | c.undefined | e.undefined;
      SetUndefined(warp, in.d2, lane, any != 0 ? ~uint64_t{0} : 0);
    }
  }

  static void Clear(WarpView& warp, Operand operand, uint32_t mask) {
    if (!operand.exists() || operand.base() != OperandBase::kRegister) return;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      SetUndefined(warp, operand, lane, 0);
      if (operand.bytes() == 16) SetUndefined(warp, operand, lane, 0, 1);
    }
  }

  uint64_t PendingBits(int lane, uint32_t first, uint32_t bytes) const {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < bytes && first + i < kMostBytes; ++i) {
      bits |= uint64_t{pending_bits_[static_cast<size_t>(lane)][first + i]} << (8 * i);
    }
    return bits;
  }

  void PropagateLoad(WarpView& warp, const Instruction& in, uint32_t mask) {
    const uint32_t count = in.list_count > 0 ? in.list_count : 1;
    const uint32_t bytes = in.bytes;
    const bool sign = ptx::KindOf(in.type) == ptx::TypeKind::kSigned;
    for (uint32_t k = 0; k < count; ++k) {
      const Operand target = in.list_count > 0 ? warp.function().list[in.list_first + k] : in.d;
      if (!target.exists()) continue;
      for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        uint64_t bits = pending_ ? PendingBits(lane, k * bytes, std::min(bytes, 8u)) : 0;
        if (sign && bytes < 8 && (bits >> (8 * bytes - 1) & 1) != 0)
          bits |= ~uint64_t{0} << (8 * bytes);
        SetUndefined(warp, target, lane, bits);
        if (target.bytes() == 16) {
          SetUndefined(warp, target, lane, pending_ ? PendingBits(lane, k * bytes + 8, 8) : 0, 1);
        }
      }
    }
  }

  static void PropagatePacking(WarpView& warp, const Instruction& in, uint32_t mask) {
    const bool pack = in.op == Op::kPack;
    const Operand whole = pack ? in.d : in.a;
    const uint32_t count = in.list_count;
    if (count == 0 || !whole.exists()) return;
    const uint32_t width = whole.bytes() * 8 / count;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      std::array<uint64_t, 2> bits{};
      if (!pack) {
        bits = {UndefinedOf(warp, whole, lane, 0),
                whole.bytes() == 16 ? UndefinedOf(warp, whole, lane, 1) : 0};
      }
      for (uint32_t k = 0; k < count; ++k) {
        const Operand part = warp.function().list[in.list_first + k];
        const uint32_t at = k * width;
        const uint64_t ones = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
        if (pack) {
          bits[at / 64] |= (UndefinedOf(warp, part, lane) & ones) << (at % 64);
        } else {
          SetUndefined(warp, part, lane, bits[at / 64] >> (at % 64) & ones);
        }
      }
      if (pack) {
        SetUndefined(warp, whole, lane, bits[0]);
        if (whole.bytes() == 16) SetUndefined(warp, whole, lane, bits[1], 1);
      }
    }
  }

  static void PropagateShuffle(WarpView& warp, const Instruction& in, uint32_t mask) {
    std::array<uint64_t, kWarpSize> bits{};
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const int from = ShuffleSource(static_cast<vgpu::ShuffleMode>(in.variant), lane,
                                     static_cast<uint32_t>(warp.ReadOperand(in.b, lane)),
                                     static_cast<uint32_t>(warp.ReadOperand(in.c, lane)));
      // An inactive source is another checker's business.
      const int source = (mask >> from & 1) != 0 ? from : lane;
      bits[static_cast<size_t>(lane)] = UndefinedOf(warp, in.a, source);
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      SetUndefined(warp, in.d, lane, bits[static_cast<size_t>(lane)]);
      SetUndefined(warp, in.d2, lane, 0);
    }
  }

  // -- the host looks -----------------------------------------------------------------------------

  void CopyOrigins(uint64_t to, uint64_t from, uint64_t bytes) {
    std::vector<std::pair<uint64_t, std::shared_ptr<const Origin>>> copied;
    for (auto it = stored_.lower_bound(from); it != stored_.end() && it->first < from + bytes;
         ++it) {
      copied.emplace_back(it->first - from + to, it->second);
    }
    for (auto& [address, origin] : copied) stored_[address] = std::move(origin);
  }

  void HostReads(Region& region, uint64_t address, uint64_t bytes, const Place& where,
                 const char* what) {
    const uint8_t* shadow = region.defined.get() + (address - region.start);
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
    const auto origin = stored_.upper_bound(address + first);
    if (origin != stored_.begin() && std::prev(origin)->first + 16 > address + first) {
      // A kernel put them there: the line of its read is what is wrong.
      const Origin& from = *std::prev(origin)->second;
      finding.place = from.place;
      finding.space = from.space;
      finding.message =
          from.space == Space::kNone
              ? fmt::format("a variable that was never given a value is stored; {} it", what)
              : fmt::format("{} memory that was never written is read; {} what comes of it",
                            NameOf(from.space), what);
      finding.other = where;
      finding.other_message = "seen by the host";
    } else {
      // A warning: the host may know how much of the buffer counts, or copy the padding of structs.
      finding.severity = Severity::kWarning;
      finding.message = fmt::format(
          "{} {} bytes that were never written, the first {} bytes into "
          "the {}-byte allocation",
          what, undefined, address + first - region.start, region.size);
    }
    sink().Add(std::move(finding));
  }

  std::map<uint64_t, vgpu::LaunchInfo> launches_;
  std::map<uint64_t, Region> regions_;
  Region* last_ = nullptr;
  // Undefined bytes that kernels stored, by address of the store.
  std::map<uint64_t, std::shared_ptr<const Origin>> stored_;
  std::map<std::pair<const Instruction*, uint64_t>, std::shared_ptr<const Origin>> origins_;
  std::map<WarpKey, std::shared_ptr<const Origin>> origins_of_warps_;
  std::map<std::pair<const Instruction*, uint64_t>, size_t> known_;
  // What the load that is being executed brings.
  bool pending_ = false;
  std::array<std::array<uint8_t, kMostBytes>, kWarpSize> pending_bits_{};
  std::array<uint64_t, kWarpSize> async_target_{};
};

}  // namespace

std::unique_ptr<Checker> MakeInitChecker(FindingSink& sink) {
  return std::make_unique<InitChecker>(sink);
}

}  // namespace kernelsmith::checkers
