#pragma once
#include <kernelsmith/light/atomic.h>

#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                            \
  for (index_type i = static_cast<index_type>(blockIdx.x) * blockDim.x + threadIdx.x;      \
       i < (n); i += static_cast<index_type>(blockDim.x) * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
