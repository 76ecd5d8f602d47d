// Matrix products.
#pragma once

#include "tensor/tensor.h"

namespace kernelsmith {

// c[m, n] = a[m, k] · b[k, n], all row-major. On all cores.
template <typename T>
void Gemm(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c);

// [m, k] · [k, n], or with one leading batch dimension each.
template <typename T>
Tensor<T> MatMul(const Tensor<T>& a, const Tensor<T>& b);

// result[i] = the sum of n elements from x on, `stride` apart: pairwise, so that its error in float
// grows like log n.
template <typename T>
T SumOf(const T* x, int64_t n, int64_t stride);

}  // namespace kernelsmith
