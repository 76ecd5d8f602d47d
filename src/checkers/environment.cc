#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "checkers/environment_checker.h"
#include "checkers/environment_sources.h"
#include "checkers/suite.h"

namespace kernelsmith::checkers {

using vgpu::AccessKind;
using vgpu::Instruction;
using vgpu::Op;
using vgpu::Operand;
using vgpu::OperandBase;
using vgpu::WarpView;

namespace {

// What cudaMalloc promises. Tensors of PyTorch begin at multiples of 512, but not all memory is a
// tensor.
constexpr uint64_t kAllocationAlignment = 256;

std::string NameOf(uint8_t origins) {
  std::string names;
  const auto add = [&](uint8_t origin, const char* name) {
    if ((origins & origin) == 0) return;
    if (!names.empty()) names += " and ";
    names += name;
  };
  add(environment::kClock, "a clock");
  add(environment::kPlace, "where the thread runs (SM, warp or grid id)");
  add(environment::kAddress, "where memory lies (bits of an address)");
  return names;
}

}  // namespace

uint32_t EnvironmentChecker::interests() const {
  return vgpu::interest::kAccesses | vgpu::interest::kUndefinedBits |
         vgpu::interest::kClusterAccesses;
}

// -- the host -------------------------------------------------------------------------------------

void EnvironmentChecker::OnParameterPointers(std::span<const uint32_t> offsets) {
  parameter_pointers_ = {offsets.begin(), offsets.end()};
}

void EnvironmentChecker::OnPointersWritten(std::span<const uint64_t> places) {
  for (const uint64_t place : places) SetPointer(place);
}

void EnvironmentChecker::OnFree(const vgpu::Allocation& allocation, uint64_t, const Place&) {
  Forget(allocation.address, allocation.size);
}

void EnvironmentChecker::OnFill(const HostCopy& fill) {
  fill.ForEachRow([&](uint64_t to, uint64_t) { Forget(to, fill.width); });
}

void EnvironmentChecker::OnCopy(const HostCopy& copy) {
  copy.ForEachRow([&](uint64_t to, uint64_t from) {
    if (!copy.to_device) {
      if (copy.from_device) HostReads(from, copy.width, copy.place, "the host reads what");
      return;
    }
    std::vector<std::pair<uint64_t, LabelledWord>> moved;
    if (copy.from_device) {
      ForEachWord(from, copy.width, [&](uint64_t word, const LabelledWord& labelled) {
        // A copy that does not keep words together mixes their bytes.
        LabelledWord its = labelled;
        if ((to - from) % kWord != 0) its.label = labels_.Mixed(labels_.OriginsOf(its.label));
        const uint64_t at = word * kWord - from + to;
        moved.emplace_back(at / kWord, its);
        if (at % kWord != 0) moved.emplace_back(at / kWord + 1, its);
      });
    }
    Forget(to, copy.width);
    for (const auto& [word, labelled] : moved) global_[word] = labelled;
  });
}

void EnvironmentChecker::OnHostRead(uint64_t address, uint64_t bytes, const Place& where) {
  HostReads(address, bytes, where, "an output holds what");
}

// -- kernels --------------------------------------------------------------------------------------

void EnvironmentChecker::OnLaunchBegin(const vgpu::LaunchInfo& launch) {
  launch_ = launch;
  slots_.clear();
  const std::set<uint32_t> pointers = std::move(parameter_pointers_);
  parameter_pointers_.clear();
  ScanVariables();
  active_ = !global_.empty();
  if (!active_) {
    const auto [known, is_new] = looked_at_.try_emplace({launch.code, pointers}, false);
    if (is_new) known->second = MayDependOnEnvironment(*launch.code, pointers);
    active_ = known->second;
  }
  if (!active_) return;
  for (const uint32_t offset : pointers) SetPointer(launch_.parameters + offset);
  parameters_end_ = launch_.parameters + (pointers.empty() ? 0 : *pointers.rbegin() + 8);
}

void EnvironmentChecker::OnLaunchEnd(const vgpu::Fault*) {
  if (!active_) return;
  Forget(launch_.parameters, parameters_end_ - launch_.parameters);
  warps_.clear();
  shared_.clear();
  active_ = false;
}

void EnvironmentChecker::OnWarpBegin(WarpView& warp) {
  if (active_) warp.Track();
}

void EnvironmentChecker::OnWarpEnd(WarpView& warp) {
  if (active_) warps_.erase(KeyOf(warp));
}

void EnvironmentChecker::OnFrameCopy(WarpView& warp, int lane, uint64_t to, uint64_t from,
                                     uint32_t bytes) {
  if (!active_) return;
  auto& local = Warp(warp).local;
  for (uint64_t at = 0; at < bytes; at += kWord) {
    const auto source =
        local.find(LabelledWarp::LocalKey(lane, (from - launch_.local_window + at) / kWord));
    const uint64_t key = LabelledWarp::LocalKey(lane, (to - launch_.local_window + at) / kWord);
    if (source == local.end()) {
      local.erase(key);
    } else {
      local[key] = Label{source->second};
    }
  }
}

void EnvironmentChecker::OnDeviceMalloc(WarpView&, int, uint64_t address, uint64_t size) {
  if (active_ && address != 0) heap_[address] = size;
}

void EnvironmentChecker::BeforeInstruction(WarpView& warp, const Instruction& in, uint32_t mask) {
  if (!active_) return;
  frame_ = &Warp(warp).Current(warp, slots_);
  taken_ = 0;
  if (vgpu::AccessesMemory(in.op) || vgpu::MeetsLanes(in.op)) {
    bad_address_.fill(0);
    async_to_.fill(0);
    for (auto& words : loaded_) words.fill(kSameEverywhere);
  }
  CheckGuard(warp, in);
  if (mask == 0) return;
  CheckUses(warp, in, mask);
  // What reads no memory and needs no other lane: the operands still have their values.
  if (!vgpu::AccessesMemory(in.op) && !vgpu::MeetsLanes(in.op)) Compute(warp, in, mask);
}

void EnvironmentChecker::AfterInstruction(WarpView& warp, const Instruction& in, uint32_t mask) {
  if (!active_) return;
  frame_ = &Warp(warp).Current(warp, slots_);
  switch (in.op) {
    case Op::kLoad:
      Loaded(warp, in, mask);
      return;
    case Op::kShfl:
      Shuffled(warp, in, mask);
      return;
    case Op::kFrameAddress:
      ForEachLane(mask, [&](int lane) {
        const uint64_t at = warp.ReadOperand(in.d, lane);
        const uint64_t alignment = uint64_t{1} << std::countr_zero(at | kSmallAlignment);
        Set(in.d, lane, labels_.OwnObject(vgpu::MemorySpace::kLocal, at, alignment));
      });
      return;
    case Op::kAlloca:
    case Op::kStackSave:
      ForEachLane(mask, [&](int lane) {
        Set(in.d, lane,
            labels_.OwnObject(vgpu::MemorySpace::kLocal, warp.ReadOperand(in.d, lane),
                              kSmallAlignment));
      });
      return;
    default:
      break;
  }
  if (vgpu::AccessesMemory(in.op) || vgpu::MeetsLanes(in.op)) Mix(warp, in, mask);
}

bool EnvironmentChecker::OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) {
  if (!active_) return true;
  frame_ = &Warp(warp).Current(warp, slots_);
  const Instruction& in = *access.instruction;
  ForEachLane(access.mask, [&](int lane) {
    const uint64_t address = access.address[static_cast<size_t>(lane)];
    switch (access.kind) {
      case AccessKind::kLoad:
        Read(warp, in, lane, address, access.bytes);
        break;
      case AccessKind::kStore:
        Write(warp, in, lane, address, access.bytes);
        break;
      case AccessKind::kAtomic:
      case AccessKind::kReduction:
        Atomic(warp, in, lane, address, access.bytes);
        break;
      case AccessKind::kAsyncCopy:
        // The target of cp.async; its source is told next.
        async_to_[static_cast<size_t>(lane)] = address;
        SetWords(warp, lane, address, access.bytes, kSameEverywhere, in);
        break;
      default:
        break;
    }
  });
  return true;
}

// -- addresses ------------------------------------------------------------------------------------

Label EnvironmentChecker::PointerLabel(uint64_t address) {
  if (address == 0) return kSameEverywhere;
  if (const auto block = heap_.upper_bound(address); block != heap_.begin()) {
    const auto& [start, size] = *std::prev(block);
    if (address - start <= size) return labels_.Object(start, size, kSmallAlignment);
  }
  if (address - memory_.code_window() < vgpu::kCodeWindowSize) {
    return labels_.Object(address, 0, vgpu::kCodeStride);
  }
  const auto allocation = memory_.FindForReport(address);
  if (!allocation) return labels_.Opaque(environment::kAddress, ~0ULL);
  return labels_.Object(allocation->address, allocation->size, kAllocationAlignment);
}

void EnvironmentChecker::SetPointer(uint64_t place) {
  const void* bytes = memory_.HostAlias(place, sizeof(uint64_t));
  if (bytes == nullptr) return;
  uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  const Labelled whole{value, PointerLabel(value)};
  if (whole.label == kSameEverywhere) return;
  const uint64_t word = place / kWord;
  if (place % kWord == 0) {
    global_[word] = {.label = labels_.LowHalf(whole)};
    global_[word + 1] = {.label = labels_.HighHalf(whole)};
    return;
  }
  for (uint64_t i = 0; i < 3; ++i) {
    global_[word + i] = {.label = labels_.Mixed(environment::kAddress)};
  }
}

void EnvironmentChecker::ScanVariables() {
  if (memory_.generation() == scanned_) return;
  for (const vgpu::Allocation& variable : memory_.LiveAllocations()) {
    if (variable.kind != vgpu::AllocationKind::kGlobal &&
        variable.kind != vgpu::AllocationKind::kConstant) {
      continue;
    }
    if (!variables_.insert(variable.id).second) continue;
    const void* bytes = memory_.HostAlias(variable.address, variable.size);
    for (uint64_t at = 0; bytes != nullptr && at + 8 <= variable.size; at += 8) {
      uint64_t value;
      std::memcpy(&value, static_cast<const std::byte*>(bytes) + at, sizeof value);
      if (memory_.InReservedRange(value)) SetPointer(variable.address + at);
    }
  }
  scanned_ = memory_.generation();
}

// -- uses -----------------------------------------------------------------------------------------

void EnvironmentChecker::CheckGuard(WarpView& warp, const Instruction& in) {
  if (in.guard.base() != OperandBase::kRegister) return;
  const uint32_t lanes = frame_->Lanes(in.guard) & warp.active_lanes();
  if (lanes == 0) return;
  const int lane = std::countr_zero(lanes);
  Use(warp, in, lane, labels_.OriginsOf(frame_->Get(in.guard, lane)),
      in.control ? "a branch depends on" : "whether an instruction is executed depends on");
}

void EnvironmentChecker::CheckUses(WarpView& warp, const Instruction& in, uint32_t mask) {
  const bool lane_access =
      vgpu::IsLaneAccess(in.op) && (in.address == vgpu::AddressBase::kRegister32 ||
                                    in.address == vgpu::AddressBase::kRegister64);
  if (vgpu::AccessesMemory(in.op) && (lane_access || !vgpu::IsLaneAccess(in.op))) {
    ForEachLane(mask, [&](int lane) {
      uint8_t bad = 0;
      for (const Operand operand : {in.a, in.b, in.e}) {
        if (!operand.exists() || !IsPlace(in, operand)) continue;
        bad |= labels_.OriginsOfPlace(LabelOf(warp, in, operand, lane));
      }
      bad_address_[static_cast<size_t>(lane)] = bad;
      if (bad != 0 && vgpu::WritesMemory(in.op)) {
        Use(warp, in, lane, bad, "where memory is written depends on");
      }
    });
  }
  switch (in.op) {
    case Op::kBrxIdx:
      Check(warp, in, in.a, mask, "a jump depends on");
      break;
    case Op::kCall:
      if (in.a.exists()) {
        ForEachLane(mask, [&](int lane) {
          const uint8_t bad = labels_.OriginsOfPlace(LabelOf(warp, in, in.a, lane));
          if (bad != 0) Use(warp, in, lane, bad, "which function is called depends on");
        });
      }
      break;
    case Op::kBarrier:
      for (const Operand operand : {in.a, in.b, in.c}) {
        Check(warp, in, operand, mask, "what a barrier does depends on");
      }
      // The result comes when the last thread has come, out of sight.
      ForEachLane(mask, [&](int lane) { Set(in.d, lane, kSameEverywhere); });
      break;
    case Op::kBulkCopy:
      Check(warp, in, in.c, mask, "what is copied depends on");
      for (uint32_t k = 0; k < in.list_count; ++k) {
        Check(warp, in, warp.function().list[in.list_first + k], mask, "what is copied depends on");
      }
      break;
    case Op::kCpAsync:
      Check(warp, in, in.c, mask, "what is copied depends on");
      Check(warp, in, in.e, mask, "what is copied depends on");
      break;
    case Op::kSurfaceStore:
      for (uint32_t k = 0; k < in.list_count; ++k) {
        Check(warp, in, warp.function().list[in.list_first + k], mask,
              "what a surface gets depends on");
      }
      break;
    case Op::kMbarrier:
      for (const Operand operand : {in.b, in.c, in.e}) {
        Check(warp, in, operand, mask, "what a barrier does depends on");
      }
      break;
    case Op::kWmmaStore:
    case Op::kStmatrix:
      Check(warp, in, in.b, mask, "where memory is written depends on");
      break;
    case Op::kAlloca:
      Check(warp, in, in.a, mask, "how much stack is taken depends on");
      break;
    default:
      break;
  }
  if (vgpu::MeetsLanes(in.op) && !vgpu::IsMatrix(in.op) && in.op != Op::kWgmma) {
    Check(warp, in, in.e, mask, "which lanes meet depends on");
  }
}

void EnvironmentChecker::Check(WarpView& warp, const Instruction& in, Operand operand,
                               uint32_t mask, const char* what) {
  if (!operand.exists()) return;
  ForEachLane(mask, [&](int lane) {
    const uint8_t origins = OriginsOf(warp, in, operand, lane);
    if (origins != 0) Use(warp, in, lane, origins, what);
  });
}

void EnvironmentChecker::Use(WarpView& warp, const Instruction& in, int lane, uint8_t origins,
                             const char* what) {
  const auto [known, is_new] = known_.try_emplace({&in, launch_.id, origins}, 0);
  if (!is_new) {
    sink().Count(known->second, 1);
    return;
  }
  known->second = sink().Add({.kind = FindingKind::kEnvironmentDecides,
                              .place = PlaceOf(launch_.kernel, warp, in, lane),
                              .message = fmt::format("{} {}", what, NameOf(origins)),
                              .environment = origins});
}

uint32_t EnvironmentChecker::StoreAt(WarpView& warp, const Instruction& in, int lane) {
  const auto [known, is_new] =
      stores_.try_emplace({&in, launch_.id}, static_cast<uint32_t>(places_.size()));
  if (is_new) places_.push_back(PlaceOf(launch_.kernel, warp, in, lane));
  return known->second + 1;
}

void EnvironmentChecker::HostReads(uint64_t address, uint64_t bytes, const Place& where,
                                   const char* what) {
  std::set<std::pair<uint32_t, uint8_t>> told;
  ForEachWord(address, bytes, [&](uint64_t word, const LabelledWord& labelled) {
    const uint8_t origins = labels_.OriginsOf(labelled.label);
    if (!told.insert({labelled.place, origins}).second) return;
    Finding finding{.kind = FindingKind::kEnvironmentDecides,
                    .space = Space::kGlobal,
                    .place = where,
                    .message = fmt::format("{} depends on {}", what, NameOf(origins)),
                    .address = word * kWord,
                    .environment = origins};
    if (labelled.place > 0) finding.place = places_[labelled.place - 1];
    sink().Add(std::move(finding));
  });
}

std::unique_ptr<Checker> MakeEnvironmentChecker(FindingSink& sink, vgpu::VirtualGpu& gpu) {
  return std::make_unique<EnvironmentChecker>(sink, gpu.memory());
}

}  // namespace kernelsmith::checkers
