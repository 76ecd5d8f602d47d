// What compiled code calls for matrix instructions beside the kernels of matrix_kernels.h.

#include <algorithm>
#include <cstring>

#include "vgpu/matrix_kernels.h"
#include "vgpu/op_facts.h"
#include "vgpu/runner.h"

namespace kernelsmith::vgpu {

namespace {

using math::Fragment;

constexpr uint32_t kRowBytes = 16;  // of an 8 x 8 matrix of 16-bit elements
constexpr int kMostRegisters = 8;   // of a fragment that is made of such matrices
constexpr uint32_t kMatrixRows = 8;

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

bool Runner::MatrixAccess(jit::BlockContext* block, jit::WarpContext* context,
                          const jit::MatrixAccess* access, const uint64_t* address, uint32_t stride,
                          void* const* registers) {
  static const MatrixKernels& kernels = *FindMatrixKernels(DetectCpu());
  const Instruction& in = *access->instruction;
  const bool write = WritesMemory(in.op);
  uint64_t rows[kMostRegisters * kMatrixRows];
  if (in.op == Op::kLdmatrix || in.op == Op::kStmatrix) {
    const uint32_t lanes = kMatrixRows * in.list_count;
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
    (write ? kernels.store_rows : kernels.load_rows)(rows, in.list_count, access->info->transposed,
                                                     registers);
    return true;
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
