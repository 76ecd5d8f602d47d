// A shadow as kernels carry it: the parts of field/symbolic.h with the scale of the rounding error,
// packed for speed. The float itself lies in the register or in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "field/symbolic.h"

namespace kernelsmith {

// What the bits that a cell stands for are.
enum class CellKind : uint8_t {
  kNone,
  kF16,
  kBf16,
  kF32,
  kF64,
  kF64Low,  // the lower and the upper word of a double that was taken apart
  kF64High,
};

struct Cell {
  uint64_t p = 0;
  uint64_t q = 0;
  uint64_t a = 0;
  // Of a rational constant or a logarithm as in Shadow; otherwise bounds on the degrees of
  // numerator and denominator as polynomials of the inputs.
  int32_t num = 0;
  uint32_t den = 1;
  uint32_t flags = 0;  // ShadowFlags, and the kind in the top bits
  float m = 0;

  static constexpr int kKindShift = 28;
  static constexpr uint32_t kShadowMask = (1u << kKindShift) - 1;

  CellKind kind() const { return static_cast<CellKind>(flags >> kKindShift); }
  void set_kind(CellKind kind) {
    flags = (flags & kShadowMask) | static_cast<uint32_t>(kind) << kKindShift;
  }
  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  bool IsZero() const { return has(kRational) && num == 0; }
  bool HasDegree() const { return !has(kRational | kHasLog); }
};
static_assert(sizeof(Cell) == 40);

inline constexpr int32_t kMaxDegree = 0x3fffffff;
inline int32_t CapDegree(int64_t degree) {
  return static_cast<int32_t>(std::min<int64_t>(degree, kMaxDegree));
}
inline int32_t NumeratorDegree(const Cell& x) { return x.HasDegree() ? x.num : 0; }
inline int32_t DenominatorDegree(const Cell& x) {
  return x.HasDegree() ? static_cast<int32_t>(x.den) : 0;
}

inline Shadow ToShadow(const Cell& x) {
  return {.p = x.p,
          .q = x.q,
          .a = x.a,
          .num = x.has(kRational) ? x.num : 0,
          .den = x.has(kRational | kHasLog) ? x.den : 1,
          .flags = x.flags & Cell::kShadowMask};
}
inline Symbolic ToSymbolic(const Cell& x, double value) {
  return {.v = value, .s = ToShadow(x), .m = x.m};
}

// Degrees are used where the shadow is neither rational nor a logarithm.
inline Cell ToCell(const Shadow& s, float m, CellKind kind, int32_t numerator = kMaxDegree,
                   int32_t denominator = kMaxDegree) {
  Cell x{.p = s.p, .q = s.q, .a = s.a, .num = s.num, .den = s.den, .flags = s.flags, .m = m};
  if (x.HasDegree()) {
    x.num = numerator;
    x.den = static_cast<uint32_t>(denominator);
  }
  x.set_kind(kind);
  return x;
}

namespace cell_internal {

inline constexpr uint32_t kParts = kHasP | kHasQ;
// Both elements of the fields, at most one of them a constant: what nearly all operations see.
inline bool IsPlain(const Cell& x, const Cell& y) {
  return ((x.flags | y.flags) & kHasLog) == 0 && (x.flags & y.flags & kRational) == 0;
}
inline uint32_t History(const Cell& x, const Cell& y) { return (x.flags | y.flags) & kHistory; }

inline void SetSumDegree(const Cell& x, const Cell& y, Cell* sum) {
  const int64_t nx = NumeratorDegree(x), dx = DenominatorDegree(x);
  const int64_t ny = NumeratorDegree(y), dy = DenominatorDegree(y);
  sum->num = CapDegree(std::max(nx + dy, ny + dx));
  sum->den = static_cast<uint32_t>(CapDegree(dx + dy));
}
inline void SetProductDegree(const Cell& x, const Cell& y, Cell* product) {
  product->num = CapDegree(int64_t{NumeratorDegree(x)} + NumeratorDegree(y));
  product->den =
      static_cast<uint32_t>(CapDegree(int64_t{DenominatorDegree(x)} + DenominatorDegree(y)));
}

}  // namespace cell_internal

// Parts only: m and kind are the caller's.
inline Cell AddParts(const Algebra& algebra, const Cell& x, const Cell& y) {
  Cell r;
  if (cell_internal::IsPlain(x, y)) {
    r.p = FieldP::Add(x.p, y.p);
    r.q = FieldQ::Add(x.q, y.q);
    r.flags = (x.flags & y.flags & cell_internal::kParts) | cell_internal::History(x, y);
    cell_internal::SetSumDegree(x, y, &r);
    return r;
  }
  r = ToCell(algebra.Add(ToShadow(x), ToShadow(y)), 0, CellKind::kNone);
  if (r.HasDegree()) cell_internal::SetSumDegree(x, y, &r);
  return r;
}

inline Cell MulParts(const Algebra& algebra, const Cell& x, const Cell& y) {
  if (x.IsZero()) return x;
  if (y.IsZero()) return y;
  Cell r;
  if (cell_internal::IsPlain(x, y)) {
    r.p = FieldP::Mul(x.p, y.p);
    r.q = FieldQ::Mul(x.q, y.q);
    r.flags = (x.flags & y.flags & cell_internal::kParts) | cell_internal::History(x, y);
    cell_internal::SetProductDegree(x, y, &r);
    return r;
  }
  r = ToCell(algebra.Mul(ToShadow(x), ToShadow(y)), 0, CellKind::kNone);
  if (r.HasDegree()) cell_internal::SetProductDegree(x, y, &r);
  return r;
}

inline Cell NegParts(const Algebra& algebra, const Cell& x) {
  if (x.has(kHasLog)) return ToCell(algebra.Neg(ToShadow(x)), 0, CellKind::kNone);
  Cell r = x;
  r.p = FieldP::Neg(x.p);
  r.q = FieldQ::Neg(x.q);
  if (x.has(kRational)) r.num = -x.num;
  return r;
}

}  // namespace kernelsmith
