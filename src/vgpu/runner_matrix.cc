// What compiled code calls for matrix instructions beside the kernels of matrix_kernels.h.

#include <algorithm>
#include <cstring>

#include "vgpu/matrix_descriptor.h"
#include "vgpu/matrix_kernels.h"
#include "vgpu/op_facts.h"
#include "vgpu/runner.h"

namespace kernelsmith::vgpu {

namespace {

using math::Fragment;

constexpr uint32_t kRowBytes = 16;  // of an 8 x 8 matrix of 16-bit elements
constexpr int kMostRegisters = 8;   // of a fragment that is made of such matrices
constexpr uint32_t kMatrixRows = 8;
constexpr uint32_t kRegisterBytes = 128;

const Fragment& FragmentOf(const jit::MatrixAccess& access) { return *access.info->fragment; }

// The rows of the 8 x 8 matrices of 16-bit elements that make the fragment, one register each;
// returns whether they must be transposed. Lane 0 has the first element of a register's matrix, and
// the one beside it is in the same row or, in fragments of b, in the same column.
bool RowsOf(const jit::MatrixAccess& access, uint64_t base, uint64_t stride, int registers,
            uint64_t* rows) {
  const Fragment& fragment = FragmentOf(access);
  const bool lines_are_rows = fragment.col[kWarpSize] != fragment.col[0];
  const bool transposed = lines_are_rows != access.info->row_major;
  for (int reg = 0; reg < registers; ++reg) {
    const auto first = static_cast<size_t>(reg * fragment.per_register * kWarpSize);
    const uint64_t row = fragment.row[first];
    const uint64_t col = fragment.col[first];
    const uint64_t line = access.info->row_major ? row : col;
    const uint64_t along = access.info->row_major ? col : row;
    for (uint64_t i = 0; i < kMatrixRows; ++i) {
      rows[static_cast<uint64_t>(reg) * kMatrixRows + i] = base + ((line + i) * stride + along) * 2;
    }
  }
  return transposed;
}

// The type of wgmma's operands as that of mma; nullopt: products of it are no chains of floats.
std::optional<math::MmaType> FloatType(ptx::Type type) {
  switch (type) {
    case ptx::Type::kF16:
      return math::MmaType::kF16;
    case ptx::Type::kBf16:
      return math::MmaType::kBF16;
    case ptx::Type::kTf32:
      return math::MmaType::kTF32;
    case ptx::Type::kE4m3:
      return math::MmaType::kE4M3;
    case ptx::Type::kE5m2:
      return math::MmaType::kE5M2;
    default:
      return std::nullopt;
  }
}

// A part of a matrix in shared memory as the registers of a fragment: 8 rows (in b: columns) of 16
// bytes in each, those of the first 16 bytes of k before those of the others. `count` registers
// from row `first` on have the same k.
struct SharedFragment {
  alignas(64) std::byte bytes[4][kRegisterBytes];
  void* registers[4] = {bytes[0], bytes[1], bytes[2], bytes[3]};

  void Load(const MatrixKernels& kernels, const jit::BlockContext& block,
            const MatrixDescriptor& matrix, bool transposed, uint32_t first, uint32_t count) {
    uint64_t rows[4 * kMatrixRows];
    for (uint32_t reg = 0; reg < 2 * count; ++reg) {
      const uint32_t piece = reg / count;
      const uint32_t row = first + reg % count * kMatrixRows;
      for (uint32_t i = 0; i < kMatrixRows; ++i) {
        const uint64_t address = transposed
                                     ? matrix.MnMajor(row / kMatrixRows, piece * kMatrixRows + i)
                                     : matrix.KMajor(row + i, piece);
        rows[reg * kMatrixRows + i] = block.shared_host + address;
      }
    }
    kernels.load_rows(rows, 2 * count, transposed, registers);
  }
};

}  // namespace

const MatrixKernels* FindMatrixKernels(CpuLevel cpu) {
#if defined(__x86_64__)
  if (cpu == CpuLevel::kAvx512) return &isa_avx512::kMatrixKernels;
  if (cpu == CpuLevel::kAvx2) return &isa_avx2::kMatrixKernels;
#endif
  return nullptr;
}

void Runner::Multiply(const MatrixInfo* info, void* const* registers) {
  const math::MmaPlan& plan = *info->plan;
  void* const* a = registers + plan.fragment(math::MmaRole::kD).registers;
  void* const* b = a + plan.fragment(math::MmaRole::kA).registers;
  void* const* c = b + plan.fragment(math::MmaRole::kB).registers;
  plan.Run(a, b, c, registers);
}

// wgmma of one warp: 16 rows of a, by as many tiles as b has. Each tile of b is needed once.
bool Runner::MultiplyShared(jit::BlockContext* block, jit::WarpContext* context,
                            const WgmmaInfo* info, uint64_t a, uint64_t b, bool add,
                            void* const* registers) {
  static const MatrixKernels& kernels = *FindMatrixKernels(DetectCpu());
  static constexpr uint32_t kWarpRows = 16;
  static constexpr uint32_t kMostDepth = 32;
  alignas(64) static constexpr std::byte kZeros[kRegisterBytes] = {};
  static constexpr const void* kNothing[4] = {kZeros, kZeros, kZeros, kZeros};
  const auto type_a = FloatType(info->a);
  const auto type_b = FloatType(info->b);
  if (!type_a || !type_b || info->d == ptx::Type::kS32) return false;
  const bool half = info->d == ptx::Type::kF16;
  const MmaTile tile{.a = *type_a,
                     .b = *type_b,
                     .rows = kWarpRows,
                     .k = static_cast<uint32_t>(info->k),
                     .half_c = half,
                     .half_d = half};
  const MatrixDescriptor matrix_a(info->a_shared ? a : 0);
  const MatrixDescriptor matrix_b(b);
  if (matrix_a.base_offset != 0 || matrix_b.base_offset != 0) return false;
  const uint32_t first = context->warp_index % 4 * kWarpRows;
  const uint64_t end_a = info->a_shared ? matrix_a.End(info->transposed_a, first + kWarpRows) : 0;
  const uint64_t end_b = matrix_b.End(info->transposed_b, static_cast<uint32_t>(info->n));
  if (std::max(end_a, end_b) > block->shared_bytes) return false;
  const auto tiles = static_cast<uint32_t>(info->n) / kTileColumns;
  const uint32_t each = half ? 2 : 4;  // registers of a tile of d
  SharedFragment fragment;
  alignas(64) float left[kWarpRows * kMostDepth * kSpread];
  alignas(64) float right[kTileColumns * kMostDepth];
  if (info->a_shared) {
    fragment.Load(kernels, *block, matrix_a, info->transposed_a, first, 2);
    kernels.decode_a(tile, fragment.registers, left);
  } else {
    kernels.decode_a(tile, registers + tiles * each, left);
  }
  if (info->negate_a != info->negate_b) {
    for (uint32_t i = 0; i < DecodedA(tile); ++i) left[i] = -left[i];
  }
  for (uint32_t i = 0; i < tiles; ++i) {
    fragment.Load(kernels, *block, matrix_b, info->transposed_b, i * kTileColumns, 1);
    kernels.decode_b(tile, fragment.registers, right);
    void* const* d = registers + i * each;
    kernels.multiply(tile, left, right, add ? const_cast<const void* const*>(d) : kNothing, d);
  }
  return true;
}

// From an address to the host's, for all of [low, low + bytes). Nullopt: the handler must look.
std::optional<uint64_t> Runner::MatrixDelta(jit::BlockContext& block, Warp& w,
                                            const jit::MatrixAccess& access, uint64_t low,
                                            uint64_t bytes) {
  const Instruction& in = *access.instruction;
  const auto inside = [&](uint64_t begin, uint64_t size) {
    return low - begin < size && bytes <= size - (low - begin);
  };
  if (in.space == MemorySpace::kShared) {
    if (!inside(0, block.shared_bytes)) return std::nullopt;
    return block.shared_host;
  }
  if (in.space == MemorySpace::kGeneric && inside(block.shared_window, block.shared_bytes)) {
    return block.shared_host - block.shared_window;
  }
  jit::Site& site = block.sites[access.site];
  if (inside(site.low, site.limit)) return site.delta;
  if (!w.FindWindow(low, bytes) || (WritesMemory(in.op) && !w.window.writable)) {
    return std::nullopt;
  }
  site = {.low = w.window.low,
          .limit = w.window.high - w.window.low,
          .delta = static_cast<uint64_t>(w.window.delta)};
  return site.delta;
}

// Where such an access usually is, by one of its addresses: shared memory, or as the time before.
jit::Site Runner::LikelyPlace(const jit::BlockContext& block, const jit::MatrixAccess& access,
                              uint64_t address) {
  const MemorySpace space = access.instruction->space;
  const uint64_t window = space == MemorySpace::kShared ? 0 : block.shared_window;
  const bool shared = space == MemorySpace::kShared ||
                      (space == MemorySpace::kGeneric && address - window < block.shared_bytes);
  if (!shared) return block.sites[access.site];
  return {.low = window, .limit = block.shared_bytes, .delta = block.shared_host - window};
}

bool Runner::MatrixAccess(jit::BlockContext* block, jit::WarpContext* context,
                          const jit::MatrixAccess* access, const uint64_t* address, uint32_t stride,
                          void* const* registers) {
  static const MatrixKernels& kernels = *FindMatrixKernels(DetectCpu());
  const Instruction& in = *access->instruction;
  const bool write = WritesMemory(in.op);
  uint64_t rows[kMostRegisters * kMatrixRows];
  if (in.op == Op::kLdmatrix || in.op == Op::kStmatrix) {
    const uint32_t lanes = kMatrixRows * in.list_count;
    const auto access_rows = [&] {
      (write ? kernels.store_rows : kernels.load_rows)(rows, in.list_count,
                                                       access->info->transposed, registers);
      return true;
    };
    const jit::Site place = LikelyPlace(*block, *access, address[0]);
    if (kernels.translate_rows(address, lanes, place.low, place.limit, place.delta, rows)) {
      return access_rows();
    }
    uint64_t low = ~uint64_t{0};
    uint64_t high = 0;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < lanes; ++i) {
      low = std::min(low, address[i]);
      high = std::max(high, address[i]);
      bits |= address[i];
    }
    if (bits % kRowBytes != 0 || high > ~uint64_t{0} - kRowBytes) return false;
    const auto delta = MatrixDelta(*block, *context->warp, *access, low, high - low + kRowBytes);
    if (!delta) return false;
    for (uint32_t i = 0; i < lanes; ++i) rows[i] = address[i] + *delta;
    return access_rows();
  }
  const Fragment& fragment = FragmentOf(*access);
  if (fragment.bits < 8) return false;
  const auto bytes = static_cast<uint64_t>(fragment.bits / 8);
  const int registers_used = fragment.distinct > 0 ? fragment.distinct : fragment.registers;
  const bool row_major = access->info->row_major;
  const auto lines = static_cast<uint64_t>(row_major ? fragment.rows : fragment.cols);
  const auto length = static_cast<uint64_t>(row_major ? fragment.cols : fragment.rows);
  const uint64_t extent = ((lines - 1) * stride + length) * bytes;
  const uint64_t base = address[0];
  if (base % bytes != 0 || base > ~uint64_t{0} - extent) return false;
  const auto delta = MatrixDelta(*block, *context->warp, *access, base, extent);
  if (!delta) return false;
  const uint64_t host = base + *delta;
  if (fragment.bits == 16 && registers_used <= kMostRegisters) {
    const bool transposed = RowsOf(*access, host, stride, registers_used, rows);
    (write ? kernels.store_rows : kernels.load_rows)(rows, static_cast<uint32_t>(registers_used),
                                                     transposed, registers);
  } else {
    for (int reg = 0; reg < registers_used; ++reg) {
      for (int element = 0; element < fragment.per_register; ++element) {
        for (int lane = 0; lane < kWarpSize; ++lane) {
          const int index = (reg * fragment.per_register + element) * kWarpSize + lane;
          auto* place = reinterpret_cast<std::byte*>(
              host +
              static_cast<uint64_t>(math::WmmaBitOffset(fragment, index, row_major, stride)) / 8);
          std::byte* own = static_cast<std::byte*>(registers[reg]) +
                           lane * fragment.register_bits / 8 + element * fragment.bits / 8;
          if (write) {
            std::memcpy(place, own, bytes);
          } else {
            std::memcpy(own, place, bytes);
          }
        }
      }
    }
  }
  for (int reg = registers_used; !write && reg < fragment.registers; ++reg) {
    std::memcpy(registers[reg], registers[reg % registers_used],
                static_cast<size_t>(kWarpSize * fragment.register_bits / 8));
  }
  return true;
}

}  // namespace kernelsmith::vgpu
