// Moves, packing, addresses, special registers, the stack.

#include <chrono>

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using ptx::Type;

template <typename T>
T Same(T a) {
  return a;
}

template <typename To, typename From>
To ResizeLane(From a) {
  return static_cast<To>(a);
}

template <typename To>
Handler PickResizeFrom(Operand from, bool sign_extend) {
  switch (from.width()) {
    case LaneWidth::k1:
      return sign_extend ? Map1<To, int8_t, ResizeLane<To, int8_t>>
                         : Map1<To, uint8_t, ResizeLane<To, uint8_t>>;
    case LaneWidth::k2:
      return sign_extend ? Map1<To, int16_t, ResizeLane<To, int16_t>>
                         : Map1<To, uint16_t, ResizeLane<To, uint16_t>>;
    case LaneWidth::k4:
      return sign_extend ? Map1<To, int32_t, ResizeLane<To, int32_t>>
                         : Map1<To, uint32_t, ResizeLane<To, uint32_t>>;
    case LaneWidth::k8:
      return sign_extend ? Map1<To, int64_t, ResizeLane<To, int64_t>>
                         : Map1<To, uint64_t, ResizeLane<To, uint64_t>>;
    case LaneWidth::k16:
      return Map1<To, unsigned __int128, ResizeLane<To, unsigned __int128>>;
    case LaneWidth::kPredicate:
      return nullptr;
  }
  return nullptr;
}

Handler FindResize(const Instruction& in) {
  const bool sign_extend = in.variant != 0;
  switch (in.d.width()) {
    case LaneWidth::k1:
      return PickResizeFrom<uint8_t>(in.a, sign_extend);
    case LaneWidth::k2:
      return PickResizeFrom<uint16_t>(in.a, sign_extend);
    case LaneWidth::k4:
      return PickResizeFrom<uint32_t>(in.a, sign_extend);
    case LaneWidth::k8:
      return PickResizeFrom<uint64_t>(in.a, sign_extend);
    case LaneWidth::k16:
      return PickResizeFrom<unsigned __int128>(in.a, sign_extend);
    case LaneWidth::kPredicate:
      return nullptr;
  }
  return nullptr;
}

template <typename Whole, typename Part>
void Pack(Warp& w, const Instruction& in, uint32_t mask) {
  const Operand* parts = &w.function().list[in.list_first];
  LaneArray<Whole> r{};
  for (int p = 0; p < in.list_count; ++p) {
    const Part* part = w.Lanes<Part>(parts[p]);
    for (int i = 0; i < kWarpSize; ++i) {
      r.at[i] |= static_cast<Whole>(static_cast<Whole>(part[i]) << (p * 8 * sizeof(Part)));
    }
  }
  Commit(w.Lanes<Whole>(in.d), r, mask);
}

template <typename Whole, typename Part>
void Unpack(Warp& w, const Instruction& in, uint32_t mask) {
  const Operand* parts = &w.function().list[in.list_first];
  // A part may be the register that is taken apart.
  LaneArray<Whole> a;
  std::memcpy(a.at, w.Lanes<Whole>(in.a), sizeof a.at);
  for (int p = 0; p < in.list_count; ++p) {
    if (!parts[p].exists()) continue;
    LaneArray<Part> r;
    for (int i = 0; i < kWarpSize; ++i) {
      r.at[i] = static_cast<Part>(a.at[i] >> (p * 8 * sizeof(Part)));
    }
    Commit(w.Lanes<Part>(parts[p]), r, mask);
  }
}

Handler FindPacking(const Instruction& in) {
  const bool pack = in.op == Op::kPack;
  return ForWidth(in.type, [&]<typename Whole>(Whole) -> Handler {
    const auto pick = [&]<typename Part>(Part) -> Handler {
      if constexpr (sizeof(Part) < sizeof(Whole)) {
        return pack ? Pack<Whole, Part> : Unpack<Whole, Part>;
      } else {
        return nullptr;
      }
    };
    switch (in.register_bytes) {
      case 1:
        return pick(uint8_t{});
      case 2:
        return pick(uint16_t{});
      case 4:
        return pick(uint32_t{});
      case 8:
        return pick(uint64_t{});
      default:
        return nullptr;
    }
  });
}

void FrameAddress(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> r;
  for (int i = 0; i < kWarpSize; ++i) {
    r.at[i] = w.frame->local_base[i] + static_cast<uint64_t>(in.offset);
  }
  Commit(w.Lanes<uint64_t>(in.d), r, mask);
}

void ParameterAddress(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> r;
  for (int i = 0; i < kWarpSize; ++i) {
    r.at[i] = w.launch->parameters + static_cast<uint64_t>(in.offset);
  }
  Commit(w.Lanes<uint64_t>(in.d), r, mask);
}

uint64_t WindowOf(const Warp& w, MemorySpace space) {
  return space == MemorySpace::kShared ? w.launch->shared_window : w.launch->local_window;
}

template <typename T, bool kTo>
void Cvta(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  const uint64_t window = WindowOf(w, in.space);
  LaneArray<T> r;
  for (int i = 0; i < kWarpSize; ++i) {
    r.at[i] = static_cast<T>(kTo ? a[i] - window : a[i] + window);
  }
  Commit(w.Lanes<T>(in.d), r, mask);
}

void Isspacep(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t* a = w.Lanes<uint64_t>(in.a);
  const LaunchState& launch = *w.launch;
  const auto space = static_cast<ptx::Space>(in.variant);
  uint32_t bits = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const bool shared = a[i] - launch.shared_window < kSharedWindowSize * kSharedWindows;
    const bool local = a[i] - launch.local_window < kLocalWindowSize;
    bool inside = false;
    switch (space) {
      case ptx::Space::kShared:
      case ptx::Space::kSharedCta:
      case ptx::Space::kSharedCluster:
        inside = shared;
        break;
      case ptx::Space::kLocal:
        inside = local;
        break;
      case ptx::Space::kConst:
      case ptx::Space::kParam:
      case ptx::Space::kParamEntry: {
        const auto found = launch.memory->Find(a[i]);
        inside = found && found->kind == (space == ptx::Space::kConst ? AllocationKind::kConstant
                                                                      : AllocationKind::kParameter);
        break;
      }
      default:
        inside = !shared && !local;
        break;
    }
    bits |= static_cast<uint32_t>(inside) << i;
  }
  CommitPredicate(w.Predicate(in.d), bits, mask);
}

// Time as the machine sees it: kernels that wait for a number of cycles end, and two reads differ.
uint64_t ReadClock(const Warp& w, DynamicSpecial which) {
  const auto now = std::chrono::steady_clock::now();
  if (which == DynamicSpecial::kGlobaltimer || which == DynamicSpecial::kGlobaltimerHi) {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  }
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now - w.launch->start).count();
  // Cycles since the launch; never 0, which programs take for "not measured".
  const double cycles =
      static_cast<double>(elapsed) * 1e-9 * static_cast<double>(w.launch->options->clock_hz);
  return static_cast<uint64_t>(cycles) + 1;
}

template <typename T>
void ReadSpecial(Warp& w, const Instruction& in, uint32_t mask) {
  const auto which = static_cast<DynamicSpecial>(in.variant);
  uint64_t value = ReadClock(w, which);
  if (which == DynamicSpecial::kClockHi || which == DynamicSpecial::kGlobaltimerHi) value >>= 32;
  LaneArray<T> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = static_cast<T>(value);
  Commit(w.Lanes<T>(in.d), r, mask);
}

void Nanosleep(Warp& w, const Instruction&, uint32_t) {
  // A sleeping warp waits for something: the loop around it counts as one that sees nothing new.
  w.waited = true;
}

void Nop(Warp&, const Instruction&, uint32_t) {}

void Fence(Warp& w, const Instruction& in, uint32_t mask) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (w.launch->observer != nullptr) {
    WarpPicture picture(w);
    w.launch->observer->OnFence(picture, in, mask);
  }
}

void StackSave(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = w.stack_top[i];
  Commit(w.Lanes<uint64_t>(in.d), r, mask);
}

void StackRestore(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t* a = w.Lanes<uint64_t>(in.a);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    if (a[i] <= w.stack_top[i]) w.stack_top[i] = static_cast<uint32_t>(a[i]);
  }
}

void Alloca(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t* size = w.Lanes<uint64_t>(in.a);
  const auto alignment = static_cast<uint64_t>(in.offset);
  LaneArray<uint64_t> r{};
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const uint64_t base = (w.stack_top[i] + alignment - 1) / alignment * alignment;
    if (base > w.local_stride || size[i] > w.local_stride - base) {
      w.Fail(FaultKind::kStackOverflow, i, 0,
             "stack overflow: alloca of " + std::to_string(size[i]) + " bytes");
      return;
    }
    w.stack_top[i] = static_cast<uint32_t>(base + size[i]);
    r.at[i] = base;
  }
  Commit(w.Lanes<uint64_t>(in.d), r, mask);
}

void Zero32(Warp& w, const Instruction& in, uint32_t mask) {
  Commit(w.Lanes<uint32_t>(in.d), LaneArray<uint32_t>{}, mask);
}

}  // namespace

Handler FindMoveHandler(const Instruction& in) {
  switch (in.op) {
    case Op::kMov:
      return ForWidth(in.type, []<typename T>(T) -> Handler { return Map1<T, T, Same<T>>; });
    case Op::kResize:
      return FindResize(in);
    case Op::kPack:
    case Op::kUnpack:
      return FindPacking(in);
    case Op::kFrameAddress:
      return FrameAddress;
    case Op::kParameterAddress:
      return ParameterAddress;
    case Op::kCvta:
      return ptx::BitsOf(in.type) == 64 ? Cvta<uint64_t, false> : nullptr;
    case Op::kCvtaTo:
      return ptx::BitsOf(in.type) == 64 ? Cvta<uint64_t, true> : nullptr;
    case Op::kIsspacep:
      return Isspacep;
    case Op::kGetctarank:
      return Zero32;
    case Op::kReadSpecial:
      return in.type == Type::kU64 ? ReadSpecial<uint64_t> : ReadSpecial<uint32_t>;
    case Op::kNanosleep:
      return Nanosleep;
    case Op::kNop:
      return Nop;
    case Op::kFence:
      return Fence;
    case Op::kStackSave:
      return StackSave;
    case Op::kStackRestore:
      return StackRestore;
    case Op::kAlloca:
      return Alloca;
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
