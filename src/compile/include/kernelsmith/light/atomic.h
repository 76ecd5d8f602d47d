// gpuAtomicAdd for every element type.
#pragma once

#include "all.h"

template <typename T>
__device__ inline T gpuAtomicAdd(T* address, T value) {
  if constexpr (std::is_same_v<T, c10::Half>) {
    return c10::Half(atomicAdd(reinterpret_cast<__half*>(address), static_cast<__half>(value)));
  } else if constexpr (std::is_same_v<T, c10::BFloat16>) {
    return c10::BFloat16(
        atomicAdd(reinterpret_cast<__nv_bfloat16*>(address), static_cast<__nv_bfloat16>(value)));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<T>(atomicAdd(reinterpret_cast<unsigned long long*>(address),
                                    static_cast<unsigned long long>(value)));
  } else {
    return atomicAdd(address, value);
  }
}
template <typename T>
__device__ inline void gpuAtomicAddNoReturn(T* address, T value) {
  gpuAtomicAdd(address, value);
}
namespace at::native {
template <typename T>
__device__ inline void fastAtomicAdd(T* tensor, size_t index, size_t, T value, bool) {
  gpuAtomicAdd(tensor + index, value);
}
}  // namespace at::native
