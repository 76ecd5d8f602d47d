// Counts that can be worked out by hand, through the front door.
// NVCC:
// RUN: %kernelsmith profile --blocks 0 --json -o %t %x
// RUN: %python %S/known_counts.py %t
#include <cuda_runtime.h>

#include <cstdio>

// 256 warps read 4 sectors twice and write 4.
__global__ void add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

// Reads of stride 32 touch 32 sectors.
__global__ void column(const float* a, float* out) {
  out[threadIdx.x] = a[threadIdx.x * 32];
}

// Misaligned by one float: 5 sectors.
__global__ void misaligned(const float* a, float* out) { out[threadIdx.x] = a[threadIdx.x + 1]; }

__global__ void wide(const float4* a, float4* out) { out[threadIdx.x] = a[threadIdx.x]; }

// The column of a tile: 32-way conflicts, none once it is padded.
template <int kPitch>
__global__ void transpose(const float* a, float* out) {
  __shared__ float tile[32][kPitch];
  tile[threadIdx.y][threadIdx.x] = a[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void count(int* total) { atomicAdd(total + (threadIdx.x & 0), 1); }

// 64 x 64 x 64: 2 * 64^3 operations.
__global__ void matmul(const float* a, const float* b, float* c) {
  constexpr int kTile = 16;
  constexpr int kSize = 64;
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kSize; k += kTile) {
    left[threadIdx.y][threadIdx.x] = a[row * kSize + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * kSize + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}

int main() {
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  for (float** each : {&a, &b, &c}) {
    if (cudaMalloc(each, 8192 * sizeof(float)) != cudaSuccess) return 1;
    if (cudaMemset(*each, 0, 8192 * sizeof(float)) != cudaSuccess) return 1;
  }
  add<<<32, 256>>>(a, b, c, 8192);
  column<<<1, 32>>>(a, c);
  misaligned<<<1, 32>>>(a, c);
  wide<<<1, 32>>>(reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(c));
  transpose<32><<<1, dim3(32, 32)>>>(a, c);
  transpose<33><<<1, dim3(32, 32)>>>(a, c);
  matmul<<<dim3(4, 4), dim3(16, 16)>>>(a, b, c);
  count<<<4, 64>>>(reinterpret_cast<int*>(c));
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  return 0;
}
