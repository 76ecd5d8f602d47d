// atom and red. Lanes take their turn in ascending order (others in other schedules). Memory may
// be shared with host threads and with other launches, so every operation is one of the host's
// atomics.

#include <algorithm>

#include "vgpu/handlers/access.h"
#include "vgpu/handlers/handlers.h"
#include "vgpu/math/arith.h"
#include "vgpu/math/compare.h"
#include "vgpu/math/integer.h"
#include "vgpu/turn_order.h"

namespace kernelsmith::vgpu {

namespace {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build
using ptx::Type;

using U128 = unsigned __int128;

constexpr uint64_t kMixer = 0x9e3779b97f4a7c15;

template <typename T>
struct WordOf {
  using type = T;
};
template <>
struct WordOf<float> {
  using type = uint32_t;
};
template <>
struct WordOf<double> {
  using type = uint64_t;
};
template <>
struct WordOf<math::F16> {
  using type = uint16_t;
};
template <>
struct WordOf<math::BF16> {
  using type = uint16_t;
};
template <>
struct WordOf<math::F16x2> {
  using type = uint32_t;
};
template <>
struct WordOf<math::BF16x2> {
  using type = uint32_t;
};

template <typename T, AtomicOp kOp>
T Apply(T old, T b) {
  if constexpr (kOp == AtomicOp::kExch) {
    return b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    switch (kOp) {
      case AtomicOp::kAdd:
        return math::AddInt(old, b);
      case AtomicOp::kMin:
        return std::min(old, b);
      case AtomicOp::kMax:
        return std::max(old, b);
      case AtomicOp::kInc:
        return static_cast<U>(old) >= static_cast<U>(b) ? T{0} : math::AddInt(old, T{1});
      case AtomicOp::kDec:
        return old == 0 || static_cast<U>(old) > static_cast<U>(b) ? b : math::SubInt(old, T{1});
      case AtomicOp::kAnd:
        return old & b;
      case AtomicOp::kOr:
        return old | b;
      case AtomicOp::kXor:
        return old ^ b;
      default:
        return b;
    }
  } else {
    switch (kOp) {
      case AtomicOp::kMin:
        return math::Min(old, b);
      case AtomicOp::kMax:
        return math::Max(old, b);
      default:
        return math::Add(old, b);
    }
  }
}

// Neither zero nor subnormal, infinite or NaN.
bool IsNormal(float x) { return (std::bit_cast<uint32_t>(x) >> 23 & 0xff) - 1 < 254; }

// Additions of f32 to global memory flush subnormals, to shared memory they do not. Most numbers
// need no care.
float AddFlushed(float old, float b) {
  const float sum = old + b;
  if (IsNormal(old) && IsNormal(b) && IsNormal(sum)) return sum;
  return math::Add<math::Mode<math::Round::kRn, true>>(old, b);
}

bool InShared(const Warp& w, uint64_t host) {
  return host - reinterpret_cast<uint64_t>(w.block->shared) < w.block->shared_bytes;
}

// What replaces `old`.
template <typename T, AtomicOp kOp>
T Next(T old, T b, T c, bool shared) {
  if constexpr (kOp == AtomicOp::kAdd && std::is_same_v<T, float>) {
    if (!shared) return AddFlushed(old, b);
  }
  if constexpr (kOp == AtomicOp::kCas) {
    return old == b ? c : old;
  } else {
    return Apply<T, kOp>(old, b);
  }
}

// Others may wait for memory that changes. (Locks that are not free, and flags that are only looked
// at, stay as they are.)
template <typename T>
void NoteProgress(Warp& w, T old, T next) {
  using Word = typename WordOf<T>::type;
  if (std::bit_cast<Word>(old) != std::bit_cast<Word>(next)) w.launch->progress = true;
}

// The old value.
template <typename T, AtomicOp kOp>
T Update(Warp& w, uint64_t host, T b, T c) {
  using Word = typename WordOf<T>::type;
  auto* place = reinterpret_cast<Word*>(host);
  if constexpr (kOp == AtomicOp::kCas) {
    Word expected = std::bit_cast<Word>(b);
    __atomic_compare_exchange_n(place, &expected, std::bit_cast<Word>(c), false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    const T old = std::bit_cast<T>(expected);
    NoteProgress(w, old, Next<T, kOp>(old, b, c, false));
    return old;
  } else {
    const bool shared = InShared(w, host);
    Word old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(
        place, &old, std::bit_cast<Word>(Next<T, kOp>(std::bit_cast<T>(old), b, c, shared)), false,
        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    NoteProgress(w, std::bit_cast<T>(old), Next<T, kOp>(std::bit_cast<T>(old), b, c, shared));
    return std::bit_cast<T>(old);
  }
}

// 128 bits: no host instruction that every x86-64 has. Only launches of this process can touch
// device memory at the same time, and those take this lock.
std::mutex g_wide_lock;

U128 UpdateWide(uint64_t host, AtomicOp op, U128 b, U128 c) {
  std::lock_guard lock(g_wide_lock);
  U128 old;
  std::memcpy(&old, reinterpret_cast<const void*>(host), sizeof old);
  if (op == AtomicOp::kExch) {
    std::memcpy(reinterpret_cast<void*>(host), &b, sizeof b);
  } else if (old == b) {
    std::memcpy(reinterpret_cast<void*>(host), &c, sizeof c);
  }
  return old;
}

template <typename T, AtomicOp kOp>
void Atom(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> address;
  LaneArray<uint64_t> host;
  ComputeAddresses(w, in, address);
  const AccessKind kind = in.op == Op::kRed ? AccessKind::kReduction : AccessKind::kAtomic;
  if (!Translate(w, in, in.space, kind, mask, sizeof(T), address, host)) return;
  const T* b = w.Lanes<T>(in.b);
  const T* c = in.c.exists() ? w.Lanes<T>(in.c) : b;
  T* d = in.d.exists() ? w.Lanes<T>(in.d) : nullptr;
  const LaneOrder order(w.launch->request.schedule);
  for (int turn = 0; turn < kWarpSize; ++turn) {
    const int i = order.At(turn);
    if ((mask >> i & 1) == 0) continue;
    // d may be the register of b or c: read before the result is stored.
    const T mine = b[i];
    T old;
    if constexpr (std::is_same_v<T, U128>) {
      old = UpdateWide(host.at[i], kOp, mine, c[i]);
    } else {
      old = Update<T, kOp>(w, host.at[i], mine, c[i]);
    }
    if (d != nullptr) d[i] = old;
    uint64_t bits = 0;
    std::memcpy(&bits, &old, sizeof(T) < 8 ? sizeof(T) : 8);
    w.wait_hash = (w.wait_hash ^ (bits + static_cast<uint64_t>(i) + host.at[i])) * kMixer;
  }
}

// Whole warps in a loop without a mask.
template <typename Visit>
void ForEachLane(uint32_t mask, const Visit& visit) {
  if (mask == kFullMask) {
    for (int i = 0; i < kWarpSize; ++i) visit(i);
    return;
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) visit(std::countr_zero(rest));
}

// The same for compiled code, which runs in no other order. Lanes beside each other that have the
// same place (counters, sums) are served by one operation of the host. A block's shared memory
// belongs to the thread that runs it, and all memory may: then no operation of the host need be
// atomic. red tells nobody what was there.
template <typename T, AtomicOp kOp, bool kTells>
void AtomLanes(Warp& w, const uint64_t* host, const void* b_lanes, const void* c_lanes,
               void* old_lanes, uint32_t mask) {
  using Word = typename WordOf<T>::type;
  const auto* b = static_cast<const T*>(b_lanes);
  const auto* c = static_cast<const T*>(c_lanes);
  auto* olds = static_cast<T*>(old_lanes);
  if (mask == 0) return;
  uint64_t seen = 0;
  const auto see = [&](Word value, int lane) {
    seen += (static_cast<uint64_t>(value) + static_cast<uint64_t>(lane) + host[lane]) * kMixer;
  };
  const bool shared = InShared(w, host[std::countr_zero(mask)]);
  if (shared || w.launch->one_thread) {
    ForEachLane(mask, [&](int i) {
      auto* place = reinterpret_cast<Word*>(host[i]);
      const Word before = *place;
      const T old = std::bit_cast<T>(before);
      const T next = Next<T, kOp>(old, b[i], c[i], shared);
      NoteProgress(w, old, next);
      *place = std::bit_cast<Word>(next);
      if constexpr (!kTells) return;
      olds[i] = old;
      see(before, i);
    });
    w.wait_hash = (w.wait_hash ^ seen) * kMixer;
    return;
  }
  for (uint32_t rest = mask; rest != 0;) {
    const int first = std::countr_zero(rest);
    auto* place = reinterpret_cast<Word*>(host[first]);
    Word before = __atomic_load_n(place, __ATOMIC_RELAXED);
    uint32_t others = 0;
    T value;
    do {
      value = std::bit_cast<T>(before);
      for (others = rest; others != 0; others &= others - 1) {
        const int i = std::countr_zero(others);
        if (host[i] != host[first]) break;
        if constexpr (kTells) olds[i] = value;
        value = Next<T, kOp>(value, b[i], c[i], false);
      }
    } while (!__atomic_compare_exchange_n(place, &before, std::bit_cast<Word>(value), false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    NoteProgress(w, std::bit_cast<T>(before), value);
    see(before, first);
    rest = others;
  }
  w.wait_hash = (w.wait_hash ^ seen) * kMixer;
}

// .v2, .v4, .v8: atomic per element, as PTX says.
template <typename T, AtomicOp kOp>
void AtomVector(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> address;
  LaneArray<uint64_t> host;
  ComputeAddresses(w, in, address);
  const Operand* list = &w.function().list[in.list_first];
  const int width = in.width;
  const bool returns = in.list_count > width;
  const AccessKind kind = returns ? AccessKind::kAtomic : AccessKind::kReduction;
  if (!Translate(w, in, in.space, kind, mask, static_cast<uint32_t>(sizeof(T)) * in.width, address,
                 host)) {
    return;
  }
  const LaneOrder order(w.launch->request.schedule);
  for (int turn = 0; turn < kWarpSize; ++turn) {
    const int i = order.At(turn);
    if ((mask >> i & 1) == 0) continue;
    T old[8];
    for (int e = 0; e < width; ++e) {
      const T mine = w.Lanes<T>(list[e])[i];
      old[e] = Update<T, kOp>(w, host.at[i] + static_cast<uint64_t>(e) * sizeof(T), mine, mine);
    }
    for (int e = 0; returns && e < width; ++e) {
      if (list[width + e].exists()) w.Lanes<T>(list[width + e])[i] = old[e];
    }
  }
}

// The three ways to do an operation of one type.
struct Ways {
  Handler scalar = nullptr;
  Handler vector = nullptr;
  AtomicKernel lanes = nullptr;
  AtomicKernel reduce = nullptr;  // as `lanes`, without the old values
};

template <typename T, AtomicOp kOp>
constexpr Ways kWays = {Atom<T, kOp>, nullptr, AtomLanes<T, kOp, true>, AtomLanes<T, kOp, false>};
template <typename T, AtomicOp kOp>
constexpr Ways kFloatWays = {Atom<T, kOp>, AtomVector<T, kOp>, AtomLanes<T, kOp, true>,
                             AtomLanes<T, kOp, false>};

template <typename T>
Ways PickInteger(AtomicOp op) {
  switch (op) {
    case AtomicOp::kAdd:
      return kWays<T, AtomicOp::kAdd>;
    case AtomicOp::kMin:
      return kWays<T, AtomicOp::kMin>;
    case AtomicOp::kMax:
      return kWays<T, AtomicOp::kMax>;
    case AtomicOp::kInc:
      return kWays<T, AtomicOp::kInc>;
    case AtomicOp::kDec:
      return kWays<T, AtomicOp::kDec>;
    case AtomicOp::kAnd:
      return kWays<T, AtomicOp::kAnd>;
    case AtomicOp::kOr:
      return kWays<T, AtomicOp::kOr>;
    case AtomicOp::kXor:
      return kWays<T, AtomicOp::kXor>;
    case AtomicOp::kExch:
      return kWays<T, AtomicOp::kExch>;
    case AtomicOp::kCas:
      return kWays<T, AtomicOp::kCas>;
  }
  return {};
}

template <typename T>
Ways PickFloat(AtomicOp op) {
  switch (op) {
    case AtomicOp::kAdd:
      return kFloatWays<T, AtomicOp::kAdd>;
    case AtomicOp::kMin:
      return kFloatWays<T, AtomicOp::kMin>;
    case AtomicOp::kMax:
      return kFloatWays<T, AtomicOp::kMax>;
    case AtomicOp::kExch:
      return kWays<T, AtomicOp::kExch>;
    default:
      return {};
  }
}

Ways FindWays(const Instruction& in) {
  const auto op = static_cast<AtomicOp>(in.variant);
  switch (in.type) {
    case Type::kF32:
      return PickFloat<float>(op);
    case Type::kF64:
      return PickFloat<double>(op);
    case Type::kF16:
      return PickFloat<math::F16>(op);
    case Type::kBf16:
      return PickFloat<math::BF16>(op);
    case Type::kF16x2:
      return PickFloat<math::F16x2>(op);
    case Type::kBf16x2:
      return PickFloat<math::BF16x2>(op);
    case Type::kB16:
    case Type::kU16:
      return PickInteger<uint16_t>(op);
    case Type::kB32:
    case Type::kU32:
      return PickInteger<uint32_t>(op);
    case Type::kS32:
      return PickInteger<int32_t>(op);
    case Type::kB64:
    case Type::kU64:
      return PickInteger<uint64_t>(op);
    case Type::kS64:
      return PickInteger<int64_t>(op);
    case Type::kB128:
      if (op == AtomicOp::kExch) return {.scalar = Atom<U128, AtomicOp::kExch>};
      if (op == AtomicOp::kCas) return {.scalar = Atom<U128, AtomicOp::kCas>};
      return {};
    default:
      return {};
  }
}

}  // namespace

Handler FindAtomicHandler(const Instruction& in) {
  if (in.op == Op::kAtom || in.op == Op::kRed) return FindWays(in).scalar;
  if (in.op != Op::kAtomVector) return nullptr;
  const bool width = in.width == 2 || in.width == 4 || in.width == 8;
  return width ? FindWays(in).vector : nullptr;
}

AtomicKernel FindAtomicKernel(const Instruction& in, bool tells) {
  if (in.op != Op::kAtom && in.op != Op::kRed) return nullptr;
  return tells ? FindWays(in).lanes : FindWays(in).reduce;
}

}  // namespace kernelsmith::vgpu
