// Loads, stores and asynchronous copies.

#include "vgpu/handlers/access.h"
#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using ptx::Type;

struct alignas(16) B128 {
  uint64_t low;
  uint64_t high;
};

template <typename T>
T ReadAt(uint64_t host) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(host), sizeof value);
  return value;
}

template <typename T>
void WriteAt(uint64_t host, T value) {
  std::memcpy(reinterpret_cast<void*>(host), &value, sizeof value);
}

// From the memory's type to the register's.
template <typename R, typename M>
R Extend(M value) {
  if constexpr (sizeof(R) == sizeof(M)) {
    return std::bit_cast<R>(value);
  } else if constexpr (std::is_same_v<R, B128>) {
    return {static_cast<uint64_t>(value), 0};
  } else {
    return static_cast<R>(value);
  }
}

template <typename M, typename R>
M Narrow(R value) {
  if constexpr (sizeof(R) == sizeof(M)) {
    return std::bit_cast<M>(value);
  } else if constexpr (std::is_same_v<R, B128>) {
    return static_cast<M>(value.low);
  } else {
    return static_cast<M>(value);
  }
}

uint64_t Mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29);
}

template <typename M, typename R>
void LoadElement(Warp& w, const Instruction& in, Operand target, uint32_t mask, uint64_t offset,
                 const LaneArray<uint64_t>& host) {
  LaneArray<R> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = Extend<R>(ReadAt<M>(host.at[i] + offset));
  Commit(w.Lanes<R>(target), r, mask);
  if (in.waits) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      uint64_t bits = 0;
      std::memcpy(&bits, &r.at[i], sizeof(R) < 8 ? sizeof(R) : 8);
      w.wait_hash = Mix(w.wait_hash, bits + static_cast<uint64_t>(i) + host.at[i]);
    }
  }
}

template <typename M, typename R, bool kVector>
void Load(Warp& w, const Instruction& in, const uint32_t whole) {
  uint32_t mask = whole;
  LaneArray<uint64_t> address;
  LaneArray<uint64_t> host;
  ComputeAddresses(w, in, address);
  const uint32_t bytes = static_cast<uint32_t>(sizeof(M)) * (kVector ? in.width : 1);
  const bool found = Translate(w, in, in.space, AccessKind::kLoad, mask, bytes, address, host);
  if constexpr (kVector) {
    const Operand* targets = &w.function().list[in.list_first];
    for (int e = 0; e < in.list_count; ++e) {
      if (!targets[e].exists()) continue;
      if (found) {
        LoadElement<M, R>(w, in, targets[e], mask, static_cast<uint64_t>(e) * sizeof(M), host);
      }
      if (!found || mask != whole) {
        Commit(w.Lanes<R>(targets[e]), LaneArray<R>{}, found ? whole & ~mask : whole);
      }
    }
  } else if (found) {
    LoadElement<M, R>(w, in, in.d, mask, 0, host);
    if (mask != whole) Commit(w.Lanes<R>(in.d), LaneArray<R>{}, whole & ~mask);
  } else {
    Commit(w.Lanes<R>(in.d), LaneArray<R>{}, whole);
  }
}

template <typename M, typename R, bool kVector>
void Store(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> address;
  LaneArray<uint64_t> host;
  ComputeAddresses(w, in, address);
  const uint32_t bytes = static_cast<uint32_t>(sizeof(M)) * (kVector ? in.width : 1);
  if (!Translate(w, in, in.space, AccessKind::kStore, mask, bytes, address, host)) return;
  const int count = kVector ? in.list_count : 1;
  for (int e = 0; e < count; ++e) {
    const R* value = w.Lanes<R>(kVector ? w.function().list[in.list_first + e] : in.b);
    const uint64_t offset = static_cast<uint64_t>(e) * sizeof(M);
    if (mask == kFullMask) {
      for (int i = 0; i < kWarpSize; ++i) WriteAt(host.at[i] + offset, Narrow<M>(value[i]));
    } else {
      for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int i = std::countr_zero(rest);
        WriteAt(host.at[i] + offset, Narrow<M>(value[i]));
      }
    }
  }
  // Strong stores are what others wait for.
  if (in.is_volatile) w.launch->progress = true;
}

// Done at once: a copy may become visible at any time before its group is waited for.
void CpAsync(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint64_t> to;
  LaneArray<uint64_t> from;
  LaneArray<uint64_t> to_host;
  LaneArray<uint64_t> from_host{};
  std::memcpy(to.at, w.Lanes<uint64_t>(in.a), sizeof to.at);
  std::memcpy(from.at, w.Lanes<uint64_t>(in.b), sizeof from.at);
  const uint32_t bytes = in.bytes;
  LaneArray<uint32_t> size;
  for (int i = 0; i < kWarpSize; ++i) size.at[i] = bytes;
  if (in.c.exists()) {
    const uint32_t* c = w.Lanes<uint32_t>(in.c);
    for (int i = 0; i < kWarpSize; ++i) size.at[i] = c[i] < bytes ? c[i] : bytes;
  }
  if (in.e.exists()) {
    const uint32_t ignore = w.Predicate(in.e) ^ (in.negate_c ? kFullMask : 0u);
    for (int i = 0; i < kWarpSize; ++i) size.at[i] = (ignore >> i & 1) != 0 ? 0 : size.at[i];
  }
  // A source of which nothing is read may lie anywhere.
  uint32_t reads = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    if (size.at[i] > 0) reads |= 1u << i;
  }
  if (!Translate(w, in, MemorySpace::kShared, AccessKind::kAsyncCopy, mask, bytes, to, to_host)) {
    return;
  }
  // Lanes that read the same number of bytes together; only those need to exist.
  for (uint32_t rest = reads & mask; rest != 0;) {
    const uint32_t length = size.at[std::countr_zero(rest)];
    uint32_t same = 0;
    for (uint32_t other = rest; other != 0; other &= other - 1) {
      const int i = std::countr_zero(other);
      if (size.at[i] == length) same |= 1u << i;
    }
    rest &= ~same;
    LaneArray<uint64_t> host;
    uint32_t found = same;
    if (length == bytes) {
      LaneArray<uint64_t> source = from;  // Translate changes the addresses of other lanes
      if (!Translate(w, in, MemorySpace::kGlobal, AccessKind::kLoad, found, bytes, source, host)) {
        found = 0;
      }
    } else {
      // Not a power of two, perhaps: byte by byte, which needs no alignment.
      for (uint32_t k = 0; k < length && found != 0; ++k) {
        LaneArray<uint64_t> byte = from;
        for (int i = 0; i < kWarpSize; ++i) byte.at[i] += k;
        LaneArray<uint64_t> byte_host;
        if (!Translate(w, in, MemorySpace::kGlobal, AccessKind::kLoad, found, 1, byte, byte_host)) {
          found = 0;
        }
        if (k == 0) host = byte_host;
      }
    }
    if (w.stopped) return;
    for (uint32_t other = same; other != 0; other &= other - 1) {
      const int i = std::countr_zero(other);
      from_host.at[i] = host.at[i];
      if ((found >> i & 1) == 0) size.at[i] = 0;  // left out: zeros
    }
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    std::byte buffer[16] = {};
    if (size.at[i] > 0) {
      std::memcpy(buffer, reinterpret_cast<const void*>(from_host.at[i]), size.at[i]);
    }
    std::memcpy(reinterpret_cast<void*>(to_host.at[i]), buffer, bytes);
  }
}

template <typename M, typename R>
Handler Pick(const Instruction& in) {
  if (in.op == Op::kLoad) return in.list_count > 0 ? Load<M, R, true> : Load<M, R, false>;
  return in.list_count > 0 ? Store<M, R, true> : Store<M, R, false>;
}

// The register's type for a memory type of N bytes.
template <typename M>
Handler PickRegister(const Instruction& in) {
  switch (in.register_bytes) {
    case 1:
      if constexpr (sizeof(M) <= 1) return Pick<M, uint8_t>(in);
      return nullptr;
    case 2:
      if constexpr (sizeof(M) <= 2) return Pick<M, uint16_t>(in);
      return nullptr;
    case 4:
      if constexpr (sizeof(M) <= 4) return Pick<M, uint32_t>(in);
      return nullptr;
    case 8:
      if constexpr (sizeof(M) <= 8) return Pick<M, uint64_t>(in);
      return nullptr;
    case 16:
      return Pick<M, B128>(in);
    default:
      return nullptr;
  }
}

}  // namespace

Handler FindMemoryHandler(const Instruction& in) {
  if (in.op == Op::kCpAsync) return CpAsync;
  if (in.op != Op::kLoad && in.op != Op::kStore) return nullptr;
  // Extension by sign matters for loads into wider registers only.
  const bool sign = in.op == Op::kLoad && ptx::KindOf(in.type) == ptx::TypeKind::kSigned &&
                    in.register_bytes > in.bytes;
  switch (in.bytes) {
    case 1:
      return sign ? PickRegister<int8_t>(in) : PickRegister<uint8_t>(in);
    case 2:
      return sign ? PickRegister<int16_t>(in) : PickRegister<uint16_t>(in);
    case 4:
      return sign ? PickRegister<int32_t>(in) : PickRegister<uint32_t>(in);
    case 8:
      return PickRegister<uint64_t>(in);
    case 16:
      return PickRegister<B128>(in);
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
