// What wgmma's 64-bit descriptors say of a matrix in shared memory.
#pragma once

#include <cstdint>

#include "vgpu/tensor_map.h"

namespace kernelsmith::vgpu {

// A matrix in shared memory as the 64-bit descriptor says. Pieces of 8 rows of 16 bytes ("core
// matrices") lie `leading` and `stride` bytes apart; see the ISA's "Matrix Descriptor Format".
struct MatrixDescriptor {
  explicit MatrixDescriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        base_offset(static_cast<uint32_t>(bits >> 49 & 7)) {
    // 1 is 128 bytes, 3 is 32.
    const auto mode = static_cast<uint32_t>(bits >> 62);
    swizzle = mode == 0 ? 0 : 4 - mode;
  }

  // Byte address of the 16 bytes that hold (major, minor): minor runs along memory.
  uint64_t KMajor(uint32_t row, uint32_t piece) const {
    const uint64_t pitch = uint64_t{16} << swizzle;
    const uint64_t along = swizzle == 0 ? piece * leading : piece * uint64_t{16};
    return Swizzled(start + row % 8 * pitch + row / 8 * stride + along, swizzle);
  }
  uint64_t MnMajor(uint32_t piece, uint32_t k) const {
    const uint64_t pitch = uint64_t{16} << swizzle;
    const uint32_t width = 1u << swizzle;  // pieces side by side
    const uint64_t along =
        piece % width * uint64_t{16} + piece / width * (swizzle == 0 ? stride : leading);
    const uint64_t across = k % 8 * pitch + k / 8 * (swizzle == 0 ? leading : stride);
    return Swizzled(start + along + across, swizzle);
  }
  // One behind the last byte of `lines` rows (or columns, in b), or a little more.
  uint64_t End(bool transposed, uint32_t lines) const {
    constexpr uint64_t kPiece = 16;
    const uint64_t eights = lines / 8 - 1;
    const uint64_t pitch = kPiece << swizzle;
    uint64_t last = start + 7 * pitch;
    if (!transposed) {
      last += eights * stride + (swizzle == 0 ? leading : kPiece);
    } else {
      const uint64_t width = uint64_t{1} << swizzle;
      last += (eights < width ? eights : width - 1) * kPiece +
              eights / width * (swizzle == 0 ? stride : leading) +
              (swizzle == 0 ? leading : stride);
    }
    return (swizzle == 0 ? last : last | 0x70) + kPiece;
  }

  uint64_t start;
  uint64_t leading;
  uint64_t stride;
  uint32_t base_offset;
  uint32_t swizzle = 0;
};

}  // namespace kernelsmith::vgpu
