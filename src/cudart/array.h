// cudaArray: what its handle stands for.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace kernelsmith::cudart {

struct Array {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  // texels; 0: no such dimension
  unsigned int flags = 0;
  size_t texel_bytes = 0;
  uint64_t address = 0;

  size_t height() const { return extent.height == 0 ? 1 : extent.height; }
  size_t depth() const { return extent.depth == 0 ? 1 : extent.depth; }  // or layers
  size_t pitch() const { return extent.width * texel_bytes; }
  size_t slice() const { return pitch() * height(); }
};

// Null: no such array.
const Array* FindArray(cudaArray_const_t handle);

}  // namespace kernelsmith::cudart
