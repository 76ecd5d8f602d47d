// Asynchronous copies, mbarrier, and results that depend on the order of threads. See shared.cu.
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>
#define KERNEL extern "C" __global__ void

KERNEL no_wait_bad(int* a, int* b, int) {
  __shared__ int s[128];
  __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  __syncthreads();
  b[threadIdx.x] = s[threadIdx.x];  // EXPECT: async_hazard
}
KERNEL no_wait_good(int* a, int* b, int) {
  __shared__ int s[128];
  __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  b[threadIdx.x] = s[threadIdx.x];
}
KERNEL wrong_group_bad(int* a, int* b, int) {
  __shared__ int s[2][128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][t], &a[t], 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&s[1][t], &a[128 + t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  b[t] = s[0][t] + s[1][t];  // EXPECT: async_hazard
}
KERNEL wrong_group_good(int* a, int* b, int) {
  __shared__ int s[2][128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][t], &a[t], 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&s[1][t], &a[128 + t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  const int first = s[0][t];
  __pipeline_wait_prior(0);
  b[t] = first + s[1][t];
}
KERNEL no_barrier_bad(int* a, int* b, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &a[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  b[t] = s[n - 1 - t];  // EXPECT: async_hazard
}
KERNEL no_barrier_good(int* a, int* b, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &a[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  b[t] = s[n - 1 - t];
}
// The buffer is filled again while other warps read it.
KERNEL refill_bad(int* a, int* b, int n) {
  __shared__ int s[2][128];
  const int t = threadIdx.x;
  int sum = 0;
  __pipeline_memcpy_async(&s[0][t], &a[t], 4);
  __pipeline_commit();
  for (int i = 0; i < 4; ++i) {
    __pipeline_memcpy_async(&s[(i + 1) % 2][t], &a[(i + 1) * n + t], 4);  // EXPECT: async_hazard
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[i % 2][n - 1 - t];
  }
  __pipeline_wait_prior(0);
  b[t] = sum;
}
KERNEL refill_good(int* a, int* b, int n) {
  __shared__ int s[2][128];
  const int t = threadIdx.x;
  int sum = 0;
  __pipeline_memcpy_async(&s[0][t], &a[t], 4);
  __pipeline_commit();
  for (int i = 0; i < 4; ++i) {
    __pipeline_memcpy_async(&s[(i + 1) % 2][t], &a[(i + 1) * n + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[i % 2][n - 1 - t];
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  b[t] = sum;
}
KERNEL wide_copy_bad(int* a, int* b, int) {
  __shared__ __align__(16) int s[512];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * t], &a[4 * t], 16);
  __pipeline_commit();
  s[4 * t + 2] = 0;  // EXPECT: async_hazard
  __pipeline_wait_prior(0);
  b[t] = s[4 * t + 2];
}
KERNEL wide_copy_good(int* a, int* b, int) {
  __shared__ __align__(16) int s[512];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * t], &a[4 * t], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  s[4 * t + 2] = 0;
  b[t] = s[4 * t + 2];
}

// -- mbarrier
KERNEL mbarrier_bad(int* a, int* b, int n) {
  __shared__ __mbarrier_t barrier;
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&barrier, n);
  __syncthreads();
  s[t] = a[t];
  __mbarrier_arrive(&barrier);
  b[t] = s[n - 1 - t];  // EXPECT: race
}
KERNEL mbarrier_good(int* a, int* b, int n) {
  __shared__ __mbarrier_t barrier;
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&barrier, n);
  __syncthreads();
  s[t] = a[t];
  const __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  while (!__mbarrier_test_wait(&barrier, token)) {
  }
  b[t] = s[n - 1 - t];
}
// Nobody waits until the barrier itself is ready.
KERNEL mbarrier_init_bad(int* a, int* b, int n) {
  __shared__ __mbarrier_t barrier;
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&barrier, n);
  s[t] = a[t];
  const __mbarrier_token_t token = __mbarrier_arrive(&barrier);  // EXPECT: race
  while (!__mbarrier_test_wait(&barrier, token)) {
  }
  b[t] = s[n - 1 - t];
}
KERNEL mbarrier_init_good(int* a, int* b, int n) {
  __shared__ __mbarrier_t barrier;
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&barrier, n);
  __syncthreads();
  s[t] = a[t];
  const __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  while (!__mbarrier_test_wait(&barrier, token)) {
  }
  __syncthreads();
  b[t] = s[n - 1 - t];
}
KERNEL mbarrier_count_bad(int* a, int* b, int n) {
  __shared__ __mbarrier_t barrier;
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&barrier, n + 1);
  __syncthreads();
  const __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  while (!__mbarrier_test_wait(&barrier, token)) {  // EXPECT: livelock
  }
  b[t] = a[t];
}
KERNEL mbarrier_count_good(int* a, int* b, int n) {
  __shared__ __mbarrier_t barrier;
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&barrier, n);
  __syncthreads();
  const __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  while (!__mbarrier_test_wait(&barrier, token)) {
  }
  b[t] = a[t];
}
// A copy that arrives when it is done.
KERNEL copy_arrives_bad(int* a, int* b, int n) {
  __shared__ __mbarrier_t barrier;
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&barrier, n);
  __syncthreads();
  __pipeline_memcpy_async(&s[t], &a[t], 4);
  const __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  while (!__mbarrier_test_wait(&barrier, token)) {
  }
  b[t] = s[n - 1 - t];  // EXPECT: async_hazard
}
KERNEL copy_arrives_good(int* a, int* b, int n) {
  __shared__ __mbarrier_t barrier;
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&barrier, n);
  __syncthreads();
  __pipeline_memcpy_async(&s[t], &a[t], 4);
  __pipeline_arrive_on(&barrier);
  const __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  while (!__mbarrier_test_wait(&barrier, token)) {
  }
  b[t] = s[n - 1 - t];
}

// -- the order of threads
// LAUNCH: 4
KERNEL float_sum_bad(int* a, int* b, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(reinterpret_cast<float*>(b), 1.0f / (1 + a[i]));  // EXPECT: nondeterministic
}
KERNEL float_sum_good(int* a, int* b, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(b, (1 << 20) / (1 + a[i]));
}
KERNEL compaction_bad(int* a, int* b, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (a[i] % 3 == 0) b[1 + atomicAdd(b, 1)] = a[i];  // EXPECT: nondeterministic
}
KERNEL compaction_good(int* a, int* b, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (a[i] % 3 == 0) b[a[i] / 3] = a[i];
}
KERNEL last_writer_bad(int* a, int* b, int) {
  atomicExch(b, a[blockIdx.x * blockDim.x + threadIdx.x]);  // EXPECT: nondeterministic
}
KERNEL last_writer_good(int* a, int* b, int) {
  atomicMax(b, a[blockIdx.x * blockDim.x + threadIdx.x]);
}
KERNEL first_comer_bad(int* a, int* b, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicCAS(b, 0, 1 + a[i]);  // EXPECT: nondeterministic
}
KERNEL first_comer_good(int* a, int* b, int) {
  if (atomicAdd(b, 1) == 4 * blockDim.x - 1) atomicExch(b + 1, 7);
}
