// The kernels of matrix_kernels.h. Compiled for AVX2 and for AVX-512.

#include "vgpu/matrix_kernels.h"

#include <immintrin.h>

#include <cstring>

#include "vgpu/math/minifloat.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using math::MmaType;

// ---- eight doubles: one row of a tile, the even columns before the odd ones

#if defined(__AVX512F__)

struct Row {
  __m512d all;
};
inline Row LoadRow(const double* from) { return {_mm512_load_pd(from)}; }
inline void StoreRow(Row row, double* to) { _mm512_store_pd(to, row.all); }
inline Row Repeat(const double* from) { return {_mm512_set1_pd(*from)}; }
inline Row MultiplyAdd(Row a, Row b, Row c) { return {_mm512_fmadd_pd(a.all, b.all, c.all)}; }
inline Row Widen(__m256 x) { return {_mm512_cvtps_pd(x)}; }
inline __m256 Narrow(Row row) { return _mm512_cvtpd_ps(row.all); }
// To 24 bits; what is cut off leaves a one in the last of them, so that a second rounding is right.
inline Row RoundToOdd(Row row) {
  const __m512i bits = _mm512_castpd_si512(row.all);
  const __m512i cut = _mm512_set1_epi64(0x1fffffff);
  const __m512i sticky = _mm512_and_si512(_mm512_add_epi64(_mm512_and_si512(bits, cut), cut),
                                          _mm512_set1_epi64(0x20000000));
  return {_mm512_castsi512_pd(_mm512_or_si512(_mm512_andnot_si512(cut, bits), sticky))};
}

#else

struct Row {
  __m256d even;
  __m256d odd;
};
inline Row LoadRow(const double* from) { return {_mm256_load_pd(from), _mm256_load_pd(from + 4)}; }
inline void StoreRow(Row row, double* to) {
  _mm256_store_pd(to, row.even);
  _mm256_store_pd(to + 4, row.odd);
}
inline Row Repeat(const double* from) {
  const __m256d x = _mm256_broadcast_sd(from);
  return {x, x};
}
inline Row MultiplyAdd(Row a, Row b, Row c) {
  return {_mm256_fmadd_pd(a.even, b.even, c.even), _mm256_fmadd_pd(a.odd, b.odd, c.odd)};
}
inline Row Widen(__m256 x) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}
inline __m256 Narrow(Row row) {
  return _mm256_set_m128(_mm256_cvtpd_ps(row.odd), _mm256_cvtpd_ps(row.even));
}
inline __m256d RoundToOdd(__m256d x) {
  const __m256i bits = _mm256_castpd_si256(x);
  const __m256i cut = _mm256_set1_epi64x(0x1fffffff);
  const __m256i sticky = _mm256_and_si256(_mm256_add_epi64(_mm256_and_si256(bits, cut), cut),
                                          _mm256_set1_epi64x(0x20000000));
  return _mm256_castsi256_pd(_mm256_or_si256(_mm256_andnot_si256(cut, bits), sticky));
}
// To 24 bits; what is cut off leaves a one in the last of them, so that a second rounding is right.
inline Row RoundToOdd(Row row) { return {RoundToOdd(row.even), RoundToOdd(row.odd)}; }

#endif

// ---- 16 bytes of a register: the four lanes that have a row of eight 16-bit elements

inline __m128i Quad(const void* reg, uint32_t row) {
  return _mm_load_si128(static_cast<const __m128i*>(reg) + row);
}
inline void SetQuad(void* reg, uint32_t row, __m128i value) {
  _mm_store_si128(static_cast<__m128i*>(reg) + row, value);
}

// Eight rows of eight 16-bit elements become eight columns.
inline void Transpose(__m128i (&x)[8]) {
  __m128i pairs[8];
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm_unpacklo_epi16(x[2 * i], x[2 * i + 1]);
    pairs[2 * i + 1] = _mm_unpackhi_epi16(x[2 * i], x[2 * i + 1]);
  }
  __m128i fours[8];
  for (int i = 0; i < 2; ++i) {
    for (int half = 0; half < 2; ++half) {
      const __m128i a = pairs[4 * i + half];
      const __m128i b = pairs[4 * i + 2 + half];
      fours[4 * i + 2 * half] = _mm_unpacklo_epi32(a, b);
      fours[4 * i + 2 * half + 1] = _mm_unpackhi_epi32(a, b);
    }
  }
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = _mm_unpacklo_epi64(fours[i], fours[4 + i]);
    x[2 * i + 1] = _mm_unpackhi_epi64(fours[i], fours[4 + i]);
  }
}

template <MmaType kType>
inline __m256 Decode16(__m128i x) {
  if constexpr (kType == MmaType::kF16) {
    return _mm256_cvtph_ps(x);
  } else {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  }
}

inline __m128 DecodeTf32(__m128i x) {
  return _mm_castsi128_ps(_mm_and_si128(x, _mm_set1_epi32(static_cast<int>(0xffffe000u))));
}

// All values of an 8-bit float.
template <typename Format>
const double* MiniTable() {
  struct Table {
    double at[256];
    Table() {
      for (uint32_t code = 0; code < 256; ++code) at[code] = math::F32FromMini<Format>(code);
    }
  };
  static const Table table;
  return table.at;
}
const double* MiniTable(MmaType type) {
  return type == MmaType::kE4M3 ? MiniTable<math::E4M3>() : MiniTable<math::E5M2>();
}

// The column at each place of a row.
constexpr uint32_t kColumns[8] = {0, 2, 4, 6, 1, 3, 5, 7};

// ---- decoding

template <MmaType kType>
void DecodeA16(const MmaTile& tile, const void* const* registers, double* out) {
  const uint32_t halves = tile.rows / 8;
  for (uint32_t piece = 0; piece < tile.k / 8; ++piece) {
    for (uint32_t half = 0; half < halves; ++half) {
      const void* reg = registers[piece * halves + half];
      for (uint32_t row = 0; row < 8; ++row) {
        StoreRow(Widen(Decode16<kType>(Quad(reg, row))),
                 out + (8 * half + row) * tile.k + 8 * piece);
      }
    }
  }
}

template <MmaType kType>
void DecodeB16(const MmaTile& tile, const void* const* registers, double* out) {
  for (uint32_t piece = 0; piece < tile.k / 8; ++piece) {
    __m128i x[8];
    for (uint32_t i = 0; i < 8; ++i) x[i] = Quad(registers[piece], kColumns[i]);
    Transpose(x);
    for (uint32_t i = 0; i < 8; ++i) {
      StoreRow(Widen(Decode16<kType>(x[i])), out + (8 * piece + i) * kTileColumns);
    }
  }
}

void DecodeA(const MmaTile& tile, const void* const* registers, double* out) {
  if (tile.a == MmaType::kF16) return DecodeA16<MmaType::kF16>(tile, registers, out);
  if (tile.a == MmaType::kBF16) return DecodeA16<MmaType::kBF16>(tile, registers, out);
  const uint32_t halves = tile.rows / 8;
  const uint32_t width = tile.a == MmaType::kTF32 ? 4 : 16;  // elements of a row in a register
  for (uint32_t piece = 0; piece < tile.k / width; ++piece) {
    for (uint32_t half = 0; half < halves; ++half) {
      const void* reg = registers[piece * halves + half];
      for (uint32_t row = 0; row < 8; ++row) {
        double* to = out + (8 * half + row) * tile.k + width * piece;
        if (tile.a == MmaType::kTF32) {
          _mm256_store_pd(to, _mm256_cvtps_pd(DecodeTf32(Quad(reg, row))));
          continue;
        }
        const double* table = MiniTable(tile.a);
        const auto* codes = static_cast<const uint8_t*>(reg) + 16 * row;
        for (uint32_t i = 0; i < 16; ++i) to[i] = table[codes[i]];
      }
    }
  }
}

void DecodeB(const MmaTile& tile, const void* const* registers, double* out) {
  if (tile.b == MmaType::kF16) return DecodeB16<MmaType::kF16>(tile, registers, out);
  if (tile.b == MmaType::kBF16) return DecodeB16<MmaType::kBF16>(tile, registers, out);
  const uint32_t width = tile.b == MmaType::kTF32 ? 4 : 16;
  for (uint32_t piece = 0; piece < tile.k / width; ++piece) {
    const void* reg = registers[piece];
    for (uint32_t place = 0; place < kTileColumns; ++place) {
      double* to = out + width * piece * kTileColumns + place;
      if (tile.b == MmaType::kTF32) {
        alignas(16) float values[4];
        _mm_store_ps(values, DecodeTf32(Quad(reg, kColumns[place])));
        for (uint32_t i = 0; i < 4; ++i) to[i * kTileColumns] = values[i];
        continue;
      }
      const double* table = MiniTable(tile.b);
      const auto* codes = static_cast<const uint8_t*>(reg) + 16 * kColumns[place];
      for (uint32_t i = 0; i < 16; ++i) to[i * kTileColumns] = table[codes[i]];
    }
  }
}

// ---- accumulators

inline Row LoadC(bool half, const void* const* c, uint32_t row) {
  if (half) {
    const __m128i evens_first = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    return Widen(_mm256_cvtph_ps(_mm_shuffle_epi8(Quad(c[row / 8], row % 8), evens_first)));
  }
  const void* const* pair = c + row / 8 * 2;
  return Widen(
      _mm256_castsi256_ps(_mm256_set_m128i(Quad(pair[1], row % 8), Quad(pair[0], row % 8))));
}

inline void StoreD(bool half, Row sum, void* const* d, uint32_t row) {
  if (half) {
    const __m256 rounded = Narrow(RoundToOdd(sum));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(rounded, rounded, _CMP_UNORD_Q));
    const __m128i nans =
        _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
    const __m128i bits = _mm_blendv_epi8(_mm256_cvtps_ph(rounded, _MM_FROUND_TO_NEAREST_INT),
                                         _mm_set1_epi16(0x7fff), nans);
    const __m128i in_order = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    SetQuad(d[row / 8], row % 8, _mm_shuffle_epi8(bits, in_order));
    return;
  }
  const __m256 rounded = Narrow(sum);
  const __m256 one_nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  const __m256i bits = _mm256_castps_si256(
      _mm256_blendv_ps(rounded, one_nan, _mm256_cmp_ps(rounded, rounded, _CMP_UNORD_Q)));
  void* const* pair = d + row / 8 * 2;
  SetQuad(pair[0], row % 8, _mm256_castsi256_si128(bits));
  SetQuad(pair[1], row % 8, _mm256_extracti128_si256(bits, 1));
}

// Four rows at a time: with AVX2 their eight sums keep both multipliers busy, and the registers
// have room for them. kDepth is k, or 0 if it is not known.
template <uint32_t kDepth>
inline void MultiplyRows(const MmaTile& tile, const double* a, const double* b,
                         const void* const* c, void* const* d) {
  const uint32_t depth = kDepth == 0 ? tile.k : kDepth;
  for (uint32_t row = 0; row < tile.rows; row += 4) {
    Row sum[4];
    for (uint32_t i = 0; i < 4; ++i) sum[i] = LoadC(tile.half_c, c, row + i);
    const double* left = a + row * depth;
    for (uint32_t k = 0; k < depth; ++k) {
      const Row right = LoadRow(b + k * kTileColumns);
      for (uint32_t i = 0; i < 4; ++i) {
        sum[i] = MultiplyAdd(Repeat(left + i * depth + k), right, sum[i]);
      }
    }
    for (uint32_t i = 0; i < 4; ++i) StoreD(tile.half_d, sum[i], d, row + i);
  }
}

void Multiply(const MmaTile& tile, const double* a, const double* b, const void* const* c,
              void* const* d) {
  if (tile.k == 16) return MultiplyRows<16>(tile, a, b, c, d);
  if (tile.k == 8) return MultiplyRows<8>(tile, a, b, c, d);
  MultiplyRows<0>(tile, a, b, c, d);
}

// ---- rows of 8 x 8 matrices

// Rows of wmma are aligned as their elements are.
inline __m128i LoadAt(uint64_t host) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(host));
}

void LoadRows(const uint64_t* rows, uint32_t count, bool transposed, void* const* registers) {
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    __m128i x[8];
    for (uint32_t i = 0; i < 8; ++i) x[i] = LoadAt(rows[8 * matrix + i]);
    if (transposed) Transpose(x);
    for (uint32_t i = 0; i < 8; ++i) SetQuad(registers[matrix], i, x[i]);
  }
}

void StoreRows(const uint64_t* rows, uint32_t count, bool transposed, void* const* registers) {
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    __m128i x[8];
    for (uint32_t i = 0; i < 8; ++i) x[i] = Quad(registers[matrix], i);
    if (transposed) Transpose(x);
    for (uint32_t i = 0; i < 8; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(rows[8 * matrix + i]), x[i]);
    }
  }
}

}  // namespace

const MatrixKernels kMatrixKernels = {.decode_a = DecodeA,
                                      .decode_b = DecodeB,
                                      .multiply = Multiply,
                                      .load_rows = LoadRows,
                                      .store_rows = StoreRows};

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
