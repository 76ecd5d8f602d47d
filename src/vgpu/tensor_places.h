// Where PyTorch's allocator puts tensors, as far as code can count on it: at multiples of 512 bytes
// in blocks that begin at multiples of 2 MiB.
#pragma once

#include <cstdint>

namespace kernelsmith::vgpu {

inline constexpr uint64_t kTensorAlignment = 512;
inline constexpr uint64_t kTensorBlock = uint64_t{2} << 20;

}  // namespace kernelsmith::vgpu
