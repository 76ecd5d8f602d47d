// Float arithmetic, comparisons, conversions and math functions on shadows.
#include <array>

#include "algebra/internal.h"
#include "field/functions.h"
#include "vgpu/ir.h"
#include "vgpu/math/libdevice.h"

namespace kernelsmith {

using namespace algebra_internal;  // NOLINT: helpers of this component
using vgpu::Instruction;
using vgpu::Op;

namespace {

// tanh.approx is good to 2^-11, the other approximations to about 2^-22.
constexpr float kTanhApproxScale = 0x1p13f;
constexpr float kApproxScale = 4;

Cell FromSymbolic(const Symbolic& x, CellKind kind) { return ToCell(x.s, x.m, kind); }

// 1/x, with degrees.
Cell InverseCell(const Algebra& algebra, const Cell& x, double v, CellKind kind) {
  const Shadow s = algebra.Inverse(ToShadow(x));
  Cell r =
      ToCell(s, static_cast<float>(x.m / (v * v)), kind, DenominatorDegree(x), NumeratorDegree(x));
  // 1/0 is infinite, 1/inf is 0.
  if (v == 0) r = ToCell({.flags = x.flags & kHistory}, x.m, kind);
  if (std::isinf(v) && !x.has(kHasParts)) r = ToCell(algebra.Rational(0), 0, kind);
  return r;
}

}  // namespace

bool ShadowObserver::Less(const Cell& x, double vx, const Cell& y, double vy,
                          bool* near_tie) const {
  *near_tie = false;
  decisions_ += (x.flags & y.flags & kRational) == 0;
  const double width = algebra_.tie_width() * (static_cast<double>(x.m) + y.m);
  if (std::fabs(vx - vy) > width) return vx < vy;
  return DecideLess(ToSymbolic(x, vx), ToSymbolic(y, vy), near_tie);
}

Cell ShadowObserver::Choose(bool max, const Cell& x, double vx, const Cell& y, double vy) const {
  if (std::isnan(vx)) return y;
  if (std::isnan(vy)) return x;
  bool near_tie = false;
  const bool less = Less(x, vx, y, vy, &near_tie);
  Cell r = less == max ? y : x;
  if (near_tie) r.flags |= kNearTie;
  return r;
}

// .sat, .relu and the rounding of narrow types.
Cell ShadowObserver::Finish(const Instruction& in, Cell cell, double value, CellKind kind) const {
  const Cell zero = ToCell(algebra_.Rational(0), 0, kind);
  if (in.relu || in.sat) {
    cell = Choose(true, cell, value, zero, 0);
    value = std::max(value, 0.0);
  }
  if (in.sat) {
    cell = Choose(false, cell, value, ToCell(algebra_.Rational(1), 1, kind), 1);
    value = std::min(value, 1.0);
  }
  cell.m += NarrowScale(kind) * static_cast<float>(std::fabs(value));
  cell.set_kind(kind);
  return cell;
}

void ShadowObserver::Float(const Instruction& in, const Row& row, uint32_t mask) {
  if (!row.d.is_register()) return;
  lane_operations_ += static_cast<uint64_t>(std::popcount(mask)) * row.halves;
  for (int half = 0; half < row.halves; ++half) FloatHalf(in, row, half, mask);
}

// The lanes of an operation on floats: what goes in, and what comes out.
struct ShadowObserver::FloatLanes {
  // The arrays stay as they are: filling kilobytes with zeros would cost more than an addition.
  FloatLanes(const Instruction& in, CellKind kind, uint32_t mask)
      : kind(kind),
        mask(mask),
        binary(in.b.exists()),
        ternary(in.c.exists()),
        simple(!in.sat && !in.relu && NarrowScale(kind) == 0) {}

  Lanes x, y, z;
  CellKind kind;
  uint32_t mask;
  bool binary;
  bool ternary;
  bool simple;  // nothing is done to a result
  std::array<Cell, vgpu::kWarpSize> r;

  template <typename Compute>
  void Each(Compute compute) {
    ForLanes(mask, [&](int i) { r[static_cast<size_t>(i)] = compute(i); });
  }
  Cell Done(const ShadowObserver& observer, const Instruction& in, Cell cell, double value) const {
    if (!simple) return observer.Finish(in, cell, value, kind);
    cell.set_kind(kind);
    return cell;
  }
  // A function of one argument; `scale` is the relative error of its approximation.
  void Apply(const ShadowObserver& observer, const Instruction& in, Symbolic (*f)(const Symbolic&),
             float scale) {
    Each([&](int i) {
      const Symbolic result = f(ToSymbolic(x.at(i), x.v[i]));
      Cell cell = FromSymbolic(result, kind);
      if (in.approx) cell.m += scale * static_cast<float>(std::fabs(result.v));
      return Done(observer, in, cell, result.v);
    });
  }
};

// Sums, products and quotients. False: it is none.
bool ShadowObserver::FloatArithmetic(const Instruction& in, FloatLanes& lanes) const {
  switch (in.op) {
    case Op::kAdd:
      lanes.Each([&](int i) {
        Cell sum = AddParts(algebra_, lanes.x.at(i), lanes.y.at(i));
        sum.m = lanes.x.at(i).m + lanes.y.at(i).m;
        return lanes.Done(*this, in, sum, lanes.x.v[i] + lanes.y.v[i]);
      });
      return true;
    case Op::kSub:
      lanes.Each([&](int i) {
        Cell sum = AddParts(algebra_, lanes.x.at(i), NegParts(algebra_, lanes.y.at(i)));
        sum.m = lanes.x.at(i).m + lanes.y.at(i).m;
        return lanes.Done(*this, in, sum, lanes.x.v[i] - lanes.y.v[i]);
      });
      return true;
    case Op::kMul:
      lanes.Each([&](int i) {
        Cell product = MulParts(algebra_, lanes.x.at(i), lanes.y.at(i));
        product.m = static_cast<float>(std::fabs(lanes.x.v[i])) * lanes.y.at(i).m +
                    static_cast<float>(std::fabs(lanes.y.v[i])) * lanes.x.at(i).m;
        return lanes.Done(*this, in, product, lanes.x.v[i] * lanes.y.v[i]);
      });
      return true;
    case Op::kFma:
      lanes.Each([&](int i) {
        Cell sum =
            AddParts(algebra_, MulParts(algebra_, lanes.x.at(i), lanes.y.at(i)), lanes.z.at(i));
        sum.m = static_cast<float>(std::fabs(lanes.x.v[i])) * lanes.y.at(i).m +
                static_cast<float>(std::fabs(lanes.y.v[i])) * lanes.x.at(i).m + lanes.z.at(i).m;
        return lanes.Done(*this, in, sum, lanes.x.v[i] * lanes.y.v[i] + lanes.z.v[i]);
      });
      return true;
    case Op::kDiv:
      lanes.Each([&](int i) {
        const double quotient = lanes.x.v[i] / lanes.y.v[i];
        Cell cell = MulParts(algebra_, lanes.x.at(i),
                             InverseCell(algebra_, lanes.y.at(i), lanes.y.v[i], lanes.kind));
        cell.m = static_cast<float>((lanes.x.at(i).m + std::fabs(quotient) * lanes.y.at(i).m) /
                                    std::fabs(lanes.y.v[i]));
        return lanes.Done(*this, in, cell, quotient);
      });
      return true;
    default:
      return false;
  }
}

// Signs, and choices by size. False: it is none.
bool ShadowObserver::FloatChoice(const Instruction& in, FloatLanes& lanes) {
  switch (in.op) {
    case Op::kNeg:
      lanes.Each([&](int i) {
        Cell cell = NegParts(algebra_, lanes.x.at(i));
        cell.m = lanes.x.at(i).m;
        return lanes.Done(*this, in, cell, -lanes.x.v[i]);
      });
      return true;
    case Op::kAbs:
      lanes.Each([&](int i) {
        bool near_tie = false;
        const Cell zero = ToCell(algebra_.Rational(0), 0, lanes.kind);
        const bool negative = Less(lanes.x.at(i), lanes.x.v[i], zero, 0, &near_tie);
        Cell cell = negative ? NegParts(algebra_, lanes.x.at(i)) : lanes.x.at(i);
        cell.m = lanes.x.at(i).m;
        if (near_tie) cell.flags |= kNearTie;
        return lanes.Done(*this, in, cell, std::fabs(lanes.x.v[i]));
      });
      return true;
    case Op::kCopysign:  // the sign of the first, the size of the second
      lanes.Each([&](int i) {
        bool near_tie = false, other = false;
        const Cell zero = ToCell(algebra_.Rational(0), 0, lanes.kind);
        const bool negative = Less(lanes.y.at(i), lanes.y.v[i], zero, 0, &near_tie);
        const bool wanted = std::signbit(lanes.x.v[i]);
        (void)Less(lanes.x.at(i), lanes.x.v[i], zero, 0, &other);
        Cell cell = negative != wanted ? NegParts(algebra_, lanes.y.at(i)) : lanes.y.at(i);
        cell.m = lanes.y.at(i).m;
        if (near_tie || other) cell.flags |= kNearTie;
        return lanes.Done(*this, in, cell, lanes.y.v[i]);
      });
      return true;
    case Op::kMin:
    case Op::kMax:
    case Op::kMin3:
    case Op::kMax3: {
      const bool max = in.op == Op::kMax || in.op == Op::kMax3;
      lanes.Each([&](int i) {
        if (in.xorsign) return BitTrick(in, lanes.x.at(i), &lanes.y.at(i), lanes.kind);
        Cell cell = Choose(max, lanes.x.at(i), lanes.x.v[i], lanes.y.at(i), lanes.y.v[i]);
        double value =
            max ? std::fmax(lanes.x.v[i], lanes.y.v[i]) : std::fmin(lanes.x.v[i], lanes.y.v[i]);
        if (lanes.ternary) {
          cell = Choose(max, cell, value, lanes.z.at(i), lanes.z.v[i]);
          value = max ? std::fmax(value, lanes.z.v[i]) : std::fmin(value, lanes.z.v[i]);
        }
        // A choice is not rounded.
        cell.set_kind(lanes.kind);
        return cell;
      });
      return true;
    }
    default:
      return false;
  }
}

// Functions of one argument. False: it is none.
bool ShadowObserver::FloatFunction(const Instruction& in, FloatLanes& lanes) const {
  switch (in.op) {
    case Op::kRcp:
      lanes.Each([&](int i) {
        Cell cell = InverseCell(algebra_, lanes.x.at(i), lanes.x.v[i], lanes.kind);
        if (in.approx) cell.m += kApproxScale * static_cast<float>(std::fabs(1 / lanes.x.v[i]));
        return lanes.Done(*this, in, cell, 1 / lanes.x.v[i]);
      });
      return true;
    case Op::kSqrt:
      lanes.Apply(*this, in, &Sqrt, kApproxScale);
      return true;
    case Op::kRsqrt:
      lanes.Apply(*this, in, &Rsqrt, kApproxScale);
      return true;
    case Op::kSin:
      lanes.Apply(*this, in, &Sin, kApproxScale);
      return true;
    case Op::kCos:
      lanes.Apply(*this, in, &Cos, kApproxScale);
      return true;
    case Op::kLg2:
      lanes.Apply(*this, in, &Log2, kApproxScale);
      return true;
    case Op::kEx2:
      lanes.Apply(*this, in, &Exp2, kApproxScale);
      return true;
    case Op::kTanh:
      lanes.Apply(*this, in, &Tanh, kTanhApproxScale);
      return true;
    default:
      return false;
  }
}

void ShadowObserver::FloatHalf(const Instruction& in, const Row& row, int half, uint32_t mask) {
  FloatLanes lanes(in, row.kind, mask);
  Fetch(row.a, row.constant[0], row.kind, half, mask, &lanes.x);
  if (lanes.binary) Fetch(row.b, row.constant[1], row.kind, half, mask, &lanes.y);
  if (lanes.ternary) Fetch(row.c, row.constant[2], row.kind, half, mask, &lanes.z);
  const uint32_t tainted = warp_->tainted & mask;
  if (!FloatArithmetic(in, lanes) && !FloatChoice(in, lanes) && !FloatFunction(in, lanes)) {
    lanes.Each([&](int i) {
      return BitTrick(in, lanes.x.at(i), lanes.binary ? &lanes.y.at(i) : nullptr, row.kind);
    });
  }
  if (tainted != 0) {
    ForLanes(tainted, [&](int i) { lanes.r[static_cast<size_t>(i)].flags |= kNearTie; });
  }
  StoreHalf(row, half, lanes);
}

void ShadowObserver::StoreHalf(const Row& row, int half, const FloatLanes& lanes) {
  Cell* cells = nullptr;
  if (row.halves == 2) {
    // Only this half: the other one of a source may lie in the result's register, and the lower
    // half is stored before the upper one is computed.
    const int32_t slot = row.d.slot + half;
    file_->present[static_cast<size_t>(slot)] |= lanes.mask;
    cells = file_->slot(slot);
  } else {
    cells = Result(row.d, row.kind, 0, lanes.mask);
  }
  ForLanes(lanes.mask, [&](int i) { cells[i] = lanes.r[static_cast<size_t>(i)]; });
}

void ShadowObserver::Compare(const Instruction& in, const Row& row, uint32_t mask) {
  if (row.d.is_register()) Clear(row.d, mask);
  if (in.comparison == ptx::Comparison::kNum || in.comparison == ptx::Comparison::kNan) return;
  CellKind kind = row.source_kind;
  if (kind == CellKind::kNone) {
    // Integers that are floats' bits are ordered as the floats are, sign apart.
    if (((Present(row.a) | Present(row.b)) & mask) == 0 || row.a.operand.bytes() != 4) return;
    kind = CellKind::kF32;
  }
  lane_operations_ += static_cast<uint64_t>(std::popcount(mask)) * row.halves;
  const bool equality =
      in.comparison == ptx::Comparison::kEq || in.comparison == ptx::Comparison::kNe ||
      in.comparison == ptx::Comparison::kEqu || in.comparison == ptx::Comparison::kNeu;
  for (int half = 0; half < row.halves; ++half) {
    Lanes x, y;
    Fetch(row.a, row.constant[0], kind, half, mask, &x);
    Fetch(row.b, row.constant[1], kind, half, mask, &y);
    uint32_t ties = 0;
    ForLanes(mask, [&](int i) {
      bool near_tie = false;
      if (equality) {
        decisions_ += (x.at(i).flags & y.at(i).flags & kRational) == 0;
        DecideEqual(ToSymbolic(x.at(i), x.v[i]), ToSymbolic(y.at(i), y.v[i]), &near_tie);
      } else {
        (void)Less(x.at(i), x.v[i], y.at(i), y.v[i], &near_tie);
      }
      near_tie |= ((x.at(i).flags | y.at(i).flags) & kNearTie) != 0;
      ties |= static_cast<uint32_t>(near_tie) << i;
    });
    Taint(ties);
  }
}

namespace {

// The integral value in the direction of a conversion.
Symbolic ToIntegral(const Symbolic& x, ptx::Rounding rounding) {
  switch (rounding) {
    case ptx::Rounding::kRni:
    case ptx::Rounding::kRn:
      return Round(x);
    case ptx::Rounding::kRmi:
    case ptx::Rounding::kRm:
      return Floor(x);
    case ptx::Rounding::kRpi:
    case ptx::Rounding::kRp:
      return Ceil(x);
    default:
      return Trunc(x);
  }
}

bool IsIntegral(ptx::Rounding rounding) {
  return rounding == ptx::Rounding::kRni || rounding == ptx::Rounding::kRzi ||
         rounding == ptx::Rounding::kRmi || rounding == ptx::Rounding::kRpi;
}

bool IsIntegerType(ptx::Type type) {
  const ptx::TypeKind kind = ptx::KindOf(type);
  return kind == ptx::TypeKind::kSigned || kind == ptx::TypeKind::kUnsigned ||
         kind == ptx::TypeKind::kBits;
}

double DecodeInteger(uint64_t bits, ptx::Type type) {
  const int width = ptx::BitsOf(type);
  if (ptx::IsSigned(type)) {
    const auto shift = static_cast<unsigned>(64 - width);
    return static_cast<double>(static_cast<int64_t>(bits << shift) >> shift);
  }
  return static_cast<double>(width == 64 ? bits : bits & ((uint64_t{1} << width) - 1));
}

}  // namespace

void ShadowObserver::Convert(const Instruction& in, const Row& row, uint32_t mask) {
  const CellKind to = row.kind;
  const CellKind from = row.source_kind;
  if (to == CellKind::kNone && from == CellKind::kNone) {
    if (IsIntegerType(in.type) && IsIntegerType(in.source_type) && ptx::BitsOf(in.type) >= 16 &&
        ptx::BitsOf(in.source_type) >= 16) {
      CopyRegister(row.d, row.a, mask);  // widening and narrowing keep what fits
    } else {
      Integer(in, row, mask);
    }
    return;
  }
  if (from == CellKind::kNone && !IsIntegerType(in.source_type)) {
    Integer(in, row, mask);  // 8-bit floats
    return;
  }
  if (to == CellKind::kNone && !IsIntegerType(in.type)) {
    Integer(in, row, mask);
    return;
  }
  lane_operations_ += static_cast<uint64_t>(std::popcount(mask));
  const uint32_t tainted = warp_->tainted & mask;
  if (from == CellKind::kNone) {
    const uint32_t present = Present(row.a) & mask;
    std::array<Cell, vgpu::kWarpSize> r;
    ForLanes(mask, [&](int i) {
      Cell& cell = r[static_cast<size_t>(i)];
      if ((present >> i & 1) != 0) {
        cell = BitTrick(in, CellAt(row.a, 0, 0, CellKind::kF32, i), nullptr, to);
      } else {
        const double value = DecodeInteger(BitsAt(row.a, i), in.source_type);
        cell = ToCell(algebra_.Exact(value), static_cast<float>(std::fabs(value)), to, 0, 0);
      }
      if ((tainted >> i & 1) != 0) cell.flags |= kNearTie;
    });
    Cell* cells = Result(row.d, to, 0, mask);
    ForLanes(mask, [&](int i) { cells[i] = r[static_cast<size_t>(i)]; });
    return;
  }
  Lanes x;
  Fetch(row.a, row.constant[0], from, 0, mask, &x);
  if (to == CellKind::kNone) {
    // An integer follows the float; close to a jump rounding decides.
    uint32_t ties = 0;
    ForLanes(mask, [&](int i) {
      const Symbolic integer = ToIntegral(ToSymbolic(x.at(i), x.v[i]), in.rounding);
      ties |= static_cast<uint32_t>((integer.s.flags & kNearTie) != 0) << i;
    });
    Taint(ties);
    Clear(row.d, mask);
    return;
  }
  std::array<Cell, vgpu::kWarpSize> r;
  ForLanes(mask, [&](int i) {
    Cell cell = x.at(i);
    double value = x.v[i];
    if (IsIntegral(in.rounding)) {
      const Symbolic integer = ToIntegral(ToSymbolic(cell, value), in.rounding);
      cell = ToCell(integer.s, integer.m, to, 0, 0);
      value = integer.v;
    }
    if (in.type == ptx::Type::kTf32) cell.m += 0x1p13f * static_cast<float>(std::fabs(value));
    // Widening does not round.
    const CellKind rounded = IsHalf(to) && !IsHalf(from) ? to : CellKind::kF32;
    cell = Finish(in, cell, value, rounded);
    cell.set_kind(to);
    if ((tainted >> i & 1) != 0) cell.flags |= kNearTie;
    r[static_cast<size_t>(i)] = cell;
  });
  if (!row.d.is_register()) return;
  Cell* cells = Result(row.d, to, 0, mask);
  ForLanes(mask, [&](int i) { cells[i] = r[static_cast<size_t>(i)]; });
}

// The first operand becomes the upper half.
void ShadowObserver::ConvertPacked(const Instruction& in, const Row& row, uint32_t mask) {
  lane_operations_ += 2 * static_cast<uint64_t>(std::popcount(mask));
  Lanes upper, lower;
  Fetch(row.a, row.constant[0], row.source_kind, 0, mask, &upper);
  Fetch(row.b, row.constant[1], row.source_kind, 0, mask, &lower);
  const uint32_t tainted = warp_->tainted & mask;
  std::array<Cell, vgpu::kWarpSize> r[2];
  ForLanes(mask, [&](int i) {
    const auto at = static_cast<size_t>(i);
    r[0][at] = Finish(in, lower.at(i), lower.v[i], row.kind);
    r[1][at] = Finish(in, upper.at(i), upper.v[i], row.kind);
    if ((tainted >> i & 1) != 0) {
      r[0][at].flags |= kNearTie;
      r[1][at].flags |= kNearTie;
    }
  });
  if (!row.d.is_register()) return;
  for (int half = 0; half < 2; ++half) {
    Cell* cells = Result(row.d, row.kind, half, mask);
    ForLanes(mask, [&](int i) { cells[i] = r[half][static_cast<size_t>(i)]; });
  }
}

namespace {

Symbolic SinPi(const Symbolic& x) {
  return Sin(x * SymbolicConstant(3.14159265358979323846, Precision::kFloat64));
}
Symbolic CosPi(const Symbolic& x) {
  return Cos(x * SymbolicConstant(3.14159265358979323846, Precision::kFloat64));
}
Symbolic Cbrt(const Symbolic& x) {
  return MakeSymbolic(Bounded(std::cbrt(x.v), x.m),
                      Algebra::Current().Pow(x.s, Algebra::Current().Rational(1, 3)));
}
Symbolic Exp10(const Symbolic& x) {
  return Exp(x * SymbolicConstant(2.302585092994045684, Precision::kFloat64));
}
// Half away from zero, as C's round.
Symbolic RoundAway(const Symbolic& x) {
  Symbolic r = Round(x);
  r.v = std::round(x.v);
  Symbolic exact = SymbolicInteger(r.v);
  exact.s.flags |= r.s.history();
  return exact;
}
Symbolic NormCdf(const Symbolic& x) {
  const Symbolic root = SymbolicConstant(0.70710678118654752440, Precision::kFloat64);
  return SymbolicConstant(0.5, Precision::kFloat64) * (SymbolicInteger(1) + Erf(x * root));
}

using Unary = Symbolic (*)(const Symbolic&);
Unary UnaryFunction(std::string_view base) {
  static const std::map<std::string_view, Unary> kFunctions = {
      {"acos", &Acos},      {"acosh", &Acosh},     {"asin", &Asin},   {"asinh", &Asinh},
      {"atan", &Atan},      {"atanh", &Atanh},     {"cbrt", &Cbrt},   {"cos", &Cos},
      {"cosh", &Cosh},      {"cospi", &CosPi},     {"erf", &Erf},     {"erfc", &Erfc},
      {"exp", &Exp},        {"exp10", &Exp10},     {"exp2", &Exp2},   {"expm1", &Expm1},
      {"lgamma", &Lgamma},  {"log", &Log},         {"log10", &Log10}, {"log1p", &Log1p},
      {"log2", &Log2},      {"round", &RoundAway}, {"rsqrt", &Rsqrt}, {"sin", &Sin},
      {"sinh", &Sinh},      {"sinpi", &SinPi},     {"tan", &Tan},     {"tanh", &Tanh},
      {"normcdf", &NormCdf}};
  const auto it = kFunctions.find(base);
  return it == kFunctions.end() ? nullptr : it->second;
}

CellKind KindOfLetter(char letter) {
  return letter == 'f' ? CellKind::kF32 : letter == 'd' ? CellKind::kF64 : CellKind::kNone;
}

}  // namespace

void ShadowObserver::MathCall(const Instruction& in, const Row& row, uint32_t mask) {
  const vgpu::math::LibdeviceFunction& function = vgpu::math::LibdeviceFunctions()[in.target];
  const Place sources[] = {row.a, row.b, row.c, row.e};
  lane_operations_ += static_cast<uint64_t>(std::popcount(mask));
  const CellKind kind = KindOfLetter(function.results[0]);
  const std::string_view base = function.base;
  const Unary unary = UnaryFunction(base);
  // Named after the function, so that both sides of a comparison mean the same by it.
  uint64_t id = 14695981039346656037ULL;
  for (const char c : base) id = (id ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
  const auto opaque = static_cast<Opaque>(static_cast<uint32_t>(Opaque::kFirstFree) + 1000 +
                                          static_cast<uint32_t>(id >> 40));
  std::array<Cell, vgpu::kWarpSize> r[2];
  uint32_t ties = 0;
  ForLanes(mask, [&](int i) {
    Symbolic arguments[4];
    uint64_t bits[4] = {};
    for (size_t k = 0; k < function.arguments.size(); ++k) {
      const CellKind source = KindOfLetter(function.arguments[k]);
      bits[k] = BitsAt(sources[k], i);
      if (source == CellKind::kNone) {
        const double value = DecodeInteger(
            bits[k], function.arguments[k] == 'i' ? ptx::Type::kS32 : ptx::Type::kS64);
        arguments[k] = SymbolicInteger(value);
      } else {
        arguments[k] =
            ToSymbolic(CellAt(sources[k], 0, 0, source, i), DecodeFloat(bits[k], source));
      }
    }
    const Symbolic& x = arguments[0];
    const Symbolic& y = arguments[1];
    uint64_t results[2] = {};
    function.evaluate(bits, results);
    Symbolic first, second;
    if (unary != nullptr) {
      first = unary(x);
    } else if (base == "pow" || base == "powi") {
      first = Pow(x, y);
    } else if (base == "atan2") {
      first = Atan2(x, y);
    } else if (base == "sincos") {
      first = Sin(x);
      second = Cos(x);
    } else if (base == "sincospi") {
      first = SinPi(x);
      second = CosPi(x);
    } else if (base == "copysign") {
      const Symbolic size = Abs(x);
      first = std::signbit(y.v) ? -size : size;
      const Symbolic sign = Sign(y);
      first.s.flags |= sign.s.history();
    } else if (base == "ldexp" || base == "scalbn") {
      first = x * Exp2(y);
    } else if (base == "hypot") {
      first = Sqrt(x * x + y * y);
    } else if (base == "rhypot") {
      first = Rsqrt(x * x + y * y);
    } else if (base == "norm3d" || base == "rnorm3d") {
      const Symbolic sum = x * x + y * y + arguments[2] * arguments[2];
      first = base[0] == 'r' ? Rsqrt(sum) : Sqrt(sum);
    } else if (base == "norm4d" || base == "rnorm4d") {
      const Symbolic sum =
          x * x + y * y + arguments[2] * arguments[2] + arguments[3] * arguments[3];
      first = base[0] == 'r' ? Rsqrt(sum) : Sqrt(sum);
    } else if (base == "fmod") {
      first = x - Trunc(x / y) * y;
    } else if (base == "modf") {
      second = Trunc(x);
      first = x - second;
    } else if (base == "llround") {
      first = RoundAway(x);
    } else {
      Note(in);
      first = MakeSymbolic(Bounded(DecodeFloat(results[0], kind), x.m),
                           function.arguments.size() == 1 ? algebra_.Function(opaque, x.s)
                                                          : algebra_.Function(opaque, x.s, y.s));
      second = first;
    }
    // What the kernel computed decides whether there is a number at all.
    const auto store = [&](const Symbolic& value, size_t n) {
      const CellKind result = KindOfLetter(function.results[n]);
      if (result == CellKind::kNone) {
        ties |= static_cast<uint32_t>((value.s.flags & kNearTie) != 0) << i;
        return;
      }
      Cell cell = FromSymbolic(value, result);
      if (in.approx) cell.m += kApproxScale * static_cast<float>(std::fabs(value.v));
      if ((warp_->tainted >> i & 1) != 0) cell.flags |= kNearTie;
      r[n][static_cast<size_t>(i)] = cell;
    };
    store(first, 0);
    if (function.results.size() > 1) store(second, 1);
  });
  Taint(ties);
  const Place targets[] = {row.d, row.d2};
  for (size_t n = 0; n < function.results.size(); ++n) {
    if (!targets[n].is_register()) continue;
    const CellKind result = KindOfLetter(function.results[n]);
    if (result == CellKind::kNone) {
      Clear(targets[n], mask);
      continue;
    }
    Cell* cells = Result(targets[n], result, 0, mask);
    ForLanes(mask, [&](int i) { cells[i] = r[n][static_cast<size_t>(i)]; });
  }
}

}  // namespace kernelsmith
