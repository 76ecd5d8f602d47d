// Shared by the files of the shadow observer.
#pragma once

#include <bit>
#include <cstring>

#include "algebra/shadow_observer.h"
#include "ptx/types.h"
#include "tensor/dtype.h"

namespace kernelsmith {

enum class ShadowObserver::Action : uint8_t {
  kIgnore,   // no register with a shadow is written
  kInteger,  // clears the result unless a source has a shadow
  kFloat,
  kCompare,
  kConvert,
  kConvertPacked,
  kMathCall,
  kMove,
  kLogic,
  kShift,
  kPermute,
  kSelect,
  kPack,
  kUnpack,
  kCpAsync,
  kCall,
  kVote,  // lanes learn of the decisions of others
};

namespace algebra_internal {

inline CellKind CellKindOf(ptx::Type type) {
  switch (type) {
    case ptx::Type::kF16:
    case ptx::Type::kF16x2:
      return CellKind::kF16;
    case ptx::Type::kBf16:
    case ptx::Type::kBf16x2:
      return CellKind::kBf16;
    case ptx::Type::kF32:
    case ptx::Type::kTf32:
      return CellKind::kF32;
    case ptx::Type::kF64:
      return CellKind::kF64;
    default:
      return CellKind::kNone;
  }
}

inline bool IsHalf(CellKind kind) { return kind == CellKind::kF16 || kind == CellKind::kBf16; }

inline double DecodeFloat(uint64_t bits, CellKind kind) {
  switch (kind) {
    case CellKind::kF16:
      return HalfToFloat(static_cast<uint16_t>(bits));
    case CellKind::kBf16:
      return BfloatToFloat(static_cast<uint16_t>(bits));
    case CellKind::kF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case CellKind::kF64:
      return std::bit_cast<double>(bits);
    default:
      return 0;
  }
}

inline Precision PrecisionOf(CellKind kind) {
  switch (kind) {
    case CellKind::kF16:
      return Precision::kFloat16;
    case CellKind::kBf16:
      return Precision::kBfloat16;
    case CellKind::kF64:
      return Precision::kFloat64;
    default:
      return Precision::kFloat32;
  }
}

// Rounding to a narrower type than float32 in units of float32's: the scale of an error grows by
// this times the value.
inline float NarrowScale(CellKind kind) {
  switch (kind) {
    case CellKind::kF16:
      return 0x1p13f;
    case CellKind::kBf16:
      return 0x1p16f;
    default:
      return 0;
  }
}

// Calls visit(lane) for the lanes of a mask.
template <typename Visit>
inline void ForLanes(uint32_t mask, Visit visit) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) visit(std::countr_zero(rest));
}

}  // namespace algebra_internal
}  // namespace kernelsmith
