// Matrix instructions on whole fragments, for compiled code: what math/matrix.h defines, bit for
// bit, with the vectors of the machine. A fragment's register is an array of 32 lanes, 64-byte
// aligned.
//
// A product is done tile by tile: 16 (or 8) rows of a, 8 columns of b. The sum of products is taken
// in double in ascending k, and the products of 16-bit (and smaller) floats are exact there, so a
// fused multiply-add is the reference's multiplication and addition. Operands are decoded to
// doubles once and used for as many tiles as have them: compiled code keeps decoded fragments as
// long as their registers do not change.
#pragma once

#include <cstdint>

#include "vgpu/cpu.h"
#include "vgpu/math/matrix.h"

namespace kernelsmith::vgpu {

// One tile of a product. `a` and `b` are decoded.
struct MmaTile {
  math::MmaType a{};
  math::MmaType b{};
  uint32_t rows = 16;  // 16 or 8
  uint32_t k = 16;
  bool half_c = false;  // f16, otherwise f32
  bool half_d = false;
};

inline constexpr uint32_t kTileColumns = 8;

struct MatrixKernels {
  // Rows of a tile of a as doubles, k of them a row.
  void (*decode_a)(const MmaTile& tile, const void* const* registers, double* out) = nullptr;
  // A tile of b: 8 doubles for each k, the even columns before the odd ones, as the registers of c
  // have them.
  void (*decode_b)(const MmaTile& tile, const void* const* registers, double* out) = nullptr;
  // d = a * b + c. The register i of d may be the register i of c, but no other one of them.
  void (*multiply)(const MmaTile& tile, const double* a, const double* b, const void* const* c,
                   void* const* d) = nullptr;
  // ldmatrix and stmatrix: `rows` has the host's addresses of the 8 * count rows.
  void (*load_rows)(const uint64_t* rows, uint32_t count, bool transposed,
                    void* const* registers) = nullptr;
  void (*store_rows)(const uint64_t* rows, uint32_t count, bool transposed,
                     void* const* registers) = nullptr;
};

// The kernels for this machine. Null: it has no AVX2.
const MatrixKernels* FindMatrixKernels(CpuLevel cpu);

// Whether the product is done by tiles. Integers, f64 and m8n8k4 of f16 are not.
inline bool HasTiles(const math::MmaSpec& spec) {
  using math::MmaType;
  switch (spec.a) {
    case MmaType::kF16:
      return spec.k >= 8;
    case MmaType::kBF16:
    case MmaType::kTF32:
    case MmaType::kE4M3:
    case MmaType::kE5M2:
      return true;
    default:
      return false;
  }
}

namespace isa_avx2 {
extern const MatrixKernels kMatrixKernels;
}
namespace isa_avx512 {
extern const MatrixKernels kMatrixKernels;
}

}  // namespace kernelsmith::vgpu
