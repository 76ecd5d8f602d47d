#include <torch/extension.h>

template <typename scalar_t>
__global__ void diag_matmul_kernel(
    const torch::PackedTensorAccessor32<scalar_t, 1, torch::RestrictPtrTraits> a,
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> b,
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> c) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < b.size(0) && col < b.size(1)) c[row][col] = a[row] * b[row][col];
}

torch::Tensor diag_matmul(torch::Tensor a, torch::Tensor b) {
  auto c = torch::empty_like(b);
  const dim3 threads(32, 8);
  const dim3 blocks((b.size(1) + 31) / 32, (b.size(0) + 7) / 8);
  AT_DISPATCH_FLOATING_TYPES(b.type(), "diag_matmul", ([&] {
    diag_matmul_kernel<scalar_t><<<blocks, threads>>>(
        a.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>(),
        b.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        c.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
  }));
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &diag_matmul, "diag(A) @ B"); }
