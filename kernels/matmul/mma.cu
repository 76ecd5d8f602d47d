// Forward, bfloat16: mma.sync.m16n8k16 by inline PTX, fragments gathered from shared memory by
// hand.
#include <cuda_bf16.h>
#include <torch/extension.h>

constexpr int kM = 16, kN = 8, kK = 16;

__device__ unsigned Pack(__nv_bfloat16 low, __nv_bfloat16 high) {
  return (unsigned)__bfloat16_as_ushort(high) << 16 | __bfloat16_as_ushort(low);
}

__global__ void MatmulMma(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                          __nv_bfloat16* __restrict__ c, int m, int n, int k) {
  __shared__ __nv_bfloat16 as[kM][kK];
  __shared__ __nv_bfloat16 bs[kK][kN];
  const int lane = threadIdx.x;
  const int group = lane / 4, pair = lane % 4 * 2;
  const int row0 = blockIdx.y * kM, column0 = blockIdx.x * kN;
  const __nv_bfloat16 zero = __float2bfloat16(0.0f);
  float d[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < k; k0 += kK) {
    for (int e = lane; e < kM * kK; e += 32) {
      const int r = e / kK, q = e % kK;
      as[r][q] = row0 + r < m && k0 + q < k ? a[(size_t)(row0 + r) * k + k0 + q] : zero;
    }
    for (int e = lane; e < kK * kN; e += 32) {
      const int r = e / kN, q = e % kN;
      bs[r][q] = k0 + r < k && column0 + q < n ? b[(size_t)(k0 + r) * n + column0 + q] : zero;
    }
    __syncthreads();
    const unsigned a0 = Pack(as[group][pair], as[group][pair + 1]);
    const unsigned a1 = Pack(as[group + 8][pair], as[group + 8][pair + 1]);
    const unsigned a2 = Pack(as[group][pair + 8], as[group][pair + 9]);
    const unsigned a3 = Pack(as[group + 8][pair + 8], as[group + 8][pair + 9]);
    const unsigned b0 = Pack(bs[pair][group], bs[pair + 1][group]);
    const unsigned b1 = Pack(bs[pair + 8][group], bs[pair + 9][group]);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = row0 + group + (i / 2) * 8;
    const int column = column0 + pair + i % 2;
    if (row < m && column < n) c[(size_t)row * n + column] = __float2bfloat16(d[i]);
  }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.scalar_type() == torch::kBFloat16);
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::empty({m, n}, a.options());
  MatmulMma<<<dim3((n + kN - 1) / kN, (m + kM - 1) / kM), 32>>>(
      reinterpret_cast<const __nv_bfloat16*>(a.data_ptr<at::BFloat16>()),
      reinterpret_cast<const __nv_bfloat16*>(b.data_ptr<at::BFloat16>()),
      reinterpret_cast<__nv_bfloat16*>(c.data_ptr<at::BFloat16>()), m, n, k);
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
