// Accesses that leave one shared array for the next, values of lanes that do not take part, and
// writes to what is loaded as read-only, each with twins that look like it and are right.
// NVCC: -g -lineinfo -std=c++17
// RUN: (%kernelsmith sanitize %x right; %kernelsmith sanitize %x wrong) 2>&1 | grep -E '^(error|warning|note|kernelsmith):'
// OUT:
// | kernelsmith: 0 errors, 0 warnings
// | error: out_of_bounds: read of 4 bytes at offset {{128|-64}} of the shared array ArrayWrong(int*, int)::middle (128 bytes), which is in the shared array ArrayWrong(int*, int)::{{high|low}}
// | error: shuffle_mask: a lane that does not take part is read; the host copies what comes of it
// | error: write_to_readonly: memory is written that the same kernel loads as read-only (ld.global.nc, __ldg): such a load may give the old value
// | kernelsmith: 3 errors, 0 warnings
#include <cstdio>
#include <cstring>

// The arrays have the order of their declarations or the opposite one: below and above of `middle`
// there is another one in any case.
__global__ void ArrayWrong(int* out, int by) {
  __shared__ int low[32], middle[32], high[32];
  const int t = threadIdx.x;
  low[t] = high[t] = middle[t] = t;
  __syncthreads();
  out[t] = middle[t + by] + low[31 - t] + high[31 - t];
}

__device__ __noinline__ int Sum(const int* a, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i];
  return sum;
}

// Pointers that are one or the other, differences, casts of one dynamic array to several types,
// pointers one past the end, and functions that get the address of an array.
__global__ void ArrayRight(int* out, int n) {
  extern __shared__ float dynamic[];
  __shared__ int a[32], b[32];
  const int t = threadIdx.x;
  int* ints = reinterpret_cast<int*>(dynamic + n);
  double* doubles = reinterpret_cast<double*>(ints + n);
  dynamic[t] = t;
  ints[t] = t;
  doubles[t] = t;
  a[t] = t;
  b[t] = 2 * t;
  __syncthreads();
  int* from = a;
  int* to = b;
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    to[t] += from[31 - t];
    __syncthreads();
    int* other = from;
    from = to;
    to = other;
  }
  const auto distance = (b - a) * (n > 1000 ? 2 : 1);
  sum += (a + distance)[t];
  for (const int* p = a; p != a + 32; ++p) sum += *p;
  for (int i = 31; i >= 0; --i) sum -= a[i];
  out[t] = sum + Sum(b, 32) + ints[31 - t] + static_cast<int>(doubles[31 - t] + dynamic[31 - t]);
}

__global__ void LaneWrong(int* out, int n) {
  const int t = threadIdx.x;
  if (t < n) {
    const int other = __shfl_down_sync((1u << n) - 1, t, 4);
    out[t] = other;
  }
}

// The largest of a partial warp with its place; what the upper lanes get is thrown away.
__global__ void LaneRight(const float* x, int* out, int n) {
  const int t = threadIdx.x;
  if (t < n) {
    float best = x[t];
    int place = t;
    for (int d = 8; d > 0; d /= 2) {
      const float other = __shfl_down_sync((1u << n) - 1, best, d);
      const int other_place = __shfl_down_sync((1u << n) - 1, place, d);
      if (t + d < n && other > best) {
        best = other;
        place = other_place;
      }
    }
    int sum = t;
    for (int d = 8; d > 0; d /= 2) sum += __shfl_down_sync((1u << n) - 1, sum, d);
    if (t == 0) out[0] = place + sum;
  }
}

__global__ void ReadOnlyWrong(const int* x, int* y) {
  const int t = threadIdx.x;
  y[t] = t;
  __syncthreads();
  y[t + 64] = __ldg(x + t);
}

// The same allocation, other bytes.
__global__ void ReadOnlyRight(const int* x, int* y) {
  const int t = threadIdx.x;
  y[t] = __ldg(x + t) + 1;
}

int main(int argc, char** argv) {
  const bool wrong = argc > 1 && std::strcmp(argv[1], "wrong") == 0;
  int* a = nullptr;
  int host[256] = {};
  cudaMalloc(&a, sizeof host);
  cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
  if (wrong) {
    ArrayWrong<<<1, 32>>>(a, 16);
    ArrayWrong<<<1, 32>>>(a, -16);
    LaneWrong<<<1, 32>>>(a + 64, 20);
    cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost);
    ReadOnlyWrong<<<1, 32>>>(a, a);
  } else {
    ArrayRight<<<1, 32, 512>>>(a, 32);
    LaneRight<<<1, 32>>>(reinterpret_cast<float*>(a), a + 64, 16);
    ReadOnlyRight<<<1, 32>>>(a, a + 32);
  }
  cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(a);
  std::puts(cudaGetLastError() == cudaSuccess ? "done" : "failed");
  return 0;
}
