// Matrix instructions on whole fragments, for compiled code: what math/matrix.h defines, bit for
// bit, with the vectors of the machine. A fragment's register is an array of 32 lanes, 64-byte
// aligned.
//
// A product is done tile by tile: 16 (or 8) rows of a, 8 columns of b. Each element of the result
// is a chain of fused multiply-adds of floats in ascending k. Registers of c and d are used as the
// vectors that they are, four columns of several rows; decoded operands have the form that fits
// that. They are decoded once and used for as many tiles as have them: compiled code keeps decoded
// fragments as long as their registers do not change.
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
// How often each element of a decoded a is there: for the columns that it meets in a vector.
inline constexpr uint32_t kSpread = 4;

inline uint32_t DecodedA(const MmaTile& tile) { return tile.rows * tile.k * kSpread; }
inline uint32_t DecodedB(const MmaTile& tile) { return kTileColumns * tile.k; }

struct MatrixKernels {
  // A tile of a, DecodedA floats: for each k all rows, each kSpread times.
  void (*decode_a)(const MmaTile& tile, const void* const* registers, float* out) = nullptr;
  // A tile of b, DecodedB floats: for each k the even columns, then the odd ones, as the registers
  // of c have them.
  void (*decode_b)(const MmaTile& tile, const void* const* registers, float* out) = nullptr;
  // d = a * b + c. The register i of d may be the register i of c, but no other one of them.
  void (*multiply)(const MmaTile& tile, const float* a, const float* b, const void* const* c,
                   void* const* d) = nullptr;
  // Addresses of `count` rows of 16 bytes, a multiple of 8, as the host's: `delta` further. False:
  // one is not aligned or does not lie in [low, low + size).
  bool (*translate_rows)(const uint64_t* rows, uint32_t count, uint64_t low, uint64_t size,
                         uint64_t delta, uint64_t* host) = nullptr;
  // ldmatrix and stmatrix: `rows` has the host's addresses of the 8 * count rows.
  void (*load_rows)(const uint64_t* rows, uint32_t count, bool transposed,
                    void* const* registers) = nullptr;
  void (*store_rows)(const uint64_t* rows, uint32_t count, bool transposed,
                     void* const* registers) = nullptr;
  // A vector of each lane of `mask`, HasLaneKernel, at the host's addresses. `elements` has 32 of
  // the first element of the vectors, then those of the second ...
  void (*load_lanes)(const uint64_t* host, uint32_t bytes, uint32_t width, uint32_t mask,
                     void* elements) = nullptr;
  void (*store_lanes)(const uint64_t* host, uint32_t bytes, uint32_t width, uint32_t mask,
                      const void* elements) = nullptr;
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

// Whether vectors of so many elements are loaded and stored whole: gathering one element after the
// other takes several times as long.
inline bool HasLaneKernel(uint32_t bytes, uint32_t width) {
  return (bytes == 4 && (width == 2 || width == 4)) || (bytes == 8 && width == 2);
}

namespace isa_avx2 {
extern const MatrixKernels kMatrixKernels;
}
namespace isa_avx512 {
extern const MatrixKernels kMatrixKernels;
}

}  // namespace kernelsmith::vgpu
