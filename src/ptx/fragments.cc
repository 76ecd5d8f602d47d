#include "ptx/fragments.h"

namespace kernelsmith::ptx {
namespace {

enum class Matrix { kA, kB, kC, kD };

constexpr int kLanes = 32;

int Elements(const MatrixShape& shape, Matrix matrix) {
  switch (matrix) {
    case Matrix::kA:
      return shape.m * shape.k;
    case Matrix::kB:
      return shape.k * shape.n;
    case Matrix::kC:
    case Matrix::kD:
      return shape.m * shape.n;
  }
  return 0;
}

// Every element lies in one lane.
std::optional<Fragment> Spread(int elements, Type type, int copies = 1) {
  const int register_bits = type == Type::kF64 ? 64 : 32;
  const int bits = elements * BitsOf(type) * copies;
  if (bits == 0 || bits % (kLanes * register_bits) != 0) return std::nullopt;
  return Fragment{bits / (kLanes * register_bits), register_bits};
}

std::optional<Fragment> MmaFragment(const Mnemonic& mma, Matrix matrix) {
  if (mma.types.size() < 4) return std::nullopt;
  const bool sparse = mma.Has(Modifier::kSp) || mma.Has(Modifier::kSpOrderedMetadata);
  const Type type = matrix == Matrix::kA   ? mma.types[1]
                    : matrix == Matrix::kB ? mma.types[2]
                    : matrix == Matrix::kC ? mma.types[3]
                                           : mma.types[0];
  // m8n8k4 with f16 is four products at once, one for each quarter of the warp.
  const bool quarters = mma.shape == MatrixShape{8, 8, 4} && mma.types[1] == Type::kF16;
  int elements = Elements(mma.shape, matrix);
  // A sparse A keeps every other element.
  if (sparse && matrix == Matrix::kA) elements /= 2;
  return Spread(elements, type, quarters ? 4 : 1);
}

// wmma keeps f16 factors twice, in 8 registers whatever the shape; all else once.
std::optional<Fragment> WmmaFragment(const MatrixShape& shape, Type type, Matrix matrix) {
  const bool sum = matrix == Matrix::kC || matrix == Matrix::kD;
  if (!sum && type == Type::kF16) return Fragment{8, 32};
  return Spread(Elements(shape, matrix), type);
}

// The types of wmma.mma: d and c; or d, a, b, c.
std::optional<Fragment> WmmaMmaFragment(const Mnemonic& mma, Matrix matrix) {
  const bool short_form = mma.types.size() == 2;
  if (!short_form && mma.types.size() != 4) return std::nullopt;
  const Type type = matrix == Matrix::kD   ? mma.types[0]
                    : matrix == Matrix::kC ? mma.types.back()
                    : short_form           ? Type::kF16
                    : matrix == Matrix::kA ? mma.types[1]
                                           : mma.types[2];
  return WmmaFragment(mma.shape, type, matrix);
}

Matrix MatrixOfLoad(const Mnemonic& load) {
  if (load.Has(Modifier::kA)) return Matrix::kA;
  if (load.Has(Modifier::kB)) return Matrix::kB;
  return Matrix::kC;
}

std::optional<Fragment> MatrixMoveFragment(const Mnemonic& move) {
  int count = move.Has(Modifier::kX4) ? 4 : move.Has(Modifier::kX2) ? 2 : 1;
  // 16 by 16 bytes are two 8 by 8 matrices of 16 bits.
  if (move.Has(Modifier::kM16n16)) count *= 2;
  return Fragment{count, 32};
}

}  // namespace

std::optional<Fragment> FragmentOf(const Mnemonic& mnemonic, size_t index) {
  constexpr Matrix kProduct[] = {Matrix::kD, Matrix::kA, Matrix::kB, Matrix::kC};
  switch (mnemonic.opcode) {
    case Opcode::kMma:
      if (index >= 4 || mnemonic.Has(Modifier::kBlockScale)) return std::nullopt;
      return MmaFragment(mnemonic, kProduct[index]);
    case Opcode::kWmmaMma:
      if (index >= 4) return std::nullopt;
      return WmmaMmaFragment(mnemonic, kProduct[index]);
    case Opcode::kWmmaLoad:
      if (index != 0) return std::nullopt;
      return WmmaFragment(mnemonic.shape, mnemonic.LastType(), MatrixOfLoad(mnemonic));
    case Opcode::kWmmaStore:
      if (index != 1) return std::nullopt;
      return WmmaFragment(mnemonic.shape, mnemonic.LastType(), Matrix::kD);
    case Opcode::kLdmatrix:
      if (index != 0) return std::nullopt;
      return MatrixMoveFragment(mnemonic);
    case Opcode::kStmatrix:
      if (index != 1) return std::nullopt;
      return MatrixMoveFragment(mnemonic);
    default:
      return std::nullopt;
  }
}

}  // namespace kernelsmith::ptx
