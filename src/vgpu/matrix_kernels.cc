// The kernels of matrix_kernels.h. Compiled for AVX2 and for AVX-512.

#include "vgpu/matrix_kernels.h"

#include <immintrin.h>

#include <cstddef>
#include <cstring>

#include "vgpu/math/minifloat.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using math::MmaType;

// ---- a vector of accumulators: some rows of a tile, four columns (the even or the odd ones) of
// each

#if defined(__AVX512F__)

using Floats = __m512;
constexpr uint32_t kWidth = 16;
inline Floats LoadFloats(const float* from) { return _mm512_loadu_ps(from); }
inline void StoreFloats(float* to, Floats x) { _mm512_storeu_ps(to, x); }
inline Floats RepeatFour(const float* from) { return _mm512_broadcast_f32x4(_mm_load_ps(from)); }
inline Floats MultiplyAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline Floats OneNan(Floats x) {
  return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                            _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff)));
}
// Eight rows, each four times.
inline void StoreSpread(float* to, __m256 rows) {
  const __m512 all = _mm512_castps256_ps512(rows);
  const __m512i low = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(4));
  StoreFloats(to, _mm512_permutexvar_ps(low, all));
  StoreFloats(to + kWidth, _mm512_permutexvar_ps(high, all));
}
// Pairs of halves: the even columns are the low ones.
inline void LoadPairs(const void* from, Floats& even, Floats& odd) {
  const __m512i pairs = _mm512_loadu_si512(from);
  even = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pairs));
  odd = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pairs, 16)));
}
inline __m512i RoundToHalf(Floats x) {
  const __m512i bits =
      _mm512_cvtepu16_epi32(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  return _mm512_mask_mov_epi32(bits, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                               _mm512_set1_epi32(0x7fff));
}
inline void StorePairs(void* to, Floats even, Floats odd) {
  _mm512_storeu_si512(to,
                      _mm512_or_si512(RoundToHalf(even), _mm512_slli_epi32(RoundToHalf(odd), 16)));
}

#else

using Floats = __m256;
constexpr uint32_t kWidth = 8;
inline Floats LoadFloats(const float* from) { return _mm256_loadu_ps(from); }
inline void StoreFloats(float* to, Floats x) { _mm256_storeu_ps(to, x); }
inline Floats RepeatFour(const float* from) {
  return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(from));
}
inline Floats MultiplyAdd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline __m256i Unordered(Floats x) {
  return _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
inline Floats OneNan(Floats x) {
  return _mm256_blendv_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)),
                          _mm256_castsi256_ps(Unordered(x)));
}
// Eight rows, each four times.
inline void StoreSpread(float* to, __m256 rows) {
  for (int i = 0; i < 4; ++i) {
    const __m256i pair =
        _mm256_add_epi32(_mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), _mm256_set1_epi32(2 * i));
    StoreFloats(to + kWidth * static_cast<uint32_t>(i), _mm256_permutevar8x32_ps(rows, pair));
  }
}
inline __m256 LowHalves(__m256i x) {
  return _mm256_cvtph_ps(
      _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}
// Pairs of halves: the even columns are the low ones.
inline void LoadPairs(const void* from, Floats& even, Floats& odd) {
  const __m256i pairs = _mm256_loadu_si256(static_cast<const __m256i*>(from));
  even = LowHalves(_mm256_and_si256(pairs, _mm256_set1_epi32(0xffff)));
  odd = LowHalves(_mm256_srli_epi32(pairs, 16));
}
inline __m256i RoundToHalf(Floats x) {
  const __m256i bits = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  return _mm256_blendv_epi8(bits, _mm256_set1_epi32(0x7fff), Unordered(x));
}
inline void StorePairs(void* to, Floats even, Floats odd) {
  _mm256_storeu_si256(static_cast<__m256i*>(to),
                      _mm256_or_si256(RoundToHalf(even), _mm256_slli_epi32(RoundToHalf(odd), 16)));
}

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
const float* MiniTable() {
  struct Table {
    float at[256];
    Table() {
      for (uint32_t code = 0; code < 256; ++code) at[code] = math::F32FromMini<Format>(code);
    }
  };
  static const Table table;
  return table.at;
}
const float* MiniTable(MmaType type) {
  return type == MmaType::kE4M3 ? MiniTable<math::E4M3>() : MiniTable<math::E5M2>();
}

// The elements of one row of a register (in b: of one column) that are no halves.
inline uint32_t DecodeWide(MmaType type, const void* reg, uint32_t row, float* out) {
  if (type == MmaType::kTF32) {
    _mm_storeu_ps(out, DecodeTf32(Quad(reg, row)));
    return 4;
  }
  const float* table = MiniTable(type);
  const auto* codes = static_cast<const uint8_t*>(reg) + 16 * row;
  for (uint32_t i = 0; i < 16; ++i) out[i] = table[codes[i]];
  return 16;
}

// The column at each place of a row of b.
constexpr uint32_t kColumns[8] = {0, 2, 4, 6, 1, 3, 5, 7};

// ---- decoding

template <MmaType kType>
void DecodeA16(const MmaTile& tile, const void* const* registers, float* out) {
  const uint32_t halves = tile.rows / 8;
  for (uint32_t piece = 0; piece < tile.k / 8; ++piece) {
    for (uint32_t half = 0; half < halves; ++half) {
      __m128i x[8];
      for (uint32_t row = 0; row < 8; ++row) x[row] = Quad(registers[piece * halves + half], row);
      Transpose(x);
      for (uint32_t i = 0; i < 8; ++i) {
        StoreSpread(out + ((8 * piece + i) * tile.rows + 8 * half) * kSpread,
                    Decode16<kType>(x[i]));
      }
    }
  }
}

template <MmaType kType>
void DecodeB16(const MmaTile& tile, const void* const* registers, float* out) {
  for (uint32_t piece = 0; piece < tile.k / 8; ++piece) {
    __m128i x[8];
    for (uint32_t i = 0; i < 8; ++i) x[i] = Quad(registers[piece], kColumns[i]);
    Transpose(x);
    for (uint32_t i = 0; i < 8; ++i) {
      _mm256_storeu_ps(out + (8 * piece + i) * kTileColumns, Decode16<kType>(x[i]));
    }
  }
}

void DecodeA(const MmaTile& tile, const void* const* registers, float* out) {
  if (tile.a == MmaType::kF16) return DecodeA16<MmaType::kF16>(tile, registers, out);
  if (tile.a == MmaType::kBF16) return DecodeA16<MmaType::kBF16>(tile, registers, out);
  const uint32_t halves = tile.rows / 8;
  uint32_t width = 0;
  for (uint32_t k = 0, piece = 0; k < tile.k; k += width, ++piece) {
    for (uint32_t row = 0; row < tile.rows; ++row) {
      float values[16];
      width = DecodeWide(tile.a, registers[piece * halves + row / 8], row % 8, values);
      for (uint32_t i = 0; i < width; ++i) {
        _mm_storeu_ps(out + ((k + i) * tile.rows + row) * kSpread, _mm_set1_ps(values[i]));
      }
    }
  }
}

void DecodeB(const MmaTile& tile, const void* const* registers, float* out) {
  if (tile.b == MmaType::kF16) return DecodeB16<MmaType::kF16>(tile, registers, out);
  if (tile.b == MmaType::kBF16) return DecodeB16<MmaType::kBF16>(tile, registers, out);
  uint32_t width = 0;
  for (uint32_t k = 0, piece = 0; k < tile.k; k += width, ++piece) {
    for (uint32_t place = 0; place < kTileColumns; ++place) {
      float values[16];
      width = DecodeWide(tile.b, registers[piece], kColumns[place], values);
      for (uint32_t i = 0; i < width; ++i) out[(k + i) * kTileColumns + place] = values[i];
    }
  }
}

// ---- products

// The registers of c and d are lanes of four columns for each of eight rows: as vectors, without a
// shuffle. Those of f32 have the even columns of rows 0 to 7, the odd ones, then rows 8 to 15.
inline void LoadC(bool half, const void* const* c, uint32_t row, Floats& even, Floats& odd) {
  const uint32_t lane = row % 8 * 4;
  if (half) return LoadPairs(static_cast<const uint32_t*>(c[row / 8]) + lane, even, odd);
  even = LoadFloats(static_cast<const float*>(c[row / 8 * 2]) + lane);
  odd = LoadFloats(static_cast<const float*>(c[row / 8 * 2 + 1]) + lane);
}

inline void StoreD(bool half, Floats even, Floats odd, void* const* d, uint32_t row) {
  const uint32_t lane = row % 8 * 4;
  if (half) return StorePairs(static_cast<uint32_t*>(d[row / 8]) + lane, even, odd);
  StoreFloats(static_cast<float*>(d[row / 8 * 2]) + lane, OneNan(even));
  StoreFloats(static_cast<float*>(d[row / 8 * 2 + 1]) + lane, OneNan(odd));
}

// Eight sums at a time keep both multipliers busy. kDepth is k, or 0 if it is not known.
template <uint32_t kVectors, uint32_t kDepth>
inline void MultiplyRows(const MmaTile& tile, uint32_t first, const float* a, const float* b,
                         const void* const* c, void* const* d) {
  constexpr uint32_t kRows = kWidth / kSpread;  // of a vector
  const uint32_t depth = kDepth == 0 ? tile.k : kDepth;
  Floats even[kVectors];
  Floats odd[kVectors];
  for (uint32_t i = 0; i < kVectors; ++i) {
    LoadC(tile.half_c, c, first + i * kRows, even[i], odd[i]);
  }
  const float* left = a + first * kSpread;
  for (uint32_t k = 0; k < depth; ++k) {
    const Floats right_even = RepeatFour(b + k * kTileColumns);
    const Floats right_odd = RepeatFour(b + k * kTileColumns + 4);
    for (uint32_t i = 0; i < kVectors; ++i) {
      const Floats x = LoadFloats(left + k * tile.rows * kSpread + i * kWidth);
      even[i] = MultiplyAdd(x, right_even, even[i]);
      odd[i] = MultiplyAdd(x, right_odd, odd[i]);
    }
  }
  for (uint32_t i = 0; i < kVectors; ++i) {
    StoreD(tile.half_d, even[i], odd[i], d, first + i * kRows);
  }
}

template <uint32_t kDepth>
void MultiplyDepth(const MmaTile& tile, const float* a, const float* b, const void* const* c,
                   void* const* d) {
  constexpr uint32_t kBoth = 4 * kWidth / kSpread;  // rows of four vectors
  if (tile.rows < kBoth) return MultiplyRows<2, kDepth>(tile, 0, a, b, c, d);
  for (uint32_t row = 0; row < tile.rows; row += kBoth) {
    MultiplyRows<4, kDepth>(tile, row, a, b, c, d);
  }
}

void Multiply(const MmaTile& tile, const float* a, const float* b, const void* const* c,
              void* const* d) {
  if (tile.k == 16) return MultiplyDepth<16>(tile, a, b, c, d);
  if (tile.k == 8) return MultiplyDepth<8>(tile, a, b, c, d);
  MultiplyDepth<0>(tile, a, b, c, d);
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

// So that the compiler makes vectors of it.
bool TranslateRows(const uint64_t* rows, uint32_t count, uint64_t low, uint64_t size,
                   uint64_t delta, uint64_t* host) {
  if (size < 16) return false;
  uint64_t bad = 0;
  for (uint32_t i = 0; i < count / 8 * 8; ++i) {
    const uint64_t address = rows[i];
    bad |= (address & 15) | static_cast<uint64_t>(address - low > size - 16);
    host[i] = address + delta;
  }
  return bad == 0;
}

// ---- vectors of each lane

constexpr uint32_t kAllLanes = 0xffffffff;

// Four lanes of four words: a matrix of 4 x 4.
inline void TransposeWords(__m128i (&x)[4]) {
  const __m128i a = _mm_unpacklo_epi32(x[0], x[1]);
  const __m128i b = _mm_unpackhi_epi32(x[0], x[1]);
  const __m128i c = _mm_unpacklo_epi32(x[2], x[3]);
  const __m128i d = _mm_unpackhi_epi32(x[2], x[3]);
  x[0] = _mm_unpacklo_epi64(a, c);
  x[1] = _mm_unpackhi_epi64(a, c);
  x[2] = _mm_unpacklo_epi64(b, d);
  x[3] = _mm_unpackhi_epi64(b, d);
}

template <uint32_t kBytes, uint32_t kWidth>
void LoadVectors(const uint64_t* host, uint32_t mask, std::byte* elements) {
  constexpr uint32_t kColumn = 32 * kBytes;
  if (mask == kAllLanes && kWidth == 4) {
    for (uint32_t lane = 0; lane < 32; lane += 4) {
      __m128i x[4];
      for (uint32_t i = 0; i < 4; ++i) x[i] = LoadAt(host[lane + i]);
      TransposeWords(x);
      for (uint32_t i = 0; i < 4; ++i) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(elements + i * kColumn + lane * kBytes), x[i]);
      }
    }
    return;
  }
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const auto* from = reinterpret_cast<const std::byte*>(host[lane]);
    for (uint32_t e = 0; e < kWidth; ++e) {
      std::memcpy(elements + e * kColumn + lane * kBytes, from + e * kBytes, kBytes);
    }
  }
}

template <uint32_t kBytes, uint32_t kWidth>
void StoreVectors(const uint64_t* host, uint32_t mask, const std::byte* elements) {
  constexpr uint32_t kColumn = 32 * kBytes;
  if (mask == kAllLanes && kWidth == 4) {
    for (uint32_t lane = 0; lane < 32; lane += 4) {
      __m128i x[4];
      for (uint32_t i = 0; i < 4; ++i) {
        x[i] = LoadAt(reinterpret_cast<uint64_t>(elements + i * kColumn + lane * kBytes));
      }
      TransposeWords(x);
      for (uint32_t i = 0; i < 4; ++i) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(host[lane + i]), x[i]);
      }
    }
    return;
  }
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    auto* to = reinterpret_cast<std::byte*>(host[lane]);
    for (uint32_t e = 0; e < kWidth; ++e) {
      std::memcpy(to + e * kBytes, elements + e * kColumn + lane * kBytes, kBytes);
    }
  }
}

void LoadLanes(const uint64_t* host, uint32_t bytes, uint32_t width, uint32_t mask,
               void* elements) {
  auto* to = static_cast<std::byte*>(elements);
  if (width == 4) return LoadVectors<4, 4>(host, mask, to);
  bytes == 4 ? LoadVectors<4, 2>(host, mask, to) : LoadVectors<8, 2>(host, mask, to);
}

void StoreLanes(const uint64_t* host, uint32_t bytes, uint32_t width, uint32_t mask,
                const void* elements) {
  const auto* from = static_cast<const std::byte*>(elements);
  if (width == 4) return StoreVectors<4, 4>(host, mask, from);
  bytes == 4 ? StoreVectors<4, 2>(host, mask, from) : StoreVectors<8, 2>(host, mask, from);
}

}  // namespace

const MatrixKernels kMatrixKernels = {.decode_a = DecodeA,
                                      .decode_b = DecodeB,
                                      .multiply = Multiply,
                                      .translate_rows = TranslateRows,
                                      .load_rows = LoadRows,
                                      .store_rows = StoreRows,
                                      .load_lanes = LoadLanes,
                                      .store_lanes = StoreLanes};

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
