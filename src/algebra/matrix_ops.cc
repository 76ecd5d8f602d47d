// Tensor-core instructions on shadows: products of matrices in the fields, by the same fragments as
// the engine's.
#include <array>

#include "algebra/internal.h"
#include "field/functions.h"
#include "vgpu/ir.h"
#include "vgpu/math/matrix.h"

namespace kernelsmith {

using namespace algebra_internal;  // NOLINT: helpers of this component
using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::MemoryAccess;
using vgpu::Op;
using vgpu::math::Fragment;
using vgpu::math::MmaPlan;
using vgpu::math::MmaRole;
using vgpu::math::MmaType;

namespace {

CellKind KindOf(MmaType type) {
  switch (type) {
    case MmaType::kF16:
      return CellKind::kF16;
    case MmaType::kBF16:
      return CellKind::kBf16;
    case MmaType::kTF32:
    case MmaType::kF32:
      return CellKind::kF32;
    case MmaType::kF64:
      return CellKind::kF64;
    default:
      return CellKind::kNone;
  }
}

using U128 = unsigned __int128;

}  // namespace

void ShadowObserver::Mma(const Instruction& in, uint32_t mask) {
  const MmaPlan& plan = *table_->function->matrices[in.target].plan;
  const vgpu::math::MmaSpec& spec = plan.spec();
  const Place* list = &table_->list[in.list_first];
  const Fragment& d_fragment = plan.fragment(MmaRole::kD);
  const CellKind kinds[3] = {KindOf(spec.a), KindOf(spec.b), KindOf(spec.c)};
  const CellKind d_kind = KindOf(spec.d);
  if (kinds[0] == CellKind::kNone || kinds[1] == CellKind::kNone || d_kind == CellKind::kNone) {
    // Integers, or 8-bit floats: not followed.
    for (int i = 0; i < d_fragment.registers; ++i) Clear(list[i], mask);
    return;
  }
  const auto m = static_cast<size_t>(spec.m);
  const auto n = static_cast<size_t>(spec.n);
  const auto k = static_cast<size_t>(spec.k);
  lane_operations_ += m * n * k;
  struct Element {
    Cell cell;
    double v = 0;
  };
  // a[m][k], b[k][n] (kept as [n][k]), c[m][n]. m8n8k4 of f16 is four products of quarter-warps in
  // one: the fragments of the engine give rows and columns for all of them.
  std::vector<Element> a(m * k), b(n * k), c(m * n);
  int used = d_fragment.registers;
  constexpr MmaRole kRoles[] = {MmaRole::kA, MmaRole::kB, MmaRole::kC};
  Lanes lanes;
  for (int role = 0; role < 3; ++role) {
    const Fragment& fragment = plan.fragment(kRoles[role]);
    for (int reg = 0; reg < fragment.registers; ++reg, ++used) {
      for (int element = 0; element < fragment.per_register; ++element) {
        Fetch(list[used], nullptr, kinds[role], IsHalf(kinds[role]) ? element : 0, mask, &lanes);
        ForLanes(mask, [&](int lane) {
          const auto index =
              static_cast<size_t>((reg * fragment.per_register + element) * kWarpSize + lane);
          const size_t row = fragment.row[index];
          const size_t col = fragment.col[index];
          Element& target = role == 0   ? a[row * k + col]
                            : role == 1 ? b[col * k + row]
                                        : c[row * n + col];
          target.cell = lanes.at(lane);
          target.v = lanes.v[lane];
        });
      }
    }
  }
  bool plain = true;
  for (const auto* matrix : {&a, &b}) {
    for (const Element& x : *matrix) plain &= !x.cell.has(kHasLog);
  }
  for (const Element& x : c) plain &= !x.cell.has(kHasLog);
  std::vector<Cell> d(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      const Element& start = c[i * n + j];
      Cell& out = d[i * n + j];
      float scale = start.cell.m;
      for (size_t x = 0; x < k; ++x) {
        const Element& left = a[i * k + x];
        const Element& right = b[j * k + x];
        scale += static_cast<float>(std::fabs(left.v)) * right.cell.m +
                 static_cast<float>(std::fabs(right.v)) * left.cell.m;
      }
      if (!plain) {
        out = start.cell;
        for (size_t x = 0; x < k; ++x) {
          out = AddParts(algebra_, MulParts(algebra_, a[i * k + x].cell, b[j * k + x].cell), out);
        }
      } else {
        // Sums of at most 32 products below 2^122 fit; reduced once.
        U128 p = start.cell.p;
        U128 q = start.cell.q;
        uint32_t parts = start.cell.flags & cell_internal::kParts;
        uint32_t history = start.cell.flags & kHistory;
        int64_t numerator = NumeratorDegree(start.cell),
                denominator = DenominatorDegree(start.cell);
        for (size_t x = 0; x < k; ++x) {
          const Cell& left = a[i * k + x].cell;
          const Cell& right = b[j * k + x].cell;
          if (left.IsZero() || right.IsZero()) continue;
          p += static_cast<U128>(left.p) * right.p;
          q += static_cast<U128>(left.q) * right.q;
          if (x % 32 == 31) {
            p = FieldP::Reduce(p);
            q = FieldQ::Reduce(q);
          }
          parts &= left.flags & right.flags;
          history |= (left.flags | right.flags) & kHistory;
          const int64_t up = int64_t{NumeratorDegree(left)} + NumeratorDegree(right);
          const int64_t down = int64_t{DenominatorDegree(left)} + DenominatorDegree(right);
          numerator = CapDegree(std::max(numerator + down, up + denominator));
          denominator = CapDegree(denominator + down);
        }
        out.p = FieldP::Reduce(p);
        out.q = FieldQ::Reduce(q);
        out.flags = parts | history;
        out.num = static_cast<int32_t>(numerator);
        out.den = static_cast<uint32_t>(denominator);
        // All products were 0: the sum is the constant it started with.
        if (start.cell.has(kRational) && out.p == start.cell.p && out.q == start.cell.q) {
          out = start.cell;
          out.flags |= history;
        }
      }
      out.m = scale;
      double value = start.v;
      for (size_t x = 0; x < k; ++x) value += a[i * k + x].v * b[j * k + x].v;
      out.m += NarrowScale(d_kind) * static_cast<float>(std::fabs(value));
      out.set_kind(d_kind);
    }
  }
  const uint32_t tainted = warp_->tainted & mask;
  for (int reg = 0; reg < d_fragment.registers; ++reg) {
    Clear(list[reg], mask);
    for (int element = 0; element < d_fragment.per_register; ++element) {
      ForLanes(mask, [&](int lane) {
        const auto index =
            static_cast<size_t>((reg * d_fragment.per_register + element) * kWarpSize + lane);
        Cell cell = d[d_fragment.row[index] * n + d_fragment.col[index]];
        if (tainted != 0) cell.flags |= kNearTie;
        SetCell(list[reg], 0, IsHalf(d_kind) ? element : 0, lane, cell);
      });
    }
  }
}

void ShadowObserver::Ldmatrix(const Instruction& in, const MemoryAccess& access) {
  const bool transposed = table_->function->matrices[in.target].transposed;
  const uint32_t mask = 0xffffffff;
  for (int matrix = 0; matrix < in.list_count; ++matrix) {
    const Place& place = table_->list[in.list_first + static_cast<uint32_t>(matrix)];
    Clear(place, mask);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      for (int half = 0; half < 2; ++half) {
        const int row = transposed ? 2 * (lane % 4) + half : lane / 4;
        const int col = transposed ? lane / 4 : 2 * (lane % 4) + half;
        uint64_t address =
            access.address[static_cast<size_t>(8 * matrix + row)] + 2 * static_cast<uint64_t>(col);
        ShadowSpace& space = SpaceOf(lane, &address);
        const Cell* cell = space.Find(address);
        if (cell == nullptr || cell->kind() == CellKind::kNone) continue;
        // A float32 is moved whole by two neighbouring halves.
        SetCell(place, 0, half, lane, *cell);
      }
    }
  }
}

void ShadowObserver::Stmatrix(const Instruction& in, const MemoryAccess& access) {
  const bool transposed = table_->function->matrices[in.target].transposed;
  for (int matrix = 0; matrix < in.list_count; ++matrix) {
    const Place& place = table_->list[in.list_first + static_cast<uint32_t>(matrix)];
    for (int row = 0; row < 8; ++row) {
      if ((access.mask >> (8 * matrix + row) & 1) == 0) continue;
      uint64_t address = access.address[static_cast<size_t>(8 * matrix + row)];
      ShadowSpace& space = SpaceOf(0, &address);
      space.Clear(address, 16);
      for (int col = 0; col < 8; ++col) {
        const int lane = transposed ? 4 * col + row / 2 : 4 * row + col / 2;
        const int half = transposed ? row % 2 : col % 2;
        Cell cell;
        if (HalfOf(place, half, lane, &cell)) {
          space.Set(address + 2 * static_cast<uint64_t>(col), cell);
        }
      }
    }
  }
}

void ShadowObserver::Movmatrix(const Instruction& in, const Row& row, uint32_t mask) {
  if (!row.d.is_register()) return;
  std::array<std::array<Cell, 2>, kWarpSize> r;
  std::array<std::array<bool, 2>, kWarpSize> has{};
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int half = 0; half < 2; ++half) {
      // Element (r, c) of the result is element (c, r) of the source.
      const int from_row = 2 * (lane % 4) + half;
      const int from_col = lane / 4;
      const auto at = static_cast<size_t>(lane);
      has[at][static_cast<size_t>(half)] = HalfOf(row.a, from_col % 2, 4 * from_row + from_col / 2,
                                                  &r[at][static_cast<size_t>(half)]);
    }
  }
  Clear(row.d, mask);
  ForLanes(mask, [&](int lane) {
    for (int half = 0; half < 2; ++half) {
      const auto at = static_cast<size_t>(lane);
      if (has[at][static_cast<size_t>(half)]) {
        SetCell(row.d, 0, half, lane, r[at][static_cast<size_t>(half)]);
      }
    }
  });
}

// The engine tells of each element of a fragment in turn.
void ShadowObserver::Wmma(const Instruction& in, const MemoryAccess& access) {
  const Fragment& fragment = *table_->function->matrices[in.target].fragment;
  const int reg = wmma_step_ / fragment.per_register;
  const int element = wmma_step_ % fragment.per_register;
  ++wmma_step_;
  if (reg >= fragment.registers || fragment.bits < 16) return;
  const Place& place = table_->list[in.list_first + static_cast<uint32_t>(reg)];
  const bool load = in.op == Op::kWmmaLoad;
  if (load && element == 0) Clear(place, access.mask);
  const int half = fragment.bits == 16 ? element : 0;
  ForLanes(access.mask, [&](int lane) {
    uint64_t address = access.address[static_cast<size_t>(lane)];
    ShadowSpace& space = SpaceOf(lane, &address);
    if (load) {
      const Cell* cell = space.Find(address);
      if (cell != nullptr && cell->kind() != CellKind::kNone) SetCell(place, 0, half, lane, *cell);
      return;
    }
    space.Clear(address, static_cast<uint64_t>(fragment.bits / 8));
    const int32_t slot = place.slot + half;
    if (!place.is_register() || (file_->present[static_cast<size_t>(slot)] >> lane & 1) == 0) {
      return;
    }
    Cell cell = file_->slot(slot)[lane];
    if ((warp_->tainted >> lane & 1) != 0) cell.flags |= kNearTie;
    space.Set(address, cell);
  });
}

}  // namespace kernelsmith
