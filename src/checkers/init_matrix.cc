#include "checkers/init_matrix.h"

#include <bit>
#include <cstring>

#include "vgpu/math/matrix.h"

namespace kernelsmith::checkers {

namespace {

using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::Op;
using vgpu::Operand;
using vgpu::WarpView;
namespace math = vgpu::math;

using Lanes32 = std::array<uint32_t, kWarpSize>;

const vgpu::MatrixInfo& InfoOf(const WarpView& warp, const Instruction& in) {
  return warp.function().matrices[in.target];
}

Operand Listed(const WarpView& warp, const Instruction& in, int index) {
  return warp.function().list[in.list_first + static_cast<uint32_t>(index)];
}

uint64_t Ones(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// Calls visit(row, column, whether it is undefined) for every element of a fragment whose registers
// begin at `first` of the list.
template <typename Visit>
void ForEachElement(WarpView& warp, const Instruction& in, const math::Fragment& fragment,
                    int first, const Visit& visit) {
  for (int reg = 0; reg < fragment.registers; ++reg) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const uint64_t bits = UndefinedOf(warp, Listed(warp, in, first + reg), lane);
      for (int e = 0; e < fragment.per_register; ++e) {
        const auto index =
            static_cast<size_t>((reg * fragment.per_register + e) * kWarpSize + lane);
        visit(fragment.row[index], fragment.col[index],
              (bits >> (e * fragment.bits) & Ones(fragment.bits)) != 0);
      }
    }
  }
}

void Multiply(WarpView& warp, const Instruction& in, uint32_t mask) {
  const math::MmaPlan& plan = *InfoOf(warp, in).plan;
  const math::Fragment& a = plan.fragment(math::MmaRole::kA);
  const math::Fragment& b = plan.fragment(math::MmaRole::kB);
  const math::Fragment& c = plan.fragment(math::MmaRole::kC);
  const math::Fragment& d = plan.fragment(math::MmaRole::kD);
  std::vector<bool> rows(static_cast<size_t>(d.rows));
  std::vector<bool> columns(static_cast<size_t>(d.cols));
  std::vector<bool> elements(static_cast<size_t>(d.rows * d.cols));
  ForEachElement(warp, in, a, d.registers, [&](int row, int, bool undefined) {
    rows[static_cast<size_t>(row)] = rows[static_cast<size_t>(row)] || undefined;
  });
  ForEachElement(warp, in, b, d.registers + a.registers, [&](int, int column, bool undefined) {
    columns[static_cast<size_t>(column)] = columns[static_cast<size_t>(column)] || undefined;
  });
  ForEachElement(warp, in, c, d.registers + a.registers + b.registers,
                 [&](int row, int column, bool undefined) {
                   const auto at = static_cast<size_t>(row * d.cols + column);
                   elements[at] = elements[at] || undefined;
                 });
  for (int reg = 0; reg < d.registers; ++reg) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      uint64_t bits = 0;
      for (int e = 0; e < d.per_register; ++e) {
        const auto index = static_cast<size_t>((reg * d.per_register + e) * kWarpSize + lane);
        const size_t row = d.row[index];
        const size_t column = d.col[index];
        if (rows[row] || columns[column] || elements[row * static_cast<size_t>(d.cols) + column]) {
          bits |= Ones(d.bits) << (e * d.bits);
        }
      }
      SetUndefined(warp, Listed(warp, in, reg), lane, bits);
    }
  }
}

void LoadRows(WarpView& warp, const Instruction& in, uint32_t mask, const LoadedBits& loaded) {
  uint16_t rows[kWarpSize][8] = {};
  for (size_t lane = 0; loaded.any && lane < kWarpSize; ++lane) {
    std::memcpy(rows[lane], loaded.bytes[lane].data(), sizeof rows[lane]);
  }
  Lanes32 results[4];
  uint32_t* registers[4] = {results[0].data(), results[1].data(), results[2].data(),
                            results[3].data()};
  math::Ldmatrix(rows, in.list_count, InfoOf(warp, in).transposed, registers);
  for (int i = 0; i < in.list_count; ++i) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      SetUndefined(warp, Listed(warp, in, i), lane, results[i][static_cast<size_t>(lane)]);
    }
  }
}

void StoreRows(WarpView& warp, const Instruction& in, LoadedBits* bits) {
  Lanes32 sources[4];
  const uint32_t* registers[4] = {};
  for (int i = 0; i < in.list_count; ++i) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      sources[i][static_cast<size_t>(lane)] =
          static_cast<uint32_t>(UndefinedOf(warp, Listed(warp, in, i), lane));
    }
    registers[i] = sources[i].data();
  }
  uint16_t rows[kWarpSize][8] = {};
  math::Stmatrix(registers, in.list_count, InfoOf(warp, in).transposed, rows);
  for (size_t lane = 0; lane < kWarpSize; ++lane) {
    std::memcpy(bits->bytes[lane].data(), rows[lane], sizeof rows[lane]);
  }
}

}  // namespace

void MatrixAccesses::Loaded(const WarpView& warp, const Instruction& in, const LoadedBits& bits) {
  const math::Fragment& fragment = *InfoOf(warp, in).fragment;
  if (loaded_.size() >= static_cast<size_t>(fragment.elements())) loaded_.clear();
  loaded_.emplace_back();
  for (int lane = 0; bits.any && lane < kWarpSize; ++lane) {
    loaded_.back()[static_cast<size_t>(lane)] = bits.Of(lane, 0, 8);
  }
}

void MatrixAccesses::Store(WarpView& warp, const Instruction& in, uint32_t mask, LoadedBits* bits) {
  bits->any = true;
  if (in.op == Op::kStmatrix) {
    StoreRows(warp, in, bits);
    return;
  }
  const math::Fragment& fragment = *InfoOf(warp, in).fragment;
  const int distinct = fragment.distinct > 0 ? fragment.distinct : fragment.registers;
  const int at = stored_++ % (distinct * fragment.per_register);
  const Operand source = Listed(warp, in, at / fragment.per_register);
  const int shift = at % fragment.per_register * fragment.bits;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint64_t undefined = UndefinedOf(warp, source, lane) >> shift & Ones(fragment.bits);
    std::memcpy(bits->bytes[static_cast<size_t>(lane)].data(), &undefined, sizeof undefined);
  }
}

void MatrixAccesses::Propagate(WarpView& warp, const Instruction& in, uint32_t mask,
                               const LoadedBits& loaded) {
  switch (in.op) {
    case Op::kMma:
    case Op::kWmmaMma:
      Multiply(warp, in, mask);
      break;
    case Op::kLdmatrix:
      LoadRows(warp, in, mask, loaded);
      break;
    case Op::kWmmaLoad: {
      const math::Fragment& fragment = *InfoOf(warp, in).fragment;
      for (int reg = 0; reg < fragment.registers; ++reg) {
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
          const int lane = std::countr_zero(rest);
          uint64_t bits = 0;
          for (int e = 0; e < fragment.per_register; ++e) {
            const auto at = static_cast<size_t>(reg * fragment.per_register + e);
            if (at >= loaded_.size()) break;
            bits |= (loaded_[at][static_cast<size_t>(lane)] & Ones(fragment.bits))
                    << (e * fragment.bits);
          }
          SetUndefined(warp, Listed(warp, in, reg), lane, bits);
        }
      }
      loaded_.clear();
      break;
    }
    case Op::kMovmatrix: {
      Lanes32 from{};
      Lanes32 to{};
      for (int lane = 0; lane < kWarpSize; ++lane) {
        from[static_cast<size_t>(lane)] = static_cast<uint32_t>(UndefinedOf(warp, in.a, lane));
      }
      math::Movmatrix(from.data(), to.data());
      for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        SetUndefined(warp, in.d, lane, to[static_cast<size_t>(lane)]);
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace kernelsmith::checkers
