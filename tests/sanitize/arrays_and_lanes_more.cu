// Harder cases of arrays_and_lanes.cu: wide accesses across the end of an array, atomics, static
// arrays below dynamic memory; undefined lanes as an index, through shared memory, thrown away;
// kernels in place, vectors of read-only loads, atomics on what is loaded.
// NVCC: -g -lineinfo -std=c++17
// RUN: for mode in wide atomic below struct index stored in_place vector counter; do echo $mode; %kernelsmith sanitize --check memory,init,sync %x $mode 2>&1 | grep -E '^(error|warning|note):'; done; true
// OUT:
// | wide
// | error: out_of_bounds: read of 16 bytes at offset 112 of the shared array WideWrong(float*, int)::first (120 bytes), which is in {{no array|the shared array .*}}
// | error: uninitialized_read: shared memory that was never written is read; the host copies what comes of it
// | atomic
// | error: out_of_bounds: atomic update of 4 bytes at offset 128 of the shared array AtomicWrong(int*, int)::counts (128 bytes), which is in the shared array AtomicWrong(int*, int)::{{high|low}}
// | below
// | error: out_of_bounds: read of 4 bytes at offset -64 of the shared array dynamic (dynamic shared memory), which is in the shared array BelowWrong(int*, int)::fixed
// | struct
// | index
// | error: shuffle_mask: an address depends on what a shuffle read from a lane that does not take part
// | stored
// | in_place
// | warning: write_to_readonly: memory is written that the same kernel loads as read-only (ld.global.nc, __ldg)
// | vector
// | error: write_to_readonly: memory is written that the same kernel loads as read-only (ld.global.nc, __ldg): such a load may give the old value
// | warning: write_to_readonly: memory is written that the same kernel loads as read-only (ld.global.nc, __ldg)
// | counter
// | warning: write_to_readonly: memory is written that the same kernel loads as read-only (ld.global.nc, __ldg)
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void WideWrong(float* out, int at) {
  __shared__ __align__(16) float first[30];
  __shared__ __align__(16) float second[32];
  const int t = threadIdx.x;
  if (t < 30) first[t] = t;
  second[t] = t;
  __syncthreads();
  const float4 v = *reinterpret_cast<const float4*>(first + at);
  out[t] = v.x + v.y + v.z + v.w + second[31 - t];
}

__global__ void AtomicWrong(int* out, int bins) {
  __shared__ int low[32], counts[32], high[32];
  const int t = threadIdx.x;
  low[t] = counts[t] = high[t] = 0;
  __syncthreads();
  atomicAdd(&counts[t * bins], 1);
  __syncthreads();
  out[t] = low[t] + counts[t] + high[t];
}

__global__ void BelowWrong(int* out, int by) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[32];
  const int t = threadIdx.x;
  fixed[t] = dynamic[t] = t;
  __syncthreads();
  out[t] = dynamic[t - by] + fixed[31 - t];
}

// Members of one struct are one variable: a walk over both arrays stays inside of it.
__global__ void StructRight(int* out, int n) {
  __shared__ struct { int a[32], b[32]; } s;
  __shared__ int other[32];
  const int t = threadIdx.x;
  s.a[t] = s.b[t] = other[t] = t;
  __syncthreads();
  const int* all = reinterpret_cast<const int*>(&s);
  int sum = 0;
  for (int i = 0; i < 2 * n; ++i) sum += all[i];
  out[t] = sum + other[31 - t];
}

__global__ void IndexWrong(int* out, int n) {
  const int t = threadIdx.x;
  if (t < n) {
    const int other = __shfl_down_sync((1u << n) - 1, t, 4);
    out[other & 31] = t;
  }
}

// Undefined sums go to shared memory, and only those that count are read again.
__global__ void StoredRight(int* out, int n) {
  __shared__ int sums[32];
  const int t = threadIdx.x;
  sums[t] = 0;
  __syncwarp();
  if (t < n) sums[t] = __shfl_down_sync((1u << n) - 1, t, 4);
  __syncwarp();
  if (t < n - 4) out[t] = sums[t];
}

__global__ void InPlace(const float* __restrict__ x, float* __restrict__ y) {
  y[threadIdx.x] = x[threadIdx.x] + 1;
}

__global__ void VectorWrong(const int* x, int* y) {
  const int t = threadIdx.x;
  y[4 * t + 3] = t;
  __syncthreads();
  const int4 v = __ldg(reinterpret_cast<const int4*>(x) + t);
  y[4 * t] = v.w;
}

__global__ void CounterWrong(const int* x, int* y) {
  const int seen = __ldg(x + threadIdx.x);
  atomicAdd(y + threadIdx.x, seen + 1);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(mode, name) == 0; };
  int* a = nullptr;
  int host[256] = {};
  cudaMalloc(&a, sizeof host);
  cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
  float* f = reinterpret_cast<float*>(a);
  if (is("wide")) WideWrong<<<1, 32>>>(f, 28);
  if (is("atomic")) AtomicWrong<<<1, 32>>>(a, 2);
  if (is("below")) BelowWrong<<<1, 32, 128>>>(a, 16);
  if (is("struct")) StructRight<<<1, 32>>>(a, 32);
  if (is("index")) IndexWrong<<<1, 32>>>(a, 20);
  if (is("stored")) StoredRight<<<1, 32>>>(a, 20);
  if (is("in_place")) InPlace<<<1, 32>>>(f, f);
  if (is("vector")) VectorWrong<<<1, 32>>>(a, a);
  if (is("counter")) CounterWrong<<<1, 32>>>(a, a);
  cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(a);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
