// mma, wmma, ldmatrix, stmatrix and movmatrix as functions of whole warps: a register is an array
// of 32 lanes (32-bit values; 64-bit ones for f64).
//
// Numbers: with f16, bf16, tf32, fp8 operands every element is a chain of fused multiply-adds of
// floats, c first, then a0*b0, a1*b1 ... in ascending k, and the last is rounded to the type of d.
// (Hardware adds several products at once, aligned to the largest of them and of c, and cuts off
// what lies some bits below that; which ones and how many bits is not documented and differs by
// generation. Its error is of the same size as that of this chain.) f64 is a chain of fma in
// ascending k. Integers wrap, or saturate with .satfinite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpu/math/types.h"

namespace kernelsmith::vgpu::math {

enum class MmaType { kF16, kBF16, kTF32, kF32, kF64, kE4M3, kE5M2, kS8, kU8, kS4, kU4, kB1, kS32 };

// One step of such a chain: a * b + sum, rounded once, for a and b of at most 11 bits each (f16,
// bf16, tf32, fp8), which are exact in the types here. No float has bits both far above and far
// below a product of 22 bits: where the sum of both does not fit into a double, the smaller one is
// less than 2^-28 of the larger, which is a float with room below, and the second rounding gives
// that, as one alone would.
inline float AddProduct(double a, double b, float sum) {
  return static_cast<float>(a * b + static_cast<double>(sum));
}

enum class MmaRole { kA, kB, kC, kD };

enum class MmaBitOp { kNone, kXorPopc, kAndPopc };

struct MmaSpec {
  bool wmma = false;  // wmma.mma; otherwise mma.sync
  int m = 0;
  int n = 0;
  int k = 0;
  MmaType a{};
  MmaType b{};
  MmaType c{};
  MmaType d{};
  // Only mma.m8n8k4 with f16 has a choice; elsewhere the fragments do not depend on it.
  bool a_row_major = true;
  bool b_row_major = false;
  bool satfinite = false;
  MmaBitOp bit_op = MmaBitOp::kNone;
  Round round = Round::kRn;  // f64 only

  bool operator==(const MmaSpec&) const = default;
};

// Which matrix element each lane's fragment element is. Some fragments hold an element more than
// once.
struct Fragment {
  int rows = 0;
  int cols = 0;
  int bits = 0;           // the width of one element
  int register_bits = 0;  // 32 or 64
  int registers = 0;
  int distinct = 0;      // registers before they repeat; the first copy is the one that counts
  int per_register = 0;  // elements in one register, lowest bits first
  // Index [(reg * per_register + element) * 32 + lane].
  std::vector<uint8_t> row;
  std::vector<uint16_t> col;

  int elements() const { return registers * per_register; }
};

class MmaPlan {
 public:
  // Null if there is no such instruction. Plans are made once and live as long as the program, so
  // that an instruction can keep the pointer. Thread-safe.
  static const MmaPlan* Find(const MmaSpec& spec);

  const MmaSpec& spec() const { return spec_; }
  const Fragment& fragment(MmaRole role) const { return fragments_[static_cast<int>(role)]; }

  // Each pointer is one register of the fragment. `d` may share registers with the sources.
  void Run(const void* const* a, const void* const* b, const void* const* c, void* const* d) const;

 private:
  explicit MmaPlan(const MmaSpec& spec);
  void RunFloat(const void* const* a, const void* const* b, const void* const* c,
                void* const* d) const;
  void RunDouble(const void* const* a, const void* const* b, const void* const* c,
                 void* const* d) const;
  void RunInteger(const void* const* a, const void* const* b, const void* const* c,
                  void* const* d) const;
  void RunBits(const void* const* a, const void* const* b, const void* const* c,
               void* const* d) const;
  void RunVolta(const void* const* a, const void* const* b, const void* const* c,
                void* const* d) const;

  MmaSpec spec_;
  Fragment fragments_[4];
};

// wmma.load and wmma.store: the same fragments for loads as for the mma that uses them. `type` is
// the element's type in memory. Null if there is no such fragment.
const Fragment* FindWmmaFragment(MmaRole role, int m, int n, int k, MmaType type);

// The bits between the start of the matrix and an element; `stride` counts elements between rows
// (row major) or columns.
inline int64_t WmmaBitOffset(const Fragment& fragment, int index, bool row_major, int64_t stride) {
  const int64_t row = fragment.row[static_cast<std::size_t>(index)];
  const int64_t col = fragment.col[static_cast<std::size_t>(index)];
  return (row_major ? row * stride + col : col * stride + row) * fragment.bits;
}

// ldmatrix.x1/.x2/.x4{.trans}.m8n8.b16: rows[i] is the 16 bytes at the address of lane i, of which
// the first 8 * count are used; registers[j] gets matrix j.
void Ldmatrix(const uint16_t (*rows)[8], int count, bool transposed, uint32_t* const* registers);
// stmatrix: the inverse; fills the first 8 * count of rows.
void Stmatrix(const uint32_t* const* registers, int count, bool transposed, uint16_t (*rows)[8]);
// movmatrix.trans; d may be a.
void Movmatrix(const uint32_t* a, uint32_t* d);

}  // namespace kernelsmith::vgpu::math
