// What a person sees; the shares are of PTX instructions, which compilers change.
// NVCC:
// RUN: %kernelsmith profile --kernel half %x
// OUT:
// | half_a_warp  grid 2 x 1 x 1, block 32 x 1 x 1
// |   all 2 blocks watched; counts are exact
// |   instructions  {{[0-9]+}} of warps, {{2[0-9.]+}} of 32 lanes active
// | {{.*integer .* %.*}}
// |   divergence    2 of 2 branches part lanes (100.0 %)
// |   global stores 2 requests, 1.00 sectors each; 128 B asked for, 64 B moved
// |   footprint     32 B distinct (32 B read, 32 B written), each byte used 4.0 times
// |   caches        L1 serves 0.0 % of loads, L2 50.0 % of the rest; 32 B from and 32 B to memory (model)
// |   shared memory 4 requests, 1.50 passes where 1 would do (bank conflicts), worst 2-way; 384 B moved
// |   atomics       2 requests of 32 lanes; lanes take 16.0 turns on average, 16 at worst; 100.0 % of all go to one address
// |   barriers      2 arrivals of warps, 1.0 a warp
// |   occupancy     50 %: 32 blocks an SM, limited by blocks; {{[0-9]+}} registers (ptxas), 256 B of shared memory
// |   arithmetic    0 flops, 0.00 for each byte from or to memory
// |   time          1.16 us estimated, limited by the launch itself: there is too little work
#include <cuda_runtime.h>

__global__ void half_a_warp(int* out) {
  __shared__ int box[64];
  box[threadIdx.x * 2] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(out, box[threadIdx.x]);
}

int main() {
  int* out = nullptr;
  if (cudaMalloc(&out, 4) != cudaSuccess) return 1;
  half_a_warp<<<2, 32>>>(out);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
