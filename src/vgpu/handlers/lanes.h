// Loops over the 32 lanes of a warp, for handlers. Results are computed for all lanes, into a local
// array, so that the compiler can vectorise whatever overlaps; then the lanes of the mask are
// stored.
#pragma once

#include <bit>
#include <cstring>

#include "vgpu/math/types.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

// A local array for one register's lanes.
template <typename T>
struct alignas(64) LaneArray {
  T at[kWarpSize];
};

template <typename T>
inline void Commit(T* target, const LaneArray<T>& result, uint32_t mask) {
  if (mask == kFullMask) {
    std::memcpy(target, result.at, sizeof result.at);
    return;
  }
  for (int i = 0; i < kWarpSize; ++i) {
    target[i] = (mask >> i & 1) != 0 ? result.at[i] : target[i];
  }
}

inline void CommitPredicate(uint32_t& target, uint32_t bits, uint32_t mask) {
  target = (target & ~mask) | (bits & mask);
}

template <typename D, typename A, auto kFunction>
void Map1(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.Lanes<A>(in.a);
  LaneArray<D> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = kFunction(a[i]);
  Commit(w.Lanes<D>(in.d), r, mask);
}

template <typename D, typename A, typename B, auto kFunction>
void Map2(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.Lanes<A>(in.a);
  const B* b = w.Lanes<B>(in.b);
  LaneArray<D> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = kFunction(a[i], b[i]);
  Commit(w.Lanes<D>(in.d), r, mask);
}

template <typename D, typename A, typename B, typename C, auto kFunction>
void Map3(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.Lanes<A>(in.a);
  const B* b = w.Lanes<B>(in.b);
  const C* c = w.Lanes<C>(in.c);
  LaneArray<D> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = kFunction(a[i], b[i], c[i]);
  Commit(w.Lanes<D>(in.d), r, mask);
}

template <typename D, typename A, typename B, typename C, typename E, auto kFunction>
void Map4(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.Lanes<A>(in.a);
  const B* b = w.Lanes<B>(in.b);
  const C* c = w.Lanes<C>(in.c);
  const E* e = w.Lanes<E>(in.e);
  LaneArray<D> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = kFunction(a[i], b[i], c[i], e[i]);
  Commit(w.Lanes<D>(in.d), r, mask);
}

// The integer types an instruction can name; .bN as unsigned. `make` is a template lambda that
// takes a value of the type and returns the handler.
template <typename Make>
Handler ForInteger(ptx::Type type, Make make) {
  switch (type) {
    case ptx::Type::kB16:
    case ptx::Type::kU16:
      return make(uint16_t{});
    case ptx::Type::kS16:
      return make(int16_t{});
    case ptx::Type::kB32:
    case ptx::Type::kU32:
      return make(uint32_t{});
    case ptx::Type::kS32:
      return make(int32_t{});
    case ptx::Type::kB64:
    case ptx::Type::kU64:
      return make(uint64_t{});
    case ptx::Type::kS64:
      return make(int64_t{});
    default:
      return nullptr;
  }
}

template <typename Make>
Handler ForWord(ptx::Type type, Make make) {
  switch (type) {
    case ptx::Type::kB32:
    case ptx::Type::kU32:
      return make(uint32_t{});
    case ptx::Type::kS32:
      return make(int32_t{});
    case ptx::Type::kB64:
    case ptx::Type::kU64:
      return make(uint64_t{});
    case ptx::Type::kS64:
      return make(int64_t{});
    default:
      return nullptr;
  }
}

// Values by their bits alone.
template <typename Make>
Handler ForWidth(ptx::Type type, Make make) {
  switch (ptx::BitsOf(type)) {
    case 8:
      return make(uint8_t{});
    case 16:
      return make(uint16_t{});
    case 32:
      return make(uint32_t{});
    case 64:
      return make(uint64_t{});
    case 128:
      return make(static_cast<unsigned __int128>(0));
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
