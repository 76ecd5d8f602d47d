// Our form of a CUtensorMap: what cuTensorMapEncodeTiled makes and cp.async.bulk.tensor reads.
// NVIDIA's is opaque; programs only pass its 128 bytes on.
#pragma once

#include <cstdint>

namespace kernelsmith::vgpu {

struct TensorMap {
  static constexpr uint32_t kMagic = 0x6b73746d;

  enum class Element : uint8_t {  // CUtensorMapDataType
    kU8,
    kU16,
    kU32,
    kS32,
    kU64,
    kS64,
    kF16,
    kF32,
    kF64,
    kBF16,
    kF32Ftz,
    kTF32,
    kTF32Ftz,
  };

  uint32_t magic = kMagic;
  Element element = Element::kU8;
  uint8_t rank = 1;
  uint8_t swizzle = 0;  // 0 none, 1: 32 bytes, 2: 64, 3: 128
  uint8_t fill_nan = 0;
  uint64_t address = 0;
  uint64_t stride[4] = {};  // bytes, of dimensions 1 and up
  uint64_t size[5] = {};    // elements, the fastest dimension first
  uint16_t box[5] = {};
  uint8_t step[5] = {};  // elements between those that are taken

  uint32_t ElementBytes() const {
    switch (element) {
      case Element::kU8:
        return 1;
      case Element::kU16:
      case Element::kF16:
      case Element::kBF16:
        return 2;
      case Element::kU64:
      case Element::kS64:
      case Element::kF64:
        return 8;
      default:
        return 4;
    }
  }
  // Elements of the box along a dimension.
  uint32_t Count(int dimension) const {
    return (box[dimension] + step[dimension] - 1u) / step[dimension];
  }
};
static_assert(sizeof(TensorMap) <= 128);

// The 16-byte pieces of shared memory are swapped so that columns fall into different banks:
// address bits 7 and up are added (xor) to bits 4 and up. The same for tensor copies and for wgmma.
inline uint64_t Swizzled(uint64_t address, uint32_t mode) {
  return address ^ ((address >> 7 & ((1u << mode) - 1)) << 4);
}

}  // namespace kernelsmith::vgpu
