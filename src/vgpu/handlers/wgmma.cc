// wgmma.mma_async: each of the four warps of a group computes its 16 rows of d at once. Numbers as
// in mma (math/matrix.h).

#include <bit>

#include "vgpu/handlers/access.h"
#include "vgpu/handlers/handlers.h"
#include "vgpu/math/convert.h"
#include "vgpu/math/matrix.h"
#include "vgpu/math/minifloat.h"
#include "vgpu/matrix_descriptor.h"

namespace kernelsmith::vgpu {
namespace {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build
using ptx::Type;

double Decode(Type type, const uint8_t* bytes) {
  uint16_t half;
  uint32_t word;
  switch (type) {
    case Type::kF16:
      std::memcpy(&half, bytes, 2);
      return math::F32FromF16({half});
    case Type::kBf16:
      std::memcpy(&half, bytes, 2);
      return math::F32FromBF16({half});
    case Type::kTf32:
      std::memcpy(&word, bytes, 4);
      return math::Bits<float>(word & 0xffffe000u);
    case Type::kE4m3:
      return math::F32FromMini<math::E4M3>(*bytes);
    case Type::kE5m2:
      return math::F32FromMini<math::E5M2>(*bytes);
    case Type::kS8:
      return static_cast<int8_t>(*bytes);
    default:
      return *bytes;
  }
}

int ElementBytes(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kBf16:
      return 2;
    case Type::kTf32:
      return 4;
    default:
      return 1;  // b1: eight of them
  }
}

// Matrices as rows of 32 bytes (all k of one row or column), whatever the type.
constexpr int kRowBytes = 32;
struct Rows {
  uint8_t at[256][kRowBytes];
};

// Rows first .. first + count of the matrix. False: the launch failed.
bool ReadShared(Warp& w, const Instruction& in, uint32_t mask, uint64_t bits, Type type,
                bool transposed, uint32_t first, uint32_t count, Rows& rows) {
  const MatrixDescriptor descriptor(bits);
  const int lane = std::countr_zero(mask);
  if (descriptor.base_offset != 0) {
    w.Fail(FaultKind::kIllegalInstruction, lane, descriptor.start,
           "wgmma with a base offset in its matrix descriptor is not supported");
    return false;
  }
  const auto read = [&](uint64_t address, uint8_t* to) {
    const uint64_t host =
        TranslateRange(w, in, MemorySpace::kShared, AccessKind::kLoad, lane, address, 16, 16);
    if (host == 0) return false;
    std::memcpy(to, reinterpret_cast<const void*>(host), 16);
    return true;
  };
  if (!transposed) {
    for (uint32_t row = 0; row < count; ++row) {
      for (uint32_t piece = 0; piece < 2; ++piece) {
        if (!read(descriptor.KMajor(first + row, piece), rows.at[row] + 16 * piece)) return false;
      }
    }
    return true;
  }
  // Only 16-bit types have this: 8 rows in a piece, 16 values of k.
  for (uint32_t k = 0; k < 16; ++k) {
    for (uint32_t piece = 0; piece < count / 8; ++piece) {
      uint8_t values[16];
      if (!read(descriptor.MnMajor(first / 8 + piece, k), values)) return false;
      for (uint32_t i = 0; i < 8; ++i) {
        std::memcpy(rows.at[piece * 8 + i] + 2 * k, values + 2 * i, 2);
      }
    }
  }
  return true;
}

// The fragment of a in registers: row lane / 4 (+ 8 for registers 1 and 3), bytes 4 * (lane % 4) of
// the first or, from register 2 on, of the second half of k.
void ReadRegisters(const Warp& w, const Operand* list, Rows& rows) {
  for (int reg = 0; reg < 4; ++reg) {
    const uint32_t* lanes = w.Lanes<uint32_t>(list[reg]);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      std::memcpy(rows.at[lane / 4 + 8 * (reg % 2)] + 16 * (reg / 2) + 4 * (lane % 4), &lanes[lane],
                  4);
    }
  }
}

void Wgmma(Warp& w, const Instruction& in, uint32_t mask) {
  const WgmmaInfo& info = w.function().wgmmas[in.target];
  const Operand* list = &w.function().list[in.list_first];
  const int lane0 = std::countr_zero(mask);
  static thread_local Rows a;
  static thread_local Rows b;
  if (info.a_shared) {
    const uint32_t first = w.index % 4 * 16;
    if (!ReadShared(w, in, mask, w.Lanes<uint64_t>(in.a)[lane0], info.a, info.transposed_a, first,
                    16, a)) {
      return;
    }
  } else {
    ReadRegisters(w, list + in.width, a);
  }
  if (!ReadShared(w, in, mask, w.Lanes<uint64_t>(in.b)[lane0], info.b, info.transposed_b, 0,
                  static_cast<uint32_t>(info.n), b)) {
    return;
  }
  const bool bits = info.a == Type::kB1;
  const int step = ElementBytes(info.a);
  const int count = kRowBytes / step;
  static thread_local double left[16][kRowBytes];
  static thread_local double right[256][kRowBytes];
  if (!bits) {
    const double sign_a = info.negate_a ? -1 : 1;
    const double sign_b = info.negate_b ? -1 : 1;
    for (int row = 0; row < 16; ++row) {
      for (int k = 0; k < count; ++k) left[row][k] = sign_a * Decode(info.a, a.at[row] + k * step);
    }
    for (int col = 0; col < info.n; ++col) {
      for (int k = 0; k < count; ++k) right[col][k] = sign_b * Decode(info.b, b.at[col] + k * step);
    }
  }
  const uint32_t add = w.Predicate(in.c) ^ (in.negate_c ? kFullMask : 0u);
  const bool accumulate = (add >> lane0 & 1) != 0;
  const bool half = info.d == Type::kF16;
  const int per_register = half ? 2 : 1;
  for (int reg = 0; reg < in.width; ++reg) {
    uint32_t* lanes = w.Lanes<uint32_t>(list[reg]);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      uint32_t word = 0;
      for (int element = 0; element < per_register; ++element) {
        // In f32 units: d[4 j + i] is column 8 j + 2 (lane % 4) + i % 2, row lane / 4 + 8 (i / 2).
        const int index = reg * per_register + element;
        const int row = lane / 4 + 8 * (index / 2 % 2);
        const int col = index / 4 * 8 + lane % 4 * 2 + index % 2;
        if (info.d == Type::kS32) {
          int64_t sum = accumulate ? static_cast<int32_t>(lanes[lane]) : 0;
          if (bits) {
            for (int i = 0; i < kRowBytes; ++i) {
              sum += std::popcount(static_cast<uint32_t>(a.at[row][i] & b.at[col][i]));
            }
          } else {
            for (int k = 0; k < count; ++k) {
              sum += static_cast<int64_t>(left[row][k]) * static_cast<int64_t>(right[col][k]);
            }
          }
          if (in.satfinite) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
          word = static_cast<uint32_t>(sum);
          continue;
        }
        float sum = 0;
        if (accumulate) {
          sum = half ? math::F32FromF16({static_cast<uint16_t>(lanes[lane] >> (16 * element))})
                     : math::Bits<float>(lanes[lane]);
        }
        for (int k = 0; k < count; ++k) sum = math::AddProduct(left[row][k], right[col][k], sum);
        word |= half ? static_cast<uint32_t>(math::HalfFromF64<math::F16>(sum).bits)
                           << (16 * element)
                     : math::Bits<uint32_t>(math::CanonicalNan(sum));
      }
      lanes[lane] = word;
    }
  }
}

}  // namespace

Handler FindWgmmaHandler(const Instruction& in) { return in.op == Op::kWgmma ? Wgmma : nullptr; }

}  // namespace kernelsmith::vgpu
