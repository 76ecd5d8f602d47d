#include "vgpu/matrix_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "support/rng.h"

namespace kernelsmith::vgpu {
namespace {

using math::MmaPlan;
using math::MmaRole;
using math::MmaSpec;
using math::MmaType;

struct alignas(64) Register {
  std::array<uint32_t, 32> lanes;
};

std::vector<void*> PointersTo(std::vector<Register>& registers) {
  std::vector<void*> pointers;
  for (Register& r : registers) pointers.push_back(&r);
  return pointers;
}

class Fragments {
 public:
  Fragments(const MmaPlan& plan, MmaRole role) : fragment_(plan.fragment(role)) {
    registers_.resize(static_cast<size_t>(fragment_.registers));
  }
  void Fill(Rng& rng, MmaType type, bool special) {
    for (Register& r : registers_) {
      for (uint32_t& word : r.lanes) word = Word(rng, type, special);
    }
    // The copies of a register are the same, as wmma.load makes them.
    for (size_t i = static_cast<size_t>(fragment_.distinct); i < registers_.size(); ++i) {
      registers_[i] = registers_[i % static_cast<size_t>(fragment_.distinct)];
    }
  }
  std::vector<void*> pointers() { return PointersTo(registers_); }
  const std::vector<Register>& registers() const { return registers_; }

 private:
  // Any bits: every class of value, or numbers of moderate size only, which never end as NaN.
  static uint32_t Word(Rng& rng, MmaType type, bool special) {
    const auto word = static_cast<uint32_t>(rng.Next());
    if (special) return word;
    switch (type) {
      case MmaType::kF16:
        return word & 0xbfffbfff;
      case MmaType::kBF16:
        return (word & 0x83ff83ff) | 0x3c003c00;
      case MmaType::kTF32:
      case MmaType::kF32:
        return (word & 0x83ffffff) | 0x3c000000;
      default:
        return word & 0xb7b7b7b7;
    }
  }
  const math::Fragment& fragment_;
  std::vector<Register> registers_;
};

void Compare(const MatrixKernels& kernels, const MmaSpec& spec) {
  const MmaPlan* plan = MmaPlan::Find(spec);
  ASSERT_NE(plan, nullptr);
  ASSERT_TRUE(HasTiles(spec));
  Rng rng(static_cast<uint64_t>(spec.k * 100 + spec.m));
  for (int round = 0; round < 400; ++round) {
    Fragments a(*plan, MmaRole::kA);
    Fragments b(*plan, MmaRole::kB);
    Fragments c(*plan, MmaRole::kC);
    Fragments expected(*plan, MmaRole::kD);
    const bool special = round % 2 == 0;
    a.Fill(rng, spec.a, special);
    b.Fill(rng, spec.b, special);
    c.Fill(rng, spec.c, special);
    const auto pa = a.pointers();
    const auto pb = b.pointers();
    const auto pc = c.pointers();
    plan->Run(pa.data(), pb.data(), pc.data(), expected.pointers().data());
    const MmaTile tile{.a = spec.a,
                       .b = spec.b,
                       .rows = static_cast<uint32_t>(std::min(spec.m, 16)),
                       .k = static_cast<uint32_t>(spec.k),
                       .half_c = spec.c == MmaType::kF16,
                       .half_d = spec.d == MmaType::kF16};
    const auto down = static_cast<size_t>(spec.m) / tile.rows;
    const auto across = static_cast<size_t>(spec.n) / kTileColumns;
    const size_t each_a = static_cast<size_t>(plan->fragment(MmaRole::kA).distinct) / down;
    const size_t each_b = static_cast<size_t>(plan->fragment(MmaRole::kB).distinct) / across;
    const size_t each_c = pc.size() / (down * across);
    const size_t each_d = expected.registers().size() / (down * across);
    Fragments d(*plan, MmaRole::kD);
    const auto pd = d.pointers();
    for (size_t i = 0; i < down; ++i) {
      for (size_t j = 0; j < across; ++j) {
        alignas(64) float left[16 * 32 * kSpread];
        alignas(64) float right[8 * 32];
        kernels.decode_a(tile, pa.data() + i * each_a, left);
        kernels.decode_b(tile, pb.data() + j * each_b, right);
        const size_t at = i * across + j;
        kernels.multiply(tile, left, right, pc.data() + at * each_c, pd.data() + at * each_d);
      }
    }
    for (size_t r = 0; r < pd.size(); ++r) {
      ASSERT_EQ(d.registers()[r].lanes, expected.registers()[r].lanes)
          << "register " << r << ", round " << round << ", m" << spec.m << "n" << spec.n << "k"
          << spec.k;
    }
  }
}

std::vector<const MatrixKernels*> AllKernels() {
  std::vector<const MatrixKernels*> all;
  for (const CpuLevel level : {CpuLevel::kAvx2, CpuLevel::kAvx512}) {
    if (level <= DetectCpu()) all.push_back(FindMatrixKernels(level));
  }
  return all;
}

TEST(MatrixKernels, SameBitsAsTheReference) {
  for (const MatrixKernels* kernels : AllKernels()) {
    for (const MmaType type : {MmaType::kF16, MmaType::kBF16}) {
      for (const int k : {8, 16}) {
        Compare(*kernels, {.m = 16,
                           .n = 8,
                           .k = k,
                           .a = type,
                           .b = type,
                           .c = MmaType::kF32,
                           .d = MmaType::kF32});
      }
      for (const auto& [m, n] : {std::pair{16, 16}, {32, 8}, {8, 32}}) {
        Compare(*kernels, {.wmma = true,
                           .m = m,
                           .n = n,
                           .k = 16,
                           .a = type,
                           .b = type,
                           .c = MmaType::kF32,
                           .d = MmaType::kF32});
      }
    }
    for (const int k : {8, 16}) {
      for (const MmaType c : {MmaType::kF16, MmaType::kF32}) {
        for (const MmaType d : {MmaType::kF16, MmaType::kF32}) {
          Compare(
              *kernels,
              {.m = 16, .n = 8, .k = k, .a = MmaType::kF16, .b = MmaType::kF16, .c = c, .d = d});
        }
      }
    }
    for (const int k : {4, 8}) {
      Compare(*kernels, {.m = 16,
                         .n = 8,
                         .k = k,
                         .a = MmaType::kTF32,
                         .b = MmaType::kTF32,
                         .c = MmaType::kF32,
                         .d = MmaType::kF32});
    }
    for (const int k : {16, 32}) {
      Compare(*kernels, {.m = 16,
                         .n = 8,
                         .k = k,
                         .a = MmaType::kE4M3,
                         .b = MmaType::kE5M2,
                         .c = MmaType::kF32,
                         .d = MmaType::kF32});
    }
  }
}

TEST(MatrixKernels, RowsOfMatrices) {
  for (const MatrixKernels* kernels : AllKernels()) {
    for (const bool transposed : {false, true}) {
      alignas(16) uint16_t rows[32][8];
      Rng rng(5);
      for (auto& row : rows) {
        for (uint16_t& value : row) value = static_cast<uint16_t>(rng.Next());
      }
      std::vector<Register> expected(4);
      std::vector<Register> loaded(4);
      uint32_t* pointers[4];
      for (size_t i = 0; i < 4; ++i) pointers[i] = expected[i].lanes.data();
      math::Ldmatrix(rows, 4, transposed, pointers);
      uint64_t host[32];
      for (size_t i = 0; i < 32; ++i) host[i] = reinterpret_cast<uint64_t>(rows[i]);
      kernels->load_rows(host, 4, transposed, PointersTo(loaded).data());
      for (size_t i = 0; i < 4; ++i) EXPECT_EQ(loaded[i].lanes, expected[i].lanes);
      alignas(16) uint16_t stored[32][8] = {};
      for (size_t i = 0; i < 32; ++i) host[i] = reinterpret_cast<uint64_t>(stored[i]);
      kernels->store_rows(host, 4, transposed, PointersTo(loaded).data());
      EXPECT_EQ(std::memcmp(stored, rows, sizeof rows), 0);
    }
  }
}

}  // namespace
}  // namespace kernelsmith::vgpu
