// Warp-level matrices, asynchronous copies, cooperative groups, clusters, bit tricks, cache hints.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

namespace cg = cooperative_groups;
using namespace nvcuda;

template <int M, int N, int K, typename A, typename C>
__device__ void Multiply(const void* a, const void* b, void* c) {
  wmma::fragment<wmma::matrix_a, M, N, K, A, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, M, N, K, A, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, M, N, K, C> sum;
  wmma::fill_fragment(sum, C(0));
  using Stored = typename std::conditional<std::is_same<A, wmma::precision::tf32>::value, float, A>::type;
  wmma::load_matrix_sync(left, static_cast<const Stored*>(a), 16);
  wmma::load_matrix_sync(right, static_cast<const Stored*>(b), 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(static_cast<C*>(c), sum, 16, wmma::mem_row_major);
}

__global__ void Matrices(const void* a, const void* b, void* c) {
  Multiply<16, 16, 16, half, float>(a, b, c);
  Multiply<32, 8, 16, half, half>(a, b, c);
  Multiply<16, 16, 16, __nv_bfloat16, float>(a, b, c);
  Multiply<16, 16, 16, signed char, int>(a, b, c);
  Multiply<8, 8, 4, double, double>(a, b, c);
  Multiply<16, 16, 8, wmma::precision::tf32, float>(a, b, c);
}

__global__ void InlineAssembly(const half* a, unsigned* out) {
  __shared__ half tile[256];
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(tile)), r[4], d[4] = {0, 0, 0, 0};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
  asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address + 64));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[0]), "r"(r[1]));
  asm volatile(
      "{\n .reg .pred p;\n .reg .b32 t;\n setp.ne.b32 p, %1, 0;\n"
      " @p cp.async.cg.shared.global.L2::128B [%0], [%2], 16, 8;\n"
      "LOOP: @!p bra DONE;\n add.u32 t, %1, -1;\n setp.gt.and.u32 p, t, 0x10, p;\n bra.uni LOOP;\nDONE:\n}"
      :: "r"(address), "r"(d[0]), "l"(a));
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; @p mov.b32 %0, {%1, %2}; }"
               : "=r"(out[1]) : "h"((short)d[1]), "h"((short)d[2]));
  out[0] = d[0] + d[3];
}

__global__ void Groups(float* x, int n) {
  auto grid = cg::this_grid();
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  float v = cg::reduce(warp, x[grid.thread_rank()], cg::plus<float>());
  grid.sync();
  x[grid.thread_rank()] = v;
  auto labeled = cg::labeled_partition(warp, n & 3);
  x[1] = labeled.size() + cg::reduce(warp, n, cg::less<int>());
}

__global__ void Pipeline(const float4* in, float4* out) {
  __shared__ float4 stage[2][128];
  __pipeline_memcpy_async(&stage[0][threadIdx.x], in + threadIdx.x, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&stage[1][threadIdx.x], in + 128 + threadIdx.x, 16);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  out[threadIdx.x] = stage[0][127 - threadIdx.x];
}

__global__ void Bits(unsigned* a, unsigned long long* b, int* c) {
  const unsigned x = a[0];
  a[1] = __popc(x) + __clz(x) + __ffs(x) + __brev(x) + __byte_perm(x, x, 0x1234) +
         __funnelshift_l(x, x, 3) + __dp4a(x, x, 1u) + __vabsdiffu4(x, x) + __vsadu2(x, x);
  b[1] = __umul64hi(b[0], b[2]) + __popcll(b[0]) + __brevll(b[1]);
  c[2] = __usad(x, x, x) + __hadd(c[0], c[1]) + __mul24(3, c[0]) + __vimax3_s32(c[0], c[1], c[2]);
  __nanosleep(100);
  a[3] = __activemask() + __match_any_sync(~0u, x) + __reduce_add_sync(~0u, x) +
         __ballot_sync(~0u, x & 1) + __all_sync(~0u, x & 1);
  int agree;
  a[4] = __match_all_sync(~0u, x, &agree);
  a[7] = __syncthreads_count(x) + __syncthreads_or(x) + agree;
}

__global__ void Vectors(float4* a, half2* h, __nv_bfloat16* bf, double* d) {
  atomicAdd(a, a[1]);
  atomicAdd(h, h[1]);
  atomicAdd(bf, bf[1]);
  atomicAdd_block(d, d[1]);
  atomicInc(reinterpret_cast<unsigned*>(d), 4);
  __stcs(a, __ldcg(a + 1));
  __stwt(a + 4, __ldcv(a + 2));
  a[3] = __ldg(a + 9);
}

__global__ void __cluster_dims__(2, 1, 1) Cluster(int* x) {
  extern __shared__ int shared[];
  auto cluster = cg::this_cluster();
  shared[threadIdx.x] = cluster.block_rank();
  cluster.sync();
  x[threadIdx.x] = cluster.map_shared_rank(shared, cluster.block_rank() ^ 1)[threadIdx.x];
  cluster.sync();
}
