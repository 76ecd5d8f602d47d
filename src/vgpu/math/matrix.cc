#include "vgpu/math/matrix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "support/check.h"
#include "vgpu/math/arith.h"
#include "vgpu/math/integer.h"
#include "vgpu/math/minifloat.h"

namespace kernelsmith::vgpu::math {
namespace {

constexpr int kLanes = 32;
constexpr int kMaxSide = 32;   // the largest m and n
constexpr int kMaxDepth = 64;  // the largest k in elements, or in words for b1

int BitsOf(MmaType type) {
  switch (type) {
    case MmaType::kF64:
      return 64;
    case MmaType::kF32:
    case MmaType::kTF32:
    case MmaType::kS32:
      return 32;
    case MmaType::kF16:
    case MmaType::kBF16:
      return 16;
    case MmaType::kE4M3:
    case MmaType::kE5M2:
    case MmaType::kS8:
    case MmaType::kU8:
      return 8;
    case MmaType::kS4:
    case MmaType::kU4:
      return 4;
    case MmaType::kB1:
      return 1;
  }
  KS_UNREACHABLE();
}

bool IsInteger(MmaType type) {
  return type == MmaType::kS8 || type == MmaType::kU8 || type == MmaType::kS4 ||
         type == MmaType::kU4;
}

bool IsVolta(const MmaSpec& s) {
  return !s.wmma && s.m == 8 && s.n == 8 && s.k == 4 && s.a == MmaType::kF16;
}

// ---- fragments ----

struct Place {
  int row;
  int col;
};

// All fragments of mma.m16n8k* and m8n8k* follow one rule: with g = lane / 4, t = lane % 4 and P
// elements in a register, register r of A holds rows g (and g + 8 for odd r, where m is 16) and P
// columns from t * P on, the next 4 * P columns in the next registers; B is the same with its
// columns as rows and no second half; C has columns 2 t and 2 t + 1. wmma's larger matrices are
// several such tiles along m or n, one after the other.
Place PlaceInA(int lane, int reg, int element, int per_register, int m) {
  const int halves = m == 8 ? 1 : 2;
  return {lane / 4 + 8 * (reg % halves),
          lane % 4 * per_register + element + 4 * per_register * (reg / halves)};
}
Place PlaceInB(int lane, int reg, int element, int per_register) {
  return {lane % 4 * per_register + element + 4 * per_register * reg, lane / 4};
}
Place PlaceInC(int lane, int index, int m) {
  const int halves = m == 8 ? 1 : 2;
  return {lane / 4 + 8 * (index / 2 % halves), lane % 4 * 2 + index % 2};
}

// mma.m8n8k4.f16 is four products of 8 lanes each (0-3 and 16-19, 4-7 and 20-23 ...); places are
// within the product of the lane.
Place PlaceInVolta(MmaRole role, const MmaSpec& spec, int lane, int index) {
  const int high = lane >= 16 ? 4 : 0;
  const int quad = lane % 4;
  switch (role) {
    case MmaRole::kA:
      return spec.a_row_major ? Place{quad + high, index} : Place{index + high, quad};
    case MmaRole::kB:
      return spec.b_row_major ? Place{quad, index + high} : Place{index, quad + high};
    case MmaRole::kC:
    case MmaRole::kD:
      break;
  }
  if ((role == MmaRole::kC ? spec.c : spec.d) == MmaType::kF16) return {quad + high, index};
  return {(lane & 1) + (index & 2) + high, (index & 4) + (lane & 2) + (index & 1)};
}

Fragment MakeFragment(MmaRole role, const MmaSpec& spec) {
  const MmaType types[] = {spec.a, spec.b, spec.c, spec.d};
  const MmaType type = types[static_cast<int>(role)];
  Fragment f;
  f.rows = role == MmaRole::kB ? spec.k : spec.m;
  f.cols = role == MmaRole::kA ? spec.k : spec.n;
  f.bits = BitsOf(type);
  f.register_bits = type == MmaType::kF64 ? 64 : 32;
  f.per_register = f.register_bits / f.bits;
  const bool volta = IsVolta(spec);
  const int unique = f.rows * f.cols / kLanes * (volta ? 4 : 1);
  const int unique_registers = unique / f.per_register;
  // The .f16 fragments of wmma's A and B always have 8 registers; smaller ones repeat.
  const bool repeats =
      spec.wmma && type == MmaType::kF16 && (role == MmaRole::kA || role == MmaRole::kB);
  f.registers = repeats ? 8 : unique_registers;
  f.distinct = unique_registers;
  f.row.resize(static_cast<size_t>(f.elements() * kLanes));
  f.col.resize(f.row.size());
  for (int reg = 0; reg < f.registers; ++reg) {
    for (int element = 0; element < f.per_register; ++element) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const int r = reg % unique_registers;
        const int index = r * f.per_register + element;
        Place place{};
        if (volta) {
          place = PlaceInVolta(role, spec, lane, index);
        } else if (role == MmaRole::kA) {
          const int tile_rows = std::min(spec.m, 16);
          const int per_tile = unique_registers / (spec.m / tile_rows);
          place = PlaceInA(lane, r % per_tile, element, f.per_register, spec.m);
          place.row += r / per_tile * tile_rows;
        } else if (role == MmaRole::kB) {
          const int per_tile = unique_registers / (spec.n / 8);
          place = PlaceInB(lane, r % per_tile, element, f.per_register);
          place.col += r / per_tile * 8;
        } else {
          const int per_tile = spec.m == 8 ? 2 : 4;
          place = PlaceInC(lane, index % per_tile, spec.m);
          const int tile = index / per_tile;
          const int tiles_across = spec.n / 8;
          place.col += tile % tiles_across * 8;
          place.row += tile / tiles_across * 16;
        }
        const auto at = static_cast<size_t>((reg * f.per_register + element) * kLanes + lane);
        f.row[at] = static_cast<uint8_t>(place.row);
        f.col[at] = static_cast<uint16_t>(place.col);
      }
    }
  }
  return f;
}

// ---- which instructions there are ----

struct ShapeRow {
  bool wmma;
  MmaType a;
  int m, n, k;
};
constexpr ShapeRow kShapes[] = {
    {false, MmaType::kF16, 8, 8, 4},    {false, MmaType::kF16, 16, 8, 8},
    {false, MmaType::kF16, 16, 8, 16},  {false, MmaType::kBF16, 16, 8, 8},
    {false, MmaType::kBF16, 16, 8, 16}, {false, MmaType::kTF32, 16, 8, 4},
    {false, MmaType::kTF32, 16, 8, 8},  {false, MmaType::kF64, 8, 8, 4},
    {false, MmaType::kF64, 16, 8, 4},   {false, MmaType::kF64, 16, 8, 8},
    {false, MmaType::kF64, 16, 8, 16},  {false, MmaType::kS8, 8, 8, 16},
    {false, MmaType::kS8, 16, 8, 16},   {false, MmaType::kS8, 16, 8, 32},
    {false, MmaType::kE4M3, 16, 8, 16}, {false, MmaType::kE4M3, 16, 8, 32},
    {false, MmaType::kS4, 8, 8, 32},    {false, MmaType::kS4, 16, 8, 32},
    {false, MmaType::kS4, 16, 8, 64},   {false, MmaType::kB1, 8, 8, 128},
    {false, MmaType::kB1, 16, 8, 128},  {false, MmaType::kB1, 16, 8, 256},
    {true, MmaType::kF16, 16, 16, 16},  {true, MmaType::kF16, 32, 8, 16},
    {true, MmaType::kF16, 8, 32, 16},   {true, MmaType::kBF16, 16, 16, 16},
    {true, MmaType::kBF16, 32, 8, 16},  {true, MmaType::kBF16, 8, 32, 16},
    {true, MmaType::kTF32, 16, 16, 8},  {true, MmaType::kF64, 8, 8, 4},
    {true, MmaType::kS8, 16, 16, 16},   {true, MmaType::kS8, 32, 8, 16},
    {true, MmaType::kS8, 8, 32, 16},    {true, MmaType::kS4, 8, 8, 32},
    {true, MmaType::kB1, 8, 8, 128},
};

// The type under which the table lists a family whose members mix freely.
MmaType Family(MmaType type) {
  switch (type) {
    case MmaType::kU8:
      return MmaType::kS8;
    case MmaType::kU4:
      return MmaType::kS4;
    case MmaType::kE5M2:
      return MmaType::kE4M3;
    default:
      return type;
  }
}

bool TypesFit(const MmaSpec& s) {
  const auto both = [&](MmaType t) { return s.c == t && s.d == t; };
  switch (Family(s.a)) {
    case MmaType::kF16:
    case MmaType::kE4M3:
      return (s.c == MmaType::kF16 || s.c == MmaType::kF32) &&
             (s.d == MmaType::kF16 || s.d == MmaType::kF32);
    case MmaType::kBF16:
    case MmaType::kTF32:
      return both(MmaType::kF32);
    case MmaType::kF64:
      return both(MmaType::kF64);
    case MmaType::kB1:
      return both(MmaType::kS32) && s.bit_op != MmaBitOp::kNone;
    default:
      return both(MmaType::kS32);
  }
}

bool Exists(const MmaSpec& s) {
  if (Family(s.a) != Family(s.b) || !TypesFit(s)) return false;
  return std::any_of(std::begin(kShapes), std::end(kShapes), [&](const ShapeRow& row) {
    return row.wmma == s.wmma && row.a == Family(s.a) && row.m == s.m && row.n == s.n &&
           row.k == s.k;
  });
}

// ---- arithmetic ----

// Decodes element `element` of all lanes of one register.
void DecodeFloat(const uint32_t* reg, int element, MmaType type, float* out) {
  switch (type) {
    case MmaType::kF16:
      for (int i = 0; i < kLanes; ++i) {
        out[i] = F32FromF16({static_cast<uint16_t>(reg[i] >> (16 * element))});
      }
      return;
    case MmaType::kBF16:
      for (int i = 0; i < kLanes; ++i) {
        out[i] = F32FromBF16({static_cast<uint16_t>(reg[i] >> (16 * element))});
      }
      return;
    case MmaType::kTF32:  // the low 13 bits are ignored
      for (int i = 0; i < kLanes; ++i) out[i] = Bits<float>(reg[i] & 0xffffe000u);
      return;
    case MmaType::kE4M3:
      for (int i = 0; i < kLanes; ++i) out[i] = F32FromMini<E4M3>(reg[i] >> (8 * element));
      return;
    case MmaType::kE5M2:
      for (int i = 0; i < kLanes; ++i) out[i] = F32FromMini<E5M2>(reg[i] >> (8 * element));
      return;
    default:
      for (int i = 0; i < kLanes; ++i) out[i] = Bits<float>(reg[i]);
      return;
  }
}

int32_t DecodeInteger(uint32_t reg, int element, MmaType type) {
  switch (type) {
    case MmaType::kS8:
      return static_cast<int8_t>(reg >> (8 * element));
    case MmaType::kU8:
      return static_cast<uint8_t>(reg >> (8 * element));
    case MmaType::kS4:
      return static_cast<int32_t>(reg << (28 - 4 * element)) >> 28;
    default:
      return static_cast<int32_t>(reg >> (4 * element) & 0xf);
  }
}

// A matrix with rows of fixed length, so that the inner loop runs over contiguous values.
template <typename T>
struct Matrix {
  alignas(64) T at[kMaxDepth][kMaxSide];
};
template <typename T>
struct MatrixA {
  alignas(64) T at[kMaxSide][kMaxDepth];
};

template <typename M>
void UnpackFloat(const Fragment& f, MmaType type, const void* const* registers, M& out) {
  float lanes[kLanes];
  for (int reg = 0; reg < f.distinct; ++reg) {
    for (int element = 0; element < f.per_register; ++element) {
      DecodeFloat(static_cast<const uint32_t*>(registers[reg]), element, type, lanes);
      const auto base = static_cast<size_t>((reg * f.per_register + element) * kLanes);
      for (size_t lane = 0; lane < kLanes; ++lane) {
        out.at[f.row[base + lane]][f.col[base + lane]] = lanes[lane];
      }
    }
  }
}

template <typename M>
void PackFloat(const Fragment& f, MmaType type, const M& in, void* const* registers) {
  for (int reg = 0; reg < f.registers; ++reg) {
    auto* out = static_cast<uint32_t*>(registers[reg]);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      uint32_t word = 0;
      for (int element = 0; element < f.per_register; ++element) {
        const auto at = static_cast<size_t>((reg * f.per_register + element) * kLanes) + lane;
        const float value = in.at[f.row[at]][f.col[at]];
        if (type == MmaType::kF16) {
          word |= static_cast<uint32_t>(HalfFromF64<F16>(value).bits) << (16 * element);
        } else {
          word = Bits<uint32_t>(CanonicalNan(value));
        }
      }
      out[lane] = word;
    }
  }
}

// Products of these are exact in float, so that a multiplication and an addition do.
bool ProductsAreFloats(MmaType type) { return type != MmaType::kBF16 && type != MmaType::kTF32; }

// acc += a * b in ascending k: element by element, so that vector width cannot change a result.
template <int kN, bool kFloatProducts>
inline void Accumulate(int m, int k, const MatrixA<float>& a, const Matrix<float>& b,
                       Matrix<float>& acc) {
  for (int i = 0; i < m; ++i) {
    float row[kN];
    std::memcpy(row, acc.at[i], sizeof(row));
    for (int j = 0; j < k; ++j) {
      const float x = a.at[i][j];
      for (int c = 0; c < kN; ++c) {
        row[c] = kFloatProducts ? row[c] + x * b.at[j][c]
                                : AddProduct(double{x}, double{b.at[j][c]}, row[c]);
      }
    }
    std::memcpy(acc.at[i], row, sizeof(row));
  }
}

template <bool kFloatProducts>
void AccumulateAny(int m, int n, int k, const MatrixA<float>& a, const Matrix<float>& b,
                   Matrix<float>& acc) {
  switch (n) {
    case 8:
      return Accumulate<8, kFloatProducts>(m, k, a, b, acc);
    case 16:
      return Accumulate<16, kFloatProducts>(m, k, a, b, acc);
    default:
      return Accumulate<32, kFloatProducts>(m, k, a, b, acc);
  }
}

}  // namespace

MmaPlan::MmaPlan(const MmaSpec& spec) : spec_(spec) {
  for (const MmaRole role : {MmaRole::kA, MmaRole::kB, MmaRole::kC, MmaRole::kD}) {
    fragments_[static_cast<int>(role)] = MakeFragment(role, spec);
  }
}

const MmaPlan* MmaPlan::Find(const MmaSpec& spec) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const MmaPlan>> plans;
  if (!Exists(spec)) return nullptr;
  const std::lock_guard lock(mutex);
  for (const auto& plan : plans) {
    if (plan->spec_ == spec) return plan.get();
  }
  plans.emplace_back(new MmaPlan(spec));
  return plans.back().get();
}

void MmaPlan::Run(const void* const* a, const void* const* b, const void* const* c,
                  void* const* d) const {
  if (IsVolta(spec_)) {
    RunVolta(a, b, c, d);
  } else if (spec_.a == MmaType::kF64) {
    RunDouble(a, b, c, d);
  } else if (spec_.a == MmaType::kB1) {
    RunBits(a, b, c, d);
  } else if (IsInteger(spec_.a)) {
    RunInteger(a, b, c, d);
  } else {
    RunFloat(a, b, c, d);
  }
}

void MmaPlan::RunFloat(const void* const* a, const void* const* b, const void* const* c,
                       void* const* d) const {
  MatrixA<float> x;
  Matrix<float> y;
  Matrix<float> acc;
  UnpackFloat(fragments_[0], spec_.a, a, x);
  UnpackFloat(fragments_[1], spec_.b, b, y);
  UnpackFloat(fragments_[2], spec_.c, c, acc);
  const bool floats = ProductsAreFloats(spec_.a);
  (floats ? AccumulateAny<true> : AccumulateAny<false>)(spec_.m, spec_.n, spec_.k, x, y, acc);
  PackFloat(fragments_[3], spec_.d, acc, d);
}

void MmaPlan::RunVolta(const void* const* a, const void* const* b, const void* const* c,
                       void* const* d) const {
  // Four products; lane l belongs to product l % 16 / 4. Each is unpacked from a copy in which the
  // other lanes' places do no harm because every place is written by a lane of the product last.
  const auto unpack = [](const Fragment& f, MmaType type, const void* const* registers, int product,
                         auto& out) {
    float lanes[kLanes];
    for (int reg = 0; reg < f.registers; ++reg) {
      for (int element = 0; element < f.per_register; ++element) {
        DecodeFloat(static_cast<const uint32_t*>(registers[reg]), element, type, lanes);
        for (int lane = 0; lane < kLanes; ++lane) {
          if (lane % 16 / 4 != product) continue;
          const auto at = static_cast<size_t>((reg * f.per_register + element) * kLanes + lane);
          out.at[f.row[at]][f.col[at]] = lanes[lane];
        }
      }
    }
  };
  MatrixA<float> x[4];
  Matrix<float> y[4];
  Matrix<float> acc[4];
  for (int product = 0; product < 4; ++product) {
    unpack(fragments_[0], spec_.a, a, product, x[product]);
    unpack(fragments_[1], spec_.b, b, product, y[product]);
    unpack(fragments_[2], spec_.c, c, product, acc[product]);
    Accumulate<8, true>(8, 4, x[product], y[product], acc[product]);
  }
  const Fragment& f = fragments_[3];
  for (int reg = 0; reg < f.registers; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      uint32_t word = 0;
      for (int element = 0; element < f.per_register; ++element) {
        const auto at = static_cast<size_t>((reg * f.per_register + element) * kLanes + lane);
        const float value = acc[lane % 16 / 4].at[f.row[at]][f.col[at]];
        word |= spec_.d == MmaType::kF16
                    ? static_cast<uint32_t>(HalfFromF64<F16>(value).bits) << (16 * element)
                    : Bits<uint32_t>(CanonicalNan(value));
      }
      static_cast<uint32_t*>(d[reg])[lane] = word;
    }
  }
}

void MmaPlan::RunDouble(const void* const* a, const void* const* b, const void* const* c,
                        void* const* d) const {
  MatrixA<double> x;
  Matrix<double> y;
  Matrix<double> acc;
  const auto unpack = [](const Fragment& f, const void* const* registers, auto& out) {
    for (int reg = 0; reg < f.registers; ++reg) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto at = static_cast<size_t>(reg * kLanes + lane);
        out.at[f.row[at]][f.col[at]] = static_cast<const double*>(registers[reg])[lane];
      }
    }
  };
  unpack(fragments_[0], a, x);
  unpack(fragments_[1], b, y);
  unpack(fragments_[2], c, acc);
  for (int i = 0; i < spec_.m; ++i) {
    for (int j = 0; j < spec_.n; ++j) {
      double sum = acc.at[i][j];
      for (int l = 0; l < spec_.k; ++l) {
        sum = spec_.round == Round::kRn
                  ? Fma(x.at[i][l], y.at[l][j], sum)
                  : FinishF64(FmaF64Directed(spec_.round, x.at[i][l], y.at[l][j], sum), x.at[i][l],
                              y.at[l][j], sum);
      }
      acc.at[i][j] = sum;
    }
  }
  const Fragment& f = fragments_[3];
  for (int reg = 0; reg < f.registers; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto at = static_cast<size_t>(reg * kLanes + lane);
      static_cast<double*>(d[reg])[lane] = acc.at[f.row[at]][f.col[at]];
    }
  }
}

namespace {

int64_t FinishInteger(int64_t sum, bool satfinite) { return satfinite ? ClampS32(sum) : sum; }

template <typename M>
void StoreIntegers(const Fragment& f, const M& acc, bool satfinite, void* const* d) {
  for (int reg = 0; reg < f.registers; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto at = static_cast<size_t>(reg * kLanes + lane);
      static_cast<uint32_t*>(d[reg])[lane] =
          static_cast<uint32_t>(FinishInteger(acc.at[f.row[at]][f.col[at]], satfinite));
    }
  }
}

template <typename M>
void LoadIntegers(const Fragment& f, const void* const* c, M& acc) {
  for (int reg = 0; reg < f.registers; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto at = static_cast<size_t>(reg * kLanes + lane);
      acc.at[f.row[at]][f.col[at]] = static_cast<const int32_t*>(c[reg])[lane];
    }
  }
}

}  // namespace

void MmaPlan::RunInteger(const void* const* a, const void* const* b, const void* const* c,
                         void* const* d) const {
  MatrixA<int64_t> x;
  Matrix<int64_t> y;
  Matrix<int64_t> acc;
  const auto unpack = [](const Fragment& f, MmaType type, const void* const* registers, auto& out) {
    for (int reg = 0; reg < f.registers; ++reg) {
      for (int element = 0; element < f.per_register; ++element) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const auto at = static_cast<size_t>((reg * f.per_register + element) * kLanes + lane);
          out.at[f.row[at]][f.col[at]] =
              DecodeInteger(static_cast<const uint32_t*>(registers[reg])[lane], element, type);
        }
      }
    }
  };
  unpack(fragments_[0], spec_.a, a, x);
  unpack(fragments_[1], spec_.b, b, y);
  LoadIntegers(fragments_[2], c, acc);
  for (int i = 0; i < spec_.m; ++i) {
    for (int l = 0; l < spec_.k; ++l) {
      for (int j = 0; j < spec_.n; ++j) acc.at[i][j] += x.at[i][l] * y.at[l][j];
    }
  }
  StoreIntegers(fragments_[3], acc, spec_.satfinite, d);
}

void MmaPlan::RunBits(const void* const* a, const void* const* b, const void* const* c,
                      void* const* d) const {
  // 32 bits of k at a time: element 0 of a register stands for all of it.
  MatrixA<uint32_t> x;
  Matrix<uint32_t> y;
  Matrix<int64_t> acc;
  const Fragment& fa = fragments_[0];
  const Fragment& fb = fragments_[1];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int reg = 0; reg < fa.registers; ++reg) {
      const auto at = static_cast<size_t>(reg * 32 * kLanes + lane);
      x.at[fa.row[at]][fa.col[at] / 32] = static_cast<const uint32_t*>(a[reg])[lane];
    }
    for (int reg = 0; reg < fb.registers; ++reg) {
      const auto at = static_cast<size_t>(reg * 32 * kLanes + lane);
      y.at[fb.row[at] / 32][fb.col[at]] = static_cast<const uint32_t*>(b[reg])[lane];
    }
  }
  LoadIntegers(fragments_[2], c, acc);
  for (int i = 0; i < spec_.m; ++i) {
    for (int j = 0; j < spec_.n; ++j) {
      for (int l = 0; l < spec_.k / 32; ++l) {
        const uint32_t bits =
            spec_.bit_op == MmaBitOp::kXorPopc ? x.at[i][l] ^ y.at[l][j] : x.at[i][l] & y.at[l][j];
        acc.at[i][j] += std::popcount(bits);
      }
    }
  }
  StoreIntegers(fragments_[3], acc, false, d);
}

const Fragment* FindWmmaFragment(MmaRole role, int m, int n, int k, MmaType type) {
  MmaSpec spec{.wmma = true, .m = m, .n = n, .k = k};
  // Any instruction that has this fragment will do.
  const auto with = [&](MmaType ab, MmaType cd, MmaBitOp op = MmaBitOp::kNone) -> const Fragment* {
    spec.a = spec.b = ab;
    spec.c = spec.d = cd;
    spec.bit_op = op;
    const MmaPlan* plan = MmaPlan::Find(spec);
    return plan == nullptr ? nullptr : &plan->fragment(role);
  };
  if (role == MmaRole::kA || role == MmaRole::kB) {
    switch (type) {
      case MmaType::kF64:
        return with(type, MmaType::kF64);
      case MmaType::kB1:
        return with(type, MmaType::kS32, MmaBitOp::kXorPopc);
      case MmaType::kF16:
      case MmaType::kBF16:
      case MmaType::kTF32:
        return with(type, MmaType::kF32);
      default:
        return IsInteger(type) ? with(type, MmaType::kS32) : nullptr;
    }
  }
  // Accumulators depend on m, n and their own type only.
  for (const MmaType ab :
       {MmaType::kF16, MmaType::kTF32, MmaType::kF64, MmaType::kS8, MmaType::kS4, MmaType::kB1}) {
    const Fragment* fragment =
        with(ab, type, ab == MmaType::kB1 ? MmaBitOp::kXorPopc : MmaBitOp::kNone);
    if (fragment != nullptr) return fragment;
  }
  return nullptr;
}

void Ldmatrix(const uint16_t (*rows)[8], int count, bool transposed, uint32_t* const* registers) {
  for (int matrix = 0; matrix < count; ++matrix) {
    const uint16_t(*at)[8] = rows + 8 * matrix;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int row = lane / 4;
      const int col = lane % 4 * 2;
      const uint32_t low = transposed ? at[col][row] : at[row][col];
      const uint32_t high = transposed ? at[col + 1][row] : at[row][col + 1];
      registers[matrix][lane] = low | high << 16;
    }
  }
}

void Stmatrix(const uint32_t* const* registers, int count, bool transposed, uint16_t (*rows)[8]) {
  for (int matrix = 0; matrix < count; ++matrix) {
    uint16_t(*at)[8] = rows + 8 * matrix;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int row = lane / 4;
      const int col = lane % 4 * 2;
      const uint32_t word = registers[matrix][lane];
      (transposed ? at[col][row] : at[row][col]) = static_cast<uint16_t>(word);
      (transposed ? at[col + 1][row] : at[row][col + 1]) = static_cast<uint16_t>(word >> 16);
    }
  }
}

void Movmatrix(const uint32_t* a, uint32_t* d) {
  uint16_t rows[8][8];
  Stmatrix(&a, 1, false, rows);
  Ldmatrix(rows, 1, true, &d);
}

}  // namespace kernelsmith::vgpu::math
