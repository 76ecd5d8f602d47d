// NVCC: -gencode arch=compute_90a,code=compute_90a
// RUN: %kernelsmith run %x
// Hopper's matrix pipeline: tensor copies (TMA) with each swizzle into shared memory that complete on
// an mbarrier, wgmma on descriptors of it (both operands row by row, or b transposed, or a in
// registers), and a tensor copy back. Edges outside the tensor are zero.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cudaTypedefs.h>

#include "../check.h"

constexpr int kM = 64, kN = 64;

__device__ unsigned Shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void Wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN_%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra AGAIN_%=;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ void Load(unsigned to, const CUtensorMap* map, int x, int y, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

__device__ unsigned long long Descriptor(unsigned address, unsigned leading, unsigned stride,
                                         unsigned mode) {
  return (unsigned long long)((address & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | (unsigned long long)mode << 62;
}

// d (64 x 8) += a b^T for 16 columns of k.
template <int kTransposeB>
__device__ void Mma(float d[4], unsigned long long a, unsigned long long b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, "
      "%7;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"(add), "n"(kTransposeB));
}
__device__ void MmaRegisters(float d[4], const unsigned a[4], unsigned long long b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, "
      "p, -1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

// One warp group; kWidth columns of k (32, 64 or 128 bytes), swizzled over all of them. kMode: the
// descriptor's number for that. a is [64][kWidth], b is [kN][kWidth] or, transposed, [kWidth][kN].
template <int kWidth, int kMode, bool kTransposed>
__global__ void Product(const __grid_constant__ CUtensorMap map_a,
                        const __grid_constant__ CUtensorMap map_b,
                        const __grid_constant__ CUtensorMap map_out, int x, int y) {
  __shared__ alignas(1024) __nv_bfloat16 a[kM * kWidth];
  __shared__ alignas(1024) __nv_bfloat16 b[kN * kWidth];
  __shared__ alignas(1024) float out[kM * kN];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned bar = Shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar),
                 "r"((kM + kN) * kWidth * 2)
                 : "memory");
    Load(Shared(a), &map_a, x, y, bar);
    Load(Shared(b), &map_b, kTransposed ? 0 : x, kTransposed ? x : 0, bar);
  }
  Wait(bar, 0);
  float d[kN / 8][4];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int block = 0; block < kN / 8; ++block) {
    for (int k = 0; k < kWidth; k += 16) {
      const unsigned long long da = Descriptor(Shared(a) + 2 * k, 16, 8 * 2 * kWidth, kMode);
      if (kTransposed) {
        // kN = 64 columns of 2 bytes are one swizzled row; groups of 8 rows are 1024 bytes apart.
        const unsigned long long db =
            Descriptor(Shared(b) + k * 2 * kN + block * 16, 8 * 2 * kN, 8 * 2 * kN, 1);
        Mma<1>(d[block], da, db, k > 0);
      } else {
        const unsigned long long db = Descriptor(Shared(b) + block * 8 * 2 * kWidth + 2 * k, 16,
                                                 8 * 2 * kWidth, kMode);
        Mma<0>(d[block], da, db, k > 0);
      }
    }
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  for (int block = 0; block < kN / 8; ++block) {
    for (int i = 0; i < 4; ++i) {
      out[(row + i / 2 * 8) * kN + block * 8 + threadIdx.x % 4 * 2 + i % 2] = d[block][i];
    }
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
            &map_out),
        "r"(0), "r"(y), "r"(Shared(out))
        : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

// a in registers, negated; b without swizzle: pieces of 8 rows of 16 bytes, 128 bytes apart.
__global__ void FromRegisters(const __nv_bfloat16* a, const __nv_bfloat16* b, float* out) {
  __shared__ alignas(128) __nv_bfloat16 pieces[2][8][8];
  pieces[threadIdx.x / 64][threadIdx.x / 8 % 8][threadIdx.x % 8] =
      b[threadIdx.x / 8 % 8 * 16 + threadIdx.x / 64 * 8 + threadIdx.x % 8];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  const int k = threadIdx.x % 4 * 2;
  unsigned registers[4];
  for (int i = 0; i < 4; ++i) {
    registers[i] = *(const unsigned*)(a + (row + i % 2 * 8) * 16 + k + i / 2 * 8);
  }
  float d[4] = {1, 2, 3, 4};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  MmaRegisters(d, registers, Descriptor(Shared(pieces), 128, 256, 0), 1);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) out[(row + i / 2 * 8) * 8 + k + i % 2] = d[i];
}

PFN_cuTensorMapEncodeTiled_v12000 Encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status;
  CUDA_OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &status));
  if (status != cudaDriverEntryPointSuccess) std::exit(3);
  return (PFN_cuTensorMapEncodeTiled_v12000)function;
}

CUtensorMap Map(CUtensorMapDataType type, int bytes, void* data, int rows, int columns, int box_rows,
                int box_columns, CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  const cuuint64_t size[2] = {(cuuint64_t)columns, (cuuint64_t)rows};
  const cuuint64_t stride[1] = {(cuuint64_t)columns * bytes};
  const cuuint32_t box[2] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows};
  const cuuint32_t step[2] = {1, 1};
  const CUresult result =
      Encoder()(&map, type, 2, data, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  Expect(result == CUDA_SUCCESS, "cuTensorMapEncodeTiled");
  return map;
}

// The matrices are larger than the tile, which hangs over their last rows.
template <int kWidth, int kMode, bool kTransposed>
void Test(CUtensorMapSwizzle swizzle, int x, int y) {
  constexpr int kRows = 100, kColumns = 256;
  std::vector<__nv_bfloat16> a(kRows * kColumns), b(kColumns * kN);
  Random random(7);
  for (auto& v : a) v = __float2bfloat16(float(int(random.Below(17)) - 8));
  for (auto& v : b) v = __float2bfloat16(float(int(random.Below(17)) - 8));
  DeviceArray<__nv_bfloat16> device_a(a), device_b(b);
  DeviceArray<float> out(std::vector<float>(kRows * kN, -1.0f));
  const auto bf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUtensorMap map_a = Map(bf16, 2, device_a.data(), kRows, kColumns, kM, kWidth, swizzle);
  // b is [kN][kColumns], or [kColumns][kN] transposed.
  const CUtensorMap map_b = kTransposed ? Map(bf16, 2, device_b.data(), kColumns, kN, kWidth, kN,
                                              CU_TENSOR_MAP_SWIZZLE_128B)
                                        : Map(bf16, 2, device_b.data(), kN, kColumns, kN, kWidth,
                                              swizzle);
  const CUtensorMap map_out = Map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, out.data(), kRows, kN, kM, kN,
                                  CU_TENSOR_MAP_SWIZZLE_NONE);
  Product<kWidth, kMode, kTransposed><<<1, 128>>>(map_a, map_b, map_out, x, y);
  LAUNCH_OK();
  const auto got = out.Get();
  int wrong = 0;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kN; ++j) {
      float expected = -1;
      if (i >= y && i < y + kM) {
        expected = 0;
        for (int k = x; k < x + kWidth; ++k) {
          expected += __bfloat162float(a[i * kColumns + k]) *
                      __bfloat162float(kTransposed ? b[k * kN + j] : b[j * kColumns + k]);
        }
      }
      wrong += got[i * kN + j] != expected;
    }
  }
  if (wrong != 0) std::printf("width %d, transposed %d: %d wrong\n", kWidth, kTransposed, wrong);
  Expect(wrong == 0, "the product");
}

int main() {
  Test<64, 1, false>(CU_TENSOR_MAP_SWIZZLE_128B, 64, 0);
  Test<64, 1, false>(CU_TENSOR_MAP_SWIZZLE_128B, 128, 50);
  Test<32, 2, false>(CU_TENSOR_MAP_SWIZZLE_64B, 32, 0);
  Test<16, 3, false>(CU_TENSOR_MAP_SWIZZLE_32B, 16, 36);
  Test<64, 1, true>(CU_TENSOR_MAP_SWIZZLE_128B, 64, 10);

  std::vector<__nv_bfloat16> a(64 * 16), b(8 * 16);
  for (int i = 0; i < 64 * 16; ++i) a[i] = __float2bfloat16(float(i % 13 - 6));
  for (int i = 0; i < 8 * 16; ++i) b[i] = __float2bfloat16(float(i % 7 - 3));
  DeviceArray<__nv_bfloat16> device_a(a), device_b(b);
  DeviceArray<float> out(64 * 8);
  FromRegisters<<<1, 128>>>(device_a.data(), device_b.data(), out.data());
  LAUNCH_OK();
  const auto got = out.Get();
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 8; ++j) {
      float expected = float(1 + j % 2 + i / 8 % 2 * 2);
      for (int k = 0; k < 16; ++k) {
        expected -= __bfloat162float(a[i * 16 + k]) * __bfloat162float(b[j * 16 + k]);
      }
      Expect(got[i * 8 + j] == expected, "a in registers, negated");
    }
  }
  return Finish();
}
