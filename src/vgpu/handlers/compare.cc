// setp, set, selp, slct and the logic of predicates.

#include "vgpu/math/compare.h"

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using math::Cmp;
using ptx::Type;

uint32_t Combine(ptx::BoolOp op, uint32_t value, uint32_t c) {
  switch (op) {
    case ptx::BoolOp::kAnd:
      return value & c;
    case ptx::BoolOp::kOr:
      return value | c;
    case ptx::BoolOp::kXor:
      return value ^ c;
    case ptx::BoolOp::kNone:
      return value;
  }
  return value;
}

template <typename T, Cmp kCmp, bool kFtz>
void Setp(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  const T* b = w.Lanes<T>(in.b);
  // Bytes first: they pack into a mask by vector instructions.
  uint32_t bits = 0;
  for (int i = 0; i < kWarpSize; ++i) {
    bits |= static_cast<uint32_t>(math::Compare<kCmp, kFtz>(a[i], b[i])) << i;
  }
  const uint32_t c = in.c.exists() ? w.Predicate(in.c) ^ (in.negate_c ? kFullMask : 0u) : 0;
  const ptx::BoolOp op = in.c.exists() ? in.bool_op : ptx::BoolOp::kNone;
  CommitPredicate(w.Predicate(in.d), Combine(op, bits, c), mask);
  if (in.d2.exists()) CommitPredicate(w.Predicate(in.d2), Combine(op, ~bits, c), mask);
}

// The comparisons of a packed pair go to two predicates.
template <typename Pair, Cmp kCmp, bool kFtz>
void SetpPair(Warp& w, const Instruction& in, uint32_t mask) {
  const Pair* a = w.Lanes<Pair>(in.a);
  const Pair* b = w.Lanes<Pair>(in.b);
  uint32_t low = 0;
  uint32_t high = 0;
  for (int i = 0; i < kWarpSize; ++i) {
    low |= static_cast<uint32_t>(math::Compare<kCmp, kFtz>(math::Lo(a[i]), math::Lo(b[i]))) << i;
    high |= static_cast<uint32_t>(math::Compare<kCmp, kFtz>(math::Hi(a[i]), math::Hi(b[i]))) << i;
  }
  const uint32_t c = in.c.exists() ? w.Predicate(in.c) ^ (in.negate_c ? kFullMask : 0u) : 0;
  const ptx::BoolOp op = in.c.exists() ? in.bool_op : ptx::BoolOp::kNone;
  CommitPredicate(w.Predicate(in.d), Combine(op, low, c), mask);
  if (in.d2.exists()) CommitPredicate(w.Predicate(in.d2), Combine(op, high, c), mask);
}

// set on pairs: each half of the result is 1.0, or all ones.
template <typename Pair, Cmp kCmp, bool kFtz>
void SetPair(Warp& w, const Instruction& in, uint32_t mask) {
  const Pair* a = w.Lanes<Pair>(in.a);
  const Pair* b = w.Lanes<Pair>(in.b);
  const uint32_t one = in.type == Type::kF16x2    ? 0x3c00
                       : in.type == Type::kBf16x2 ? 0x3f80
                                                  : 0xffff;
  LaneArray<uint32_t> r;
  for (int i = 0; i < kWarpSize; ++i) {
    const bool low = math::Compare<kCmp, kFtz>(math::Lo(a[i]), math::Lo(b[i]));
    const bool high = math::Compare<kCmp, kFtz>(math::Hi(a[i]), math::Hi(b[i]));
    r.at[i] = (low ? one : 0) | (high ? one << 16 : 0);
  }
  Commit(w.Lanes<uint32_t>(in.d), r, mask);
}

// Calls `make` with the comparison.
template <typename Make>
Handler ForCmp(ptx::Comparison comparison, Make make) {
  switch (comparison) {
    case ptx::Comparison::kEq:
      return make.template operator()<Cmp::kEq>();
    case ptx::Comparison::kNe:
      return make.template operator()<Cmp::kNe>();
    case ptx::Comparison::kLt:
    case ptx::Comparison::kLo:
      return make.template operator()<Cmp::kLt>();
    case ptx::Comparison::kLe:
    case ptx::Comparison::kLs:
      return make.template operator()<Cmp::kLe>();
    case ptx::Comparison::kGt:
    case ptx::Comparison::kHi:
      return make.template operator()<Cmp::kGt>();
    case ptx::Comparison::kGe:
    case ptx::Comparison::kHs:
      return make.template operator()<Cmp::kGe>();
    case ptx::Comparison::kEqu:
      return make.template operator()<Cmp::kEqu>();
    case ptx::Comparison::kNeu:
      return make.template operator()<Cmp::kNeu>();
    case ptx::Comparison::kLtu:
      return make.template operator()<Cmp::kLtu>();
    case ptx::Comparison::kLeu:
      return make.template operator()<Cmp::kLeu>();
    case ptx::Comparison::kGtu:
      return make.template operator()<Cmp::kGtu>();
    case ptx::Comparison::kGeu:
      return make.template operator()<Cmp::kGeu>();
    case ptx::Comparison::kNum:
      return make.template operator()<Cmp::kNum>();
    case ptx::Comparison::kNan:
      return make.template operator()<Cmp::kNan>();
    case ptx::Comparison::kNone:
      return nullptr;
  }
  return nullptr;
}

Handler FindSetp(const Instruction& in) {
  return ForCmp(in.comparison, [&]<Cmp kCmp>() -> Handler {
    // Integers know only the plain comparisons.
    constexpr bool kOrdered = kCmp <= Cmp::kGe;
    switch (in.type) {
      case Type::kF32:
        return in.ftz ? Setp<float, kCmp, true> : Setp<float, kCmp, false>;
      case Type::kF64:
        return Setp<double, kCmp, false>;
      case Type::kF16:
        return in.ftz ? Setp<math::F16, kCmp, true> : Setp<math::F16, kCmp, false>;
      case Type::kBf16:
        return Setp<math::BF16, kCmp, false>;
      case Type::kF16x2:
        return in.ftz ? SetpPair<math::F16x2, kCmp, true> : SetpPair<math::F16x2, kCmp, false>;
      case Type::kBf16x2:
        return SetpPair<math::BF16x2, kCmp, false>;
      default:
        break;
    }
    if constexpr (kOrdered) {
      // lo, ls, hi and hs compare unsigned whatever the type says.
      const bool as_unsigned =
          in.comparison >= ptx::Comparison::kLo && in.comparison <= ptx::Comparison::kHs;
      return ForInteger(in.type, [&]<typename T>(T) -> Handler {
        using U = std::make_unsigned_t<T>;
        return as_unsigned ? Setp<U, kCmp, false> : Setp<T, kCmp, false>;
      });
    } else {
      return nullptr;
    }
  });
}

Handler FindSetPair(const Instruction& in) {
  return ForCmp(in.comparison, [&]<Cmp kCmp>() -> Handler {
    if (in.source_type == Type::kBf16x2) return SetPair<math::BF16x2, kCmp, false>;
    return in.ftz ? SetPair<math::F16x2, kCmp, true> : SetPair<math::F16x2, kCmp, false>;
  });
}

template <typename T>
void Selp(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  const T* b = w.Lanes<T>(in.b);
  const uint32_t c = w.Predicate(in.c) ^ (in.negate_c ? kFullMask : 0u);
  LaneArray<T> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = (c >> i & 1) != 0 ? a[i] : b[i];
  Commit(w.Lanes<T>(in.d), r, mask);
}

template <typename T>
Handler FindSlct(const Instruction& in) {
  if (in.source_type == Type::kS32) {
    return Map3<T, T, T, int32_t, [](T a, T b, int32_t c) { return c >= 0 ? a : b; }>;
  }
  if (in.source_type != Type::kF32) return nullptr;
  // A subnormal c is taken as zero with .ftz, which is not negative; -0 is not either.
  return in.ftz ? Map3<T, T, T, float,
                       [](T a, T b, float c) { return math::Flush<true>(c) >= 0 ? a : b; }>
                : Map3<T, T, T, float, [](T a, T b, float c) { return c >= 0 ? a : b; }>;
}

template <auto kFunction>
void Predicates(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t a = w.Predicate(in.a);
  const uint32_t b = in.b.exists() ? w.Predicate(in.b) : 0;
  CommitPredicate(w.Predicate(in.d), kFunction(a, b), mask);
}

void PredicateSelect(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t c = w.Predicate(in.c) ^ (in.negate_c ? kFullMask : 0u);
  CommitPredicate(w.Predicate(in.d), (w.Predicate(in.a) & c) | (w.Predicate(in.b) & ~c), mask);
}

}  // namespace

Handler FindCompareHandler(const Instruction& in) {
  switch (in.op) {
    case Op::kSetp:
      return FindSetp(in);
    case Op::kSet:
      return FindSetPair(in);
    case Op::kSelp:
      return ForWidth(in.type, []<typename T>(T) -> Handler { return Selp<T>; });
    case Op::kSlct:
      return ForWidth(in.type, [&]<typename T>(T) -> Handler { return FindSlct<T>(in); });
    case Op::kPredAnd:
      return Predicates<[](uint32_t a, uint32_t b) { return a & b; }>;
    case Op::kPredOr:
      return Predicates<[](uint32_t a, uint32_t b) { return a | b; }>;
    case Op::kPredXor:
      return Predicates<[](uint32_t a, uint32_t b) { return a ^ b; }>;
    case Op::kPredNot:
      return Predicates<[](uint32_t a, uint32_t) { return ~a; }>;
    case Op::kPredMov:
      return Predicates<[](uint32_t a, uint32_t) { return a; }>;
    case Op::kPredSelp:
      return PredicateSelect;
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
