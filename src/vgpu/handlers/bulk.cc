// cp.async.bulk and cp.reduce.async.bulk, with and without tensor maps. They are done at once: a
// copy may become visible at any time before its completion is waited for.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "vgpu/handlers/access.h"
#include "vgpu/handlers/handlers.h"
#include "vgpu/math/arith.h"
#include "vgpu/math/compare.h"
#include "vgpu/math/convert.h"
#include "vgpu/math/mbarrier.h"
#include "vgpu/tensor_map.h"

namespace kernelsmith::vgpu {
namespace {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build
using ptx::Type;

constexpr uint32_t kUnit = 16;  // bytes: what bulk copies count in

Type TypeOf(TensorMap::Element element) {
  switch (element) {
    case TensorMap::Element::kU8:
      return Type::kU8;
    case TensorMap::Element::kU16:
      return Type::kU16;
    case TensorMap::Element::kU32:
      return Type::kU32;
    case TensorMap::Element::kS32:
      return Type::kS32;
    case TensorMap::Element::kU64:
      return Type::kU64;
    case TensorMap::Element::kS64:
      return Type::kS64;
    case TensorMap::Element::kF16:
      return Type::kF16;
    case TensorMap::Element::kBF16:
      return Type::kBf16;
    case TensorMap::Element::kF64:
      return Type::kF64;
    default:
      return Type::kF32;
  }
}

template <typename T>
T Combined(AtomicOp op, T old, T b) {
  switch (op) {
    case AtomicOp::kMin:
      return std::min(old, b);
    case AtomicOp::kMax:
      return std::max(old, b);
    case AtomicOp::kInc:
      return old >= b ? T{0} : static_cast<T>(old + 1);
    case AtomicOp::kDec:
      return old == 0 || old > b ? b : static_cast<T>(old - 1);
    case AtomicOp::kAnd:
      return static_cast<T>(old & b);
    case AtomicOp::kOr:
      return static_cast<T>(old | b);
    case AtomicOp::kXor:
      return static_cast<T>(old ^ b);
    default:
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                            static_cast<std::make_unsigned_t<T>>(b));
  }
}

template <typename T>
T CombinedFloat(AtomicOp op, T old, T b) {
  switch (op) {
    case AtomicOp::kMin:
      return math::Min(old, b);
    case AtomicOp::kMax:
      return math::Max(old, b);
    default:
      return math::Add(old, b);
  }
}

template <typename T, typename Combine>
void Update(void* to, const void* from, Combine combine) {
  T old;
  T b;
  std::memcpy(&old, to, sizeof old);
  std::memcpy(&b, from, sizeof b);
  const T result = combine(old, b);
  std::memcpy(to, &result, sizeof result);
}

// One element; memory that kernels reduce into by bulk is theirs alone, so this need not be atomic
// to the host.
void Reduce(AtomicOp op, Type type, void* to, const void* from) {
  switch (type) {
    case Type::kF16:
      return Update<math::F16>(to, from, [&](auto a, auto b) { return CombinedFloat(op, a, b); });
    case Type::kBf16:
      return Update<math::BF16>(to, from, [&](auto a, auto b) { return CombinedFloat(op, a, b); });
    case Type::kF32:
      return Update<float>(to, from, [&](auto a, auto b) { return CombinedFloat(op, a, b); });
    case Type::kF64:
      return Update<double>(to, from, [&](auto a, auto b) { return CombinedFloat(op, a, b); });
    case Type::kS32:
      return Update<int32_t>(to, from, [&](auto a, auto b) { return Combined(op, a, b); });
    case Type::kS64:
      return Update<int64_t>(to, from, [&](auto a, auto b) { return Combined(op, a, b); });
    case Type::kU64:
    case Type::kB64:
      return Update<uint64_t>(to, from, [&](auto a, auto b) { return Combined(op, a, b); });
    case Type::kU16:
      return Update<uint16_t>(to, from, [&](auto a, auto b) { return Combined(op, a, b); });
    case Type::kU8:
      return Update<uint8_t>(to, from, [&](auto a, auto b) { return Combined(op, a, b); });
    default:
      return Update<uint32_t>(to, from, [&](auto a, auto b) { return Combined(op, a, b); });
  }
}

void Transfer(const BulkInfo& info, Type type, uint32_t bytes, uint64_t to, uint64_t from,
              uint32_t length) {
  if (!info.reduces) {
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), length);
    return;
  }
  for (uint32_t i = 0; i + bytes <= length; i += bytes) {
    Reduce(info.reduce, type, reinterpret_cast<void*>(to + i),
           reinterpret_cast<const void*>(from + i));
  }
}

// The bytes have arrived at the mbarrier. False: the launch failed.
bool Complete(Warp& w, const Instruction& in, int lane, uint64_t barrier, uint32_t bytes) {
  const uint64_t host =
      TranslateRange(w, in, MemorySpace::kShared, AccessKind::kAtomic, lane, barrier, 8, 8);
  if (host == 0) return false;
  auto* place = reinterpret_cast<uint64_t*>(host);
  uint64_t old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &old, math::MbarrierComplete(old, bytes), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return true;
}

// Shared memory of the blocks that get the data: this one's, or those of a multicast's mask.
template <typename Visit>
bool ForEachTarget(Warp& w, const Instruction& in, const BulkInfo& info, int lane,
                   const Visit& visit) {
  if (!info.multicast) return visit(uint64_t{0});
  const Operand last = w.function().list[in.list_first + in.list_count - 1];
  const uint32_t blocks = w.Lanes<uint16_t>(last)[lane];
  for (uint32_t rest = blocks; rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<uint32_t>(std::countr_zero(rest));
    if (rank >= ClusterSize(*w.block)) continue;
    if (!visit(ClusterOffset(*w.block, rank))) return false;
  }
  return true;
}

void CopyLinear(Warp& w, const Instruction& in, const BulkInfo& info, int lane) {
  const uint32_t bytes = w.Lanes<uint32_t>(in.c)[lane];
  if (bytes % kUnit != 0) {
    w.Fail(FaultKind::kMisalignedAddress, lane, 0,
           "a bulk copy of a size that is no multiple of 16");
    return;
  }
  const uint64_t to = w.Lanes<uint64_t>(in.a)[lane];
  const uint64_t from = w.Lanes<uint64_t>(in.b)[lane];
  if (bytes > 0) {
    const uint64_t source =
        TranslateRange(w, in, info.from_shared ? MemorySpace::kShared : MemorySpace::kGlobal,
                       AccessKind::kLoad, lane, from, bytes, kUnit);
    if (source == 0) return;
    const bool done = ForEachTarget(w, in, info, lane, [&](uint64_t slot) {
      const uint64_t target =
          TranslateRange(w, in, info.to_shared ? MemorySpace::kShared : MemorySpace::kGlobal,
                         AccessKind::kAsyncCopy, lane, to + slot, bytes, kUnit);
      if (target == 0) return false;
      const auto size = static_cast<uint32_t>(
          info.type == Type::kNone ? 1 : std::max(1, ptx::BytesOf(info.type)));
      Transfer(info, info.type, size, target, source, bytes);
      return true;
    });
    if (!done) return;
  }
  if (in.e.exists()) {
    const uint64_t barrier = w.Lanes<uint64_t>(in.e)[lane];
    ForEachTarget(w, in, info, lane,
                  [&](uint64_t slot) { return Complete(w, in, lane, barrier + slot, bytes); });
  }
}

void CopyTensor(Warp& w, const Instruction& in, const BulkInfo& info, int lane) {
  TensorMap map;
  const uint64_t where = w.Lanes<uint64_t>(info.to_shared ? in.b : in.a)[lane];
  const uint64_t descriptor =
      TranslateRange(w, in, MemorySpace::kGeneric, AccessKind::kLoad, lane, where, 128, 64);
  if (descriptor == 0) return;
  std::memcpy(&map, reinterpret_cast<const void*>(descriptor), sizeof map);
  const int rank = in.list_count - (info.multicast ? 1 : 0);
  if (map.magic != TensorMap::kMagic || map.rank != rank) {
    w.Fail(FaultKind::kIllegalInstruction, lane, where,
           map.magic != TensorMap::kMagic
               ? "a tensor copy whose map was not made by cuTensorMapEncodeTiled"
               : "a tensor copy whose map has another number of dimensions");
    return;
  }
  const Operand* list = &w.function().list[in.list_first];
  int64_t start[5] = {};
  for (int d = 0; d < rank; ++d) start[d] = w.Lanes<int32_t>(list[d])[lane];
  const uint64_t shared = w.Lanes<uint64_t>(info.to_shared ? in.a : in.b)[lane];
  const uint32_t bytes = map.ElementBytes();
  const Type type = TypeOf(map.element);
  if (shared % 128 != 0) {
    w.Fail(FaultKind::kMisalignedAddress, lane, shared,
           "a tensor copy whose shared memory is not aligned to 128 bytes");
    return;
  }
  uint64_t nan = 0;  // what lies outside is 0, or NaN
  if (map.fill_nan != 0) {
    nan = type == Type::kF16    ? 0x7fff
          : type == Type::kBf16 ? 0x7fff
          : type == Type::kF64  ? 0x7fffffffffffffff
                                : 0x7fffffff;
  }
  uint64_t rows = 1;
  for (int d = 1; d < rank; ++d) rows *= map.Count(d);
  const uint32_t columns = map.Count(0);
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t rest = row;
    bool inside = true;
    uint64_t base = map.address;
    for (int d = 1; d < rank; ++d) {
      const int64_t at = start[d] + static_cast<int64_t>(rest % map.Count(d)) * map.step[d];
      rest /= map.Count(d);
      inside &= at >= 0 && static_cast<uint64_t>(at) < map.size[d];
      base += static_cast<uint64_t>(at) * map.stride[d - 1];
    }
    for (uint32_t column = 0; column < columns; ++column) {
      const int64_t at = start[0] + static_cast<int64_t>(column) * map.step[0];
      const bool exists = inside && at >= 0 && static_cast<uint64_t>(at) < map.size[0];
      const uint64_t place = Swizzled(shared + (row * columns + column) * bytes, map.swizzle);
      const uint64_t element = base + static_cast<uint64_t>(at) * bytes;
      if (!info.to_shared) {
        if (!exists) continue;
        const uint64_t from = TranslateRange(w, in, MemorySpace::kShared, AccessKind::kLoad, lane,
                                             place, bytes, bytes);
        if (from == 0) return;
        const uint64_t to = TranslateRange(w, in, MemorySpace::kGlobal, AccessKind::kAsyncCopy,
                                           lane, element, bytes, bytes);
        if (to == 0) return;
        Transfer(info, type, bytes, to, from, bytes);
        continue;
      }
      uint64_t value = nan;
      if (exists) {
        const uint64_t from = TranslateRange(w, in, MemorySpace::kGlobal, AccessKind::kLoad, lane,
                                             element, bytes, bytes);
        if (from == 0) return;
        std::memcpy(&value, reinterpret_cast<const void*>(from), bytes);
      }
      const bool done = ForEachTarget(w, in, info, lane, [&](uint64_t slot) {
        const uint64_t to = TranslateRange(w, in, MemorySpace::kShared, AccessKind::kAsyncCopy,
                                           lane, place + slot, bytes, bytes);
        if (to == 0) return false;
        std::memcpy(reinterpret_cast<void*>(to), &value, bytes);
        return true;
      });
      if (!done) return;
    }
  }
  if (in.e.exists()) {
    const uint64_t barrier = w.Lanes<uint64_t>(in.e)[lane];
    const auto total = static_cast<uint32_t>(rows * columns * bytes);
    ForEachTarget(w, in, info, lane,
                  [&](uint64_t slot) { return Complete(w, in, lane, barrier + slot, total); });
  }
}

void BulkCopy(Warp& w, const Instruction& in, uint32_t mask) {
  const BulkInfo& info = w.function().bulks[in.target];
  for (uint32_t rest = mask; rest != 0 && !w.stopped; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    info.tensor ? CopyTensor(w, in, info, lane) : CopyLinear(w, in, info, lane);
  }
  w.launch->progress = true;
}

}  // namespace

Handler FindBulkHandler(const Instruction& in) {
  return in.op == Op::kBulkCopy ? BulkCopy : nullptr;
}

}  // namespace kernelsmith::vgpu
