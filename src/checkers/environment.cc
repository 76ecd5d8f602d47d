// What a kernel makes of the machine it runs on: clocks, where a thread runs, and addresses. They
// must not decide anything, or the kernel could be another one for the user than for the judge.
// They are followed through registers and memory (environment_labels.h) and reported where they
// decide: a branch, a guard, which place is written, and what is in an output.
#include "vgpu/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "checkers/environment_registers.h"
#include "checkers/environment_sources.h"
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

// What cudaMalloc promises. Tensors of PyTorch begin at multiples of 512, but not all memory is a
// tensor.
constexpr uint64_t kAllocationAlignment = 256;
// Blocks of device malloc, and what local variables can count on.
constexpr uint64_t kSmallAlignment = 16;
// The first byte of a block's shared memory is a multiple of this on every GPU: what the system
// keeps in front of it is 0 or 1024 bytes.
constexpr uint64_t kSharedAlignment = 1024;
constexpr uint64_t kWord = 4;
// The widest access, in words: eight elements of eight bytes.
constexpr size_t kMostWords = 16;

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

class EnvironmentChecker final : public Checker {
 public:
  EnvironmentChecker(FindingSink& sink, vgpu::DeviceMemory& memory)
      : Checker(sink), memory_(memory) {}

  uint32_t interests() const override {
    return vgpu::interest::kAccesses | vgpu::interest::kUndefinedBits |
           vgpu::interest::kClusterAccesses;
  }
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override { return vgpu::ScreenChecks{}; }
  bool MayScreen() override { return !active_; }
  void OnScreenedWrite(uint64_t address, uint64_t bytes) override { Forget(address, bytes); }

  // -- the host -----------------------------------------------------------------------------------
  void OnParameterPointers(std::span<const uint32_t> offsets) override {
    parameter_pointers_ = {offsets.begin(), offsets.end()};
  }
  void OnPointersWritten(std::span<const uint64_t> places) override {
    for (const uint64_t place : places) SetPointer(place);
  }
  void OnFree(const vgpu::Allocation& allocation, uint64_t, const Place&) override {
    Forget(allocation.address, allocation.size);
  }
  void OnFill(const HostCopy& fill) override {
    ForEachRow(fill, [&](uint64_t to, uint64_t) { Forget(to, fill.width); });
  }
  void OnDefined(uint64_t address, uint64_t bytes) override { Forget(address, bytes); }
  void OnCopy(const HostCopy& copy) override {
    ForEachRow(copy, [&](uint64_t to, uint64_t from) {
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
  void OnHostRead(uint64_t address, uint64_t bytes, const Place& where) override {
    HostReads(address, bytes, where, "an output holds what");
  }

  // -- kernels ------------------------------------------------------------------------------------
  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override {
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
    FindLaunchMemory();
    for (const uint32_t offset : pointers) SetPointer(parameters_ + offset);
    parameters_end_ = parameters_ + (pointers.empty() ? 0 : *pointers.rbegin() + 8);
  }
  void OnLaunchEnd(const vgpu::Fault*) override {
    if (!active_) return;
    Forget(parameters_, parameters_end_ - parameters_);
    warps_.clear();
    shared_.clear();
    active_ = false;
  }
  void OnWarpBegin(WarpView& warp) override {
    if (active_) warp.Track();
  }
  void OnWarpEnd(WarpView& warp) override {
    if (active_) warps_.erase(KeyOf(warp));
  }
  void OnBlockEnd(uint64_t block) override { shared_.erase(block); }

  void OnFrameCopy(WarpView& warp, int lane, uint64_t to, uint64_t from, uint32_t bytes) override {
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
  void OnDeviceMalloc(WarpView&, int, uint64_t address, uint64_t size) override {
    if (active_ && address != 0) heap_[address] = size;
  }

  void BeforeInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override {
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

  void AfterInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override {
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

  bool OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) override {
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

 private:
  using WarpKey = std::pair<uint64_t, uint32_t>;
  static WarpKey KeyOf(const WarpView& warp) { return {warp.block_number(), warp.warp_in_block()}; }
  LabelledWarp& Warp(const WarpView& warp) { return warps_[KeyOf(warp)]; }

  template <typename Visit>
  static void ForEachLane(uint32_t mask, const Visit& visit) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) visit(std::countr_zero(rest));
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

  // -- addresses ----------------------------------------------------------------------------------

  // The label of a value that is known to be an address.
  Label PointerLabel(uint64_t address) {
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

  // Eight bytes of global memory are an address.
  void SetPointer(uint64_t place) {
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

  // What the engine allocated for the launch, just now: parameters, and the memory of the grid's
  // barrier.
  void FindLaunchMemory() {
    uint64_t newest = 0;
    uint64_t newest_workspace = 0;
    parameters_ = 0;
    workspace_ = 0;
    for (const vgpu::Allocation& each : memory_.LiveAllocations()) {
      if (each.kind == vgpu::AllocationKind::kParameter && each.id > newest) {
        newest = each.id;
        parameters_ = each.address;
      }
      if (each.where.starts_with("grid barrier of kernel") && each.id > newest_workspace) {
        newest_workspace = each.id;
        workspace_ = each.address;
      }
    }
  }

  // Variables of the module that are addresses from the beginning: tables of functions.
  void ScanVariables() {
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

  // -- registers ----------------------------------------------------------------------------------

  Label LabelOf(const WarpView& warp, const Instruction& in, Operand operand, int lane) {
    if (!operand.exists()) return kSameEverywhere;
    switch (operand.base()) {
      case OperandBase::kRegister:
        return frame_->Get(operand, lane);
      case OperandBase::kConstant:
        return frame_->HasSymbol(in) ? SymbolLabel(warp, in, operand) : kSameEverywhere;
      default:
        return SpecialLabel(warp.function(), in, operand);
    }
  }
  Label SpecialLabel(const vgpu::Function& function, const Instruction& in, Operand operand) {
    const Labelled workspace{workspace_, workspace_ == 0 ? labels_.Mixed(environment::kAddress)
                                                         : PointerLabel(workspace_)};
    switch (EnvironmentOf(function, in, operand)) {
      case vgpu::EnvironmentRegister::kPlace:
        return labels_.Opaque(environment::kPlace, 0xffffffff);
      case vgpu::EnvironmentRegister::kWorkspaceHigh:
        return labels_.HighHalf(workspace);
      case vgpu::EnvironmentRegister::kWorkspaceLow:
        return labels_.LowHalf(workspace);
      default:
        return kSameEverywhere;
    }
  }
  Label SymbolLabel(const WarpView& warp, const Instruction& in, Operand operand) {
    const std::vector<vgpu::SymbolOperand> symbols = SymbolsOf(warp.function(), in);
    const Operand* const list = in.list_count > 0 ? &warp.function().list[in.list_first] : nullptr;
    const auto is_constant = [](Operand each) {
      return each.exists() && each.base() == OperandBase::kConstant;
    };
    int64_t constants = std::count_if(list, list + in.list_count, is_constant);
    for (const Operand each : {in.a, in.b, in.c, in.e}) constants += is_constant(each) ? 1 : 0;
    // Which of several numbers the address is does not show.
    if (symbols.size() != 1 || constants != 1) return labels_.Mixed(environment::kAddress);
    const vgpu::SymbolOperand& symbol = symbols[0];
    const uint64_t value = warp.ReadOperand(operand, 0);
    if (symbol.shared) {
      const uint64_t start = value - static_cast<uint64_t>(symbol.offset);
      // Dynamic shared memory without any other begins where the block's begins.
      const bool first = launch_.code->dynamic_shared_offset == 0 && start == 0;
      return labels_.OwnObject(
          vgpu::MemorySpace::kShared, start,
          first ? std::max<uint64_t>(kSharedAlignment, symbol.alignment) : symbol.alignment);
    }
    // Of an address in 32 bits nobody needs more than that it is one.
    return operand.bytes() == 8 ? PointerLabel(value) : labels_.Mixed(environment::kAddress);
  }
  Labelled Operand1(const WarpView& warp, const Instruction& in, Operand operand, int lane) {
    if (!operand.exists()) return {};
    return {warp.ReadOperand(operand, lane), LabelOf(warp, in, operand, lane)};
  }
  uint8_t OriginsOf(const WarpView& warp, const Instruction& in, Operand operand, int lane) {
    return labels_.OriginsOf(LabelOf(warp, in, operand, lane));
  }
  void Set(Operand operand, int lane, Label label) {
    if (operand.exists() && operand.base() == OperandBase::kRegister) {
      frame_->Set(operand, lane, label);
    }
  }

  // Anything of what the instruction reads may differ elsewhere.
  bool Touched(const Instruction& in, const vgpu::Function& function) const {
    if (frame_->HasSymbol(in) || in.op == Op::kReadSpecial || in.op == Op::kParameterAddress ||
        in.op == Op::kCvta || in.op == Op::kCvtaTo) {
      return true;
    }
    const auto touched = [&](Operand operand) {
      if (!operand.exists()) return false;
      if (operand.base() == OperandBase::kRegister) return frame_->Lanes(operand) != 0;
      return EnvironmentOf(function, in, operand) != vgpu::EnvironmentRegister::kNone;
    };
    for (const Operand operand : {in.a, in.b, in.c, in.e, in.d, in.d2}) {
      if (touched(operand)) return true;
    }
    for (uint32_t k = 0; k < in.list_count; ++k) {
      if (touched(function.list[in.list_first + k])) return true;
    }
    return false;
  }

  // The results of an instruction of one lane's own operands.
  void Compute(WarpView& warp, const Instruction& in, uint32_t mask) {
    const vgpu::Function& function = warp.function();
    if (!Touched(in, function)) return;
    if (in.op == Op::kPack || in.op == Op::kUnpack) {
      ForEachLane(mask, [&](int lane) { Repack(warp, in, lane); });
      return;
    }
    if (!in.d.exists() && !in.d2.exists()) return;
    ForEachLane(mask, [&](int lane) {
      const Labelled a = Operand1(warp, in, in.a, lane);
      const Labelled b = Operand1(warp, in, in.b, lane);
      const Labelled c = Operand1(warp, in, in.c, lane);
      const Labelled e = Operand1(warp, in, in.e, lane);
      const uint8_t origins = labels_.OriginsOf(a.label) | labels_.OriginsOf(b.label) |
                              labels_.OriginsOf(c.label) | labels_.OriginsOf(e.label);
      Set(in.d, lane, ResultOf(in, a, b, c, e));
      Set(in.d2, lane,
          in.op == Op::kSetp && in.d.exists() ? frame_->Get(in.d, lane) : labels_.Mixed(origins));
    });
  }
  Label ResultOf(const Instruction& in, const Labelled& a, const Labelled& b, const Labelled& c,
                 const Labelled& e) {
    const uint64_t window =
        in.space == vgpu::MemorySpace::kShared ? launch_.shared_window : launch_.local_window;
    switch (in.op) {
      case Op::kReadSpecial:
        return labels_.Opaque(environment::kClock, ~0ULL);
      case Op::kParameterAddress:
        return labels_.Object(parameters_, parameters_end_ - parameters_, 8);
      case Op::kCvta:
        return labels_.Generic(a, window);
      case Op::kCvtaTo:
        return labels_.FromGeneric(a.label);
      case Op::kMapa: {
        const Label moved = labels_.Moved(a.label, (1 + b.value) * vgpu::kSharedWindowSize);
        return b.label == kSameEverywhere
                   ? moved
                   : labels_.Mixed(labels_.OriginsOf(b.label) | labels_.OriginsOf(a.label));
      }
      default:
        break;
    }
    if (!in.d.exists()) return kSameEverywhere;
    const int bits = in.d.is_predicate() ? 1 : static_cast<int>(in.d.bytes()) * 8;
    return labels_.Result(in, a, b, c, e, std::min(bits, 64));
  }

  void Repack(WarpView& warp, const Instruction& in, int lane) {
    const bool pack = in.op == Op::kPack;
    const Operand* parts = &warp.function().list[in.list_first];
    const Operand whole = pack ? in.d : in.a;
    const uint32_t width = whole.bytes() * 8 / std::max<uint32_t>(in.list_count, 1);
    if (whole.bytes() == 8 && in.list_count == 2) {
      if (pack) {
        Set(in.d, lane,
            labels_.Join(Operand1(warp, in, parts[0], lane), Operand1(warp, in, parts[1], lane)));
      } else {
        const Labelled a = Operand1(warp, in, in.a, lane);
        Set(parts[0], lane, labels_.LowHalf(a));
        Set(parts[1], lane, labels_.HighHalf(a));
      }
      return;
    }
    uint8_t origins = 0;
    uint64_t varies = 0;
    if (pack) {
      for (uint32_t k = 0; k < in.list_count; ++k) {
        const Label label = LabelOf(warp, in, parts[k], lane);
        origins |= labels_.OriginsOf(label);
        if (k * width < 64) varies |= SmearUp(labels_.VariesOf(label)) << (k * width);
      }
      Set(in.d, lane, whole.bytes() > 8 ? labels_.Mixed(origins) : labels_.Opaque(origins, varies));
      return;
    }
    const Label label = LabelOf(warp, in, in.a, lane);
    origins = labels_.OriginsOf(label);
    varies = whole.bytes() > 8 ? ~0ULL : SmearUp(labels_.VariesOf(label));
    for (uint32_t k = 0; k < in.list_count; ++k) {
      const uint64_t part = whole.bytes() > 8 ? varies : varies >> (k * width);
      const uint64_t ones = width >= 64 ? ~0ULL : (uint64_t{1} << width) - 1;
      Set(parts[k], lane, labels_.Opaque(origins, part & ones));
    }
  }

  void Shuffled(WarpView& warp, const Instruction& in, uint32_t mask) {
    std::array<Label, kWarpSize> labels{};
    uint8_t steering = 0;
    uint8_t all = 0;
    ForEachLane(mask, [&](int lane) {
      steering |= OriginsOf(warp, in, in.b, lane) | OriginsOf(warp, in, in.c, lane);
      all |= OriginsOf(warp, in, in.a, lane);
    });
    // The lane numbers were overwritten by the result: whatever the source was.
    const bool unknown = in.d == in.b || in.d == in.c;
    ForEachLane(mask, [&](int lane) {
      if (steering != 0 || unknown) {
        labels[static_cast<size_t>(lane)] = labels_.Mixed(steering | all);
        return;
      }
      const int from = ShuffleSource(static_cast<vgpu::ShuffleMode>(in.variant), lane,
                                     static_cast<uint32_t>(warp.ReadOperand(in.b, lane)),
                                     static_cast<uint32_t>(warp.ReadOperand(in.c, lane)));
      const int source = (mask >> from & 1) != 0 ? from : lane;
      labels[static_cast<size_t>(lane)] = LabelOf(warp, in, in.a, source);
    });
    ForEachLane(mask, [&](int lane) {
      Set(in.d, lane, labels[static_cast<size_t>(lane)]);
      Set(in.d2, lane, labels_.Mixed(steering));
    });
  }

  // Operands that are addresses of memory, not values.
  static bool IsPlace(const Instruction& in, Operand operand) {
    if (vgpu::IsLaneAccess(in.op)) return operand == in.a;
    switch (in.op) {
      case Op::kCpAsync:
      case Op::kWgmma:
        return operand == in.a || operand == in.b;
      case Op::kBulkCopy:
        return operand == in.a || operand == in.b || operand == in.e;
      default:
        return vgpu::AccessesMemory(in.op) && operand == in.a;
    }
  }

  // The rest: results that are made of several lanes' operands, or of memory in other ways than a
  // load's. All of them depend on all.
  void Mix(WarpView& warp, const Instruction& in, uint32_t mask) {
    const vgpu::Function& function = warp.function();
    const bool lanes_meet = vgpu::MeetsLanes(in.op);
    const vgpu::ListUse list = vgpu::FactsOf(in.op).list;
    const auto own = [&](int lane) {
      uint8_t origins = bad_address_[static_cast<size_t>(lane)];
      for (const Operand operand : {in.a, in.b, in.c, in.e}) {
        if (!IsPlace(in, operand)) origins |= OriginsOf(warp, in, operand, lane);
      }
      for (uint32_t k = 0; list != vgpu::ListUse::kResults && k < in.list_count; ++k) {
        const bool result = list == vgpu::ListUse::kBoth && k < in.width;
        if (!result) origins |= OriginsOf(warp, in, function.list[in.list_first + k], lane);
      }
      for (const Label label : loaded_[static_cast<size_t>(lane)]) {
        origins |= labels_.OriginsOf(label);
      }
      return origins;
    };
    uint8_t all = taken_;
    if (lanes_meet) ForEachLane(mask, [&](int lane) { all |= own(lane); });
    std::array<uint8_t, kWarpSize> origins{};
    ForEachLane(mask, [&](int lane) {
      origins[static_cast<size_t>(lane)] = lanes_meet ? all : own(lane) | taken_;
    });
    ForEachLane(mask, [&](int lane) {
      const Label label = labels_.Mixed(origins[static_cast<size_t>(lane)]);
      const bool atom = in.op == Op::kAtom && bad_address_[static_cast<size_t>(lane)] == 0;
      Set(in.d, lane, atom ? OldLabel(warp, in, lane) : label);
      Set(in.d2, lane, label);
      if (list == vgpu::ListUse::k_ || list == vgpu::ListUse::kSources) return;
      const uint32_t results = list == vgpu::ListUse::kBoth ? in.width : in.list_count;
      for (uint32_t k = 0; k < results && k < in.list_count; ++k) {
        Set(function.list[in.list_first + k], lane, label);
      }
    });
  }

  // -- memory -------------------------------------------------------------------------------------

  // The label of the word that holds the byte at `address`, as the lane sees it.
  Label WordAt(WarpView& warp, int lane, uint64_t address) {
    if (address - launch_.shared_window < vgpu::kSharedWindows * vgpu::kSharedWindowSize) {
      const vgpu::SharedPlace place = warp.SharedAt(address);
      const auto block = shared_.find(place.block_number);
      if (!place.exists || block == shared_.end()) return kSameEverywhere;
      const auto word = block->second.find(place.offset / kWord);
      return word == block->second.end() ? kSameEverywhere : word->second;
    }
    if (address - launch_.local_window < vgpu::kLocalWindowSize) {
      const auto& local = Warp(warp).local;
      const auto word =
          local.find(LabelledWarp::LocalKey(lane, (address - launch_.local_window) / kWord));
      return word == local.end() ? kSameEverywhere : word->second;
    }
    const auto word = global_.find(address / kWord);
    return word == global_.end() ? kSameEverywhere : word->second.label;
  }
  void SetWordAt(WarpView& warp, int lane, uint64_t address, Label label, const Instruction& in) {
    const auto set = [&](auto& words, uint64_t key) {
      if (label == kSameEverywhere) {
        words.erase(key);
      } else {
        words[key] = label;
      }
    };
    if (address - launch_.shared_window < vgpu::kSharedWindows * vgpu::kSharedWindowSize) {
      const vgpu::SharedPlace place = warp.SharedAt(address);
      if (place.exists) set(shared_[place.block_number], place.offset / kWord);
    } else if (address - launch_.local_window < vgpu::kLocalWindowSize) {
      set(Warp(warp).local, LabelledWarp::LocalKey(lane, (address - launch_.local_window) / kWord));
    } else if (label == kSameEverywhere) {
      global_.erase(address / kWord);
    } else {
      global_[address / kWord] = {.label = label, .place = StoreAt(warp, in, lane)};
    }
  }
  // The same label for all bytes, which are whole words or parts of some.
  void SetWords(WarpView& warp, int lane, uint64_t address, uint64_t bytes, Label label,
                const Instruction& in) {
    for (uint64_t at = address / kWord * kWord; at < address + bytes; at += kWord) {
      const bool part = at < address || at + kWord > address + bytes;
      if (!part) {
        SetWordAt(warp, lane, at, label, in);
        continue;
      }
      const uint8_t origins = labels_.OriginsOf(WordAt(warp, lane, at)) | labels_.OriginsOf(label);
      SetWordAt(warp, lane, at, labels_.Mixed(origins), in);
    }
  }
  uint8_t OriginsIn(WarpView& warp, int lane, uint64_t address, uint64_t bytes) {
    uint8_t origins = 0;
    for (uint64_t at = address / kWord * kWord; at < address + bytes; at += kWord) {
      origins |= labels_.OriginsOf(WordAt(warp, lane, at));
    }
    return origins;
  }

  void Read(WarpView& warp, const Instruction& in, int lane, uint64_t address, uint32_t bytes) {
    if (in.op == Op::kCpAsync) {
      const uint64_t to =
          async_to_[static_cast<size_t>(lane)] + address - warp.ReadOperand(in.b, lane);
      for (uint64_t at = 0; at < bytes; at += kWord) {
        SetWords(warp, lane, to + at, std::min<uint64_t>(kWord, bytes - at),
                 (address + at) % kWord == 0
                     ? WordAt(warp, lane, address + at)
                     : labels_.Mixed(OriginsIn(warp, lane, address + at, kWord)),
                 in);
      }
      return;
    }
    if (in.op != Op::kLoad) {
      taken_ |= OriginsIn(warp, lane, address, bytes);
      return;
    }
    TakeWords(warp, lane, address, bytes);
  }
  // Words of a load or atomic; bytes of one word count as all of it.
  void TakeWords(WarpView& warp, int lane, uint64_t address, uint32_t bytes) {
    auto& words = loaded_[static_cast<size_t>(lane)];
    if (address % kWord != 0 || bytes < kWord) {
      words[0] = labels_.Mixed(OriginsIn(warp, lane, address, bytes));
      return;
    }
    for (size_t i = 0; i < kMostWords && i * kWord < bytes; ++i) {
      words[i] = WordAt(warp, lane, address + i * kWord);
    }
  }

  // What a load of `bytes` bytes from byte `first` of the access on gives.
  Label LoadedLabel(int lane, uint32_t first, uint32_t bytes, uint64_t value) {
    const auto& words = loaded_[static_cast<size_t>(lane)];
    const size_t word = first / kWord;
    if (bytes < kWord || word + 1 >= kMostWords) {
      return labels_.Mixed(labels_.OriginsOf(words[std::min(word, kMostWords - 1)]));
    }
    if (bytes == kWord) return words[word];
    if (bytes > 8) {
      uint8_t origins = 0;
      for (const Label label : words) origins |= labels_.OriginsOf(label);
      return labels_.Mixed(origins);
    }
    const Label joined =
        labels_.Join({value & 0xffffffff, words[word]}, {value >> 32, words[word + 1]});
    // Addresses that came into memory without our knowledge: those of device malloc.
    if (joined == kSameEverywhere && memory_.InReservedRange(value)) return PointerLabel(value);
    return joined;
  }

  void Loaded(WarpView& warp, const Instruction& in, uint32_t mask) {
    const uint32_t count = in.list_count > 0 ? in.list_count : 1;
    for (uint32_t k = 0; k < count; ++k) {
      const Operand target = in.list_count > 0 ? warp.function().list[in.list_first + k] : in.d;
      if (!target.exists()) continue;
      ForEachLane(mask, [&](int lane) {
        const uint64_t value = warp.ReadOperand(target, lane);
        Label label = LoadedLabel(lane, k * in.bytes, in.bytes, value);
        const uint8_t bad = bad_address_[static_cast<size_t>(lane)];
        if (bad != 0) label = labels_.Mixed(bad | labels_.OriginsOf(label));
        Set(target, lane, label);
      });
    }
  }
  Label OldLabel(WarpView& warp, const Instruction& in, int lane) {
    return LoadedLabel(lane, 0, in.bytes, warp.ReadOperand(in.d, lane));
  }

  void Write(WarpView& warp, const Instruction& in, int lane, uint64_t address, uint32_t bytes) {
    if (in.op != Op::kStore) {
      // Matrices and bulk copies: all that is stored depends on all that goes in.
      uint8_t origins = taken_;
      for (uint32_t k = 0; k < in.list_count; ++k) {
        for (int other = 0; other < kWarpSize; ++other) {
          origins |= OriginsOf(warp, in, warp.function().list[in.list_first + k], other);
        }
      }
      SetWords(warp, lane, address, bytes, labels_.Mixed(origins), in);
      return;
    }
    const uint32_t count = in.list_count > 0 ? in.list_count : 1;
    const uint32_t element = bytes / count;
    for (uint32_t k = 0; k < count; ++k) {
      const Operand source = in.list_count > 0 ? warp.function().list[in.list_first + k] : in.b;
      Labelled value = Operand1(warp, in, source, lane);
      const uint64_t at = address + uint64_t{k} * element;
      if (element == 8 && at % kWord == 0) {
        SetWordAt(warp, lane, at, labels_.LowHalf(value), in);
        SetWordAt(warp, lane, at + kWord, labels_.HighHalf(value), in);
      } else {
        // Part of a register: of an address the bytes of its low bits are the same everywhere.
        if (element < kWord && value.label != kSameEverywhere) {
          const uint64_t varies =
              SmearUp(labels_.VariesOf(value.label)) & ((uint64_t{1} << (8 * element)) - 1);
          value.label = labels_.Opaque(labels_.OriginsOf(value.label), varies);
        }
        SetWords(warp, lane, at, element,
                 element > 8 ? labels_.Mixed(labels_.OriginsOf(value.label)) : value.label, in);
      }
    }
  }

  void Atomic(WarpView& warp, const Instruction& in, int lane, uint64_t address, uint32_t bytes) {
    if (in.op == Op::kMbarrier) return;
    TakeWords(warp, lane, address, bytes);
    const bool exchange =
        in.op == Op::kAtom && in.variant == static_cast<uint8_t>(vgpu::AtomicOp::kExch);
    if (exchange) {
      Labelled value = Operand1(warp, in, in.b, lane);
      if (bytes == 8 && address % kWord == 0) {
        SetWordAt(warp, lane, address, labels_.LowHalf(value), in);
        SetWordAt(warp, lane, address + kWord, labels_.HighHalf(value), in);
      } else {
        SetWords(warp, lane, address, bytes, value.label, in);
      }
      return;
    }
    uint8_t origins = taken_ | OriginsIn(warp, lane, address, bytes);
    for (const Operand operand : {in.b, in.c, in.e}) origins |= OriginsOf(warp, in, operand, lane);
    for (uint32_t k = 0; k < in.list_count; ++k) {
      origins |= OriginsOf(warp, in, warp.function().list[in.list_first + k], lane);
    }
    if (origins != 0) SetWords(warp, lane, address, bytes, labels_.Mixed(origins), in);
  }

  template <typename Visit>
  void ForEachWord(uint64_t address, uint64_t bytes, const Visit& visit) {
    if (bytes == 0) return;
    for (auto it = global_.lower_bound(address / kWord);
         it != global_.end() && it->first * kWord < address + bytes; ++it) {
      visit(it->first, it->second);
    }
  }
  void Forget(uint64_t address, uint64_t bytes) {
    if (global_.empty() || bytes == 0) return;
    global_.erase(global_.lower_bound(address / kWord),
                  global_.lower_bound((address + bytes + kWord - 1) / kWord));
  }

  // -- uses ---------------------------------------------------------------------------------------

  void CheckGuard(WarpView& warp, const Instruction& in) {
    if (in.guard.base() != OperandBase::kRegister) return;
    const uint32_t lanes = frame_->Lanes(in.guard) & warp.active_lanes();
    if (lanes == 0) return;
    const int lane = std::countr_zero(lanes);
    Use(warp, in, lane, labels_.OriginsOf(frame_->Get(in.guard, lane)),
        in.control ? "a branch depends on" : "whether an instruction is executed depends on");
  }

  void CheckUses(WarpView& warp, const Instruction& in, uint32_t mask) {
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
          Check(warp, in, warp.function().list[in.list_first + k], mask,
                "what is copied depends on");
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
  void Check(WarpView& warp, const Instruction& in, Operand operand, uint32_t mask,
             const char* what) {
    if (!operand.exists()) return;
    ForEachLane(mask, [&](int lane) {
      const uint8_t origins = OriginsOf(warp, in, operand, lane);
      if (origins != 0) Use(warp, in, lane, origins, what);
    });
  }

  void Use(WarpView& warp, const Instruction& in, int lane, uint8_t origins, const char* what) {
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

  uint32_t StoreAt(WarpView& warp, const Instruction& in, int lane) {
    const auto [known, is_new] =
        stores_.try_emplace({&in, launch_.id}, static_cast<uint32_t>(places_.size()));
    if (is_new) places_.push_back(PlaceOf(launch_.kernel, warp, in, lane));
    return known->second + 1;
  }

  void HostReads(uint64_t address, uint64_t bytes, const Place& where, const char* what) {
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

  vgpu::DeviceMemory& memory_;
  LabelTable labels_;
  std::set<uint32_t> parameter_pointers_;  // of the launch that comes next
  std::map<std::pair<const vgpu::Kernel*, std::set<uint32_t>>, bool> looked_at_;
  std::map<uint64_t, LabelledWord> global_;  // by address / 4
  std::map<uint64_t, uint64_t> heap_;        // blocks of device malloc: address, bytes
  std::set<uint64_t> variables_;             // Allocation::id of the module's, looked at
  uint64_t scanned_ = 0;                     // DeviceMemory::generation of the last look
  std::map<std::pair<const Instruction*, uint64_t>, uint32_t> stores_;
  std::vector<Place> places_;
  std::map<std::tuple<const Instruction*, uint64_t, uint8_t>, size_t> known_;

  // The launch.
  vgpu::LaunchInfo launch_;
  bool active_ = false;
  uint64_t parameters_ = 0;  // where they lie
  uint64_t parameters_end_ = 0;
  uint64_t workspace_ = 0;  // the memory of the grid's barrier
  SlotsOfFunctions slots_;
  std::map<WarpKey, LabelledWarp> warps_;
  std::map<uint64_t, std::unordered_map<uint64_t, Label>> shared_;  // by block and word

  // The instruction.
  LabelledFrame* frame_ = nullptr;
  std::array<std::array<Label, kMostWords>, kWarpSize> loaded_{};
  std::array<uint8_t, kWarpSize> bad_address_{};  // why the address is another elsewhere
  std::array<uint64_t, kWarpSize> async_to_{};
  uint8_t taken_ = 0;  // by reads that are no plain loads
};

}  // namespace

std::unique_ptr<Checker> MakeEnvironmentChecker(FindingSink& sink, vgpu::VirtualGpu& gpu) {
  return std::make_unique<EnvironmentChecker>(sink, gpu.memory());
}

}  // namespace kernelsmith::checkers
