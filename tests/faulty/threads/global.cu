// Races in global memory, within and between blocks. See shared.cu for the form.
// LAUNCH: 4
#include <cooperative_groups.h>
#define KERNEL extern "C" __global__ void
#define GLOBAL_ID (blockIdx.x * blockDim.x + threadIdx.x)

// -- the word of a neighbour block
KERNEL edge_bad(int* a, int* b, int) {
  const int i = GLOBAL_ID;
  b[i] = a[i];
  if (i > 0) b[i - 1] += 1;  // EXPECT: race
}
KERNEL edge_good(int* a, int* b, int) {
  const int i = GLOBAL_ID;
  b[i] = a[i] + 1;
}

// -- ranges of blocks that overlap by one
KERNEL ranges_bad(int* a, int* b, int n) {
  for (int i = threadIdx.x; i <= n; i += n) {
    b[blockIdx.x * n + i] = a[i] + blockIdx.x;  // EXPECT: race
  }
}
KERNEL ranges_good(int* a, int* b, int n) {
  for (int i = threadIdx.x; i < n; i += n) b[blockIdx.x * n + i] = a[i] + blockIdx.x;
}

KERNEL count_bad(int* a, int* b, int) {
  if (a[GLOBAL_ID] % 2 == 0) b[0] = b[0] + 1;  // EXPECT: race
}
KERNEL count_good(int* a, int* b, int) {
  if (a[GLOBAL_ID] % 2 == 0) atomicAdd(&b[0], 1);
}

// -- the result of another block, in the same kernel
KERNEL other_block_bad(int* a, int* b, int n) {
  b[GLOBAL_ID] = a[GLOBAL_ID];
  const int other = (blockIdx.x + 1) % gridDim.x;
  b[4096 + GLOBAL_ID] = b[other * n + threadIdx.x];  // EXPECT: race
}
KERNEL other_block_good(int* a, int* b, int n) {
  b[GLOBAL_ID] = a[GLOBAL_ID];
  const int other = (blockIdx.x + 1) % gridDim.x;
  b[4096 + GLOBAL_ID] = a[other * n + threadIdx.x];
}

// -- __syncthreads orders one block only
KERNEL block_barrier_bad(int* a, int* b, int n) {
  b[GLOBAL_ID] = a[GLOBAL_ID];
  __syncthreads();
  b[4096 + GLOBAL_ID] = b[gridDim.x * n - 1 - GLOBAL_ID];  // EXPECT: race
}
KERNEL block_barrier_good(int* a, int* b, int n) {
  b[GLOBAL_ID] = a[GLOBAL_ID];
  __syncthreads();
  b[4096 + GLOBAL_ID] = b[blockIdx.x * n + n - 1 - threadIdx.x];
}

// -- the same within a block, through global memory
KERNEL in_block_bad(int* a, int* b, int n) {
  b[GLOBAL_ID] = a[GLOBAL_ID];
  b[4096 + GLOBAL_ID] = b[blockIdx.x * n + n - 1 - threadIdx.x];  // EXPECT: race
}
KERNEL in_block_good(int* a, int* b, int n) {
  b[GLOBAL_ID] = a[GLOBAL_ID];
  __syncthreads();
  b[4096 + GLOBAL_ID] = b[blockIdx.x * n + n - 1 - threadIdx.x];
}

// -- atomics and plain reads
KERNEL sum_then_read_bad(int* a, int* b, int) {
  atomicAdd(&b[0], a[GLOBAL_ID]);
  __syncthreads();
  if (threadIdx.x == 0) b[64 + blockIdx.x] = b[0];  // EXPECT: race
}
KERNEL sum_then_read_good(int* a, int* b, int) {
  atomicAdd(&b[blockIdx.x], a[GLOBAL_ID]);
  __syncthreads();
  if (threadIdx.x == 0) b[64 + blockIdx.x] = b[blockIdx.x];
}

// -- atomics whose scope is the block
KERNEL block_scope_bad(int* a, int* b, int) {
  atomicAdd_block(&b[0], a[GLOBAL_ID]);  // EXPECT: race
}
KERNEL block_scope_good(int* a, int* b, int) {
  atomicAdd_block(&b[blockIdx.x], a[GLOBAL_ID]);
}

// -- a flag between blocks
__device__ void Wait(int* flag) {
  while (*reinterpret_cast<volatile int*>(flag) == 0) {
  }
}
KERNEL flag_without_fence_bad(int* a, int* b, int) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[64] = a[7];
    *reinterpret_cast<volatile int*>(b) = 1;
  } else {
    Wait(b);
    b[65] = b[64];  // EXPECT: race
  }
}
KERNEL flag_without_fence_good(int* a, int* b, int) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[64] = a[7];
    __threadfence();
    *reinterpret_cast<volatile int*>(b) = 1;
  } else {
    Wait(b);
    __threadfence();
    b[65] = b[64];
  }
}
KERNEL flag_reader_without_fence_bad(int* a, int* b, int) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[64] = a[7];
    __threadfence();
    atomicExch(&b[0], 1);
  } else {
    Wait(b);
    b[65] = b[64];  // EXPECT: race
  }
}
KERNEL flag_reader_without_fence_good(int* a, int* b, int) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[64] = a[7];
    __threadfence();
    atomicExch(&b[0], 1);
  } else {
    while (atomicAdd(&b[0], 0) == 0) {
    }
    __threadfence();
    b[65] = b[64];
  }
}
KERNEL narrow_fence_bad(int* a, int* b, int) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[64] = a[7];
    __threadfence_block();
    *reinterpret_cast<volatile int*>(b) = 1;
  } else {
    Wait(b);
    __threadfence_block();
    b[65] = b[64];  // EXPECT: race
  }
}
KERNEL narrow_fence_good(int* a, int* b, int) {
  if (blockIdx.x != 0) return;
  if (threadIdx.x == 0) {
    b[64] = a[7];
    __threadfence_block();
    *reinterpret_cast<volatile int*>(b) = 1;
  } else if (threadIdx.x == 64) {
    Wait(b);
    __threadfence_block();
    b[65] = b[64];
  }
}
KERNEL release_acquire_bad(int* a, int* b, int) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[64] = a[7];
    asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(b) : "memory");
  } else {
    int seen = 0;
    while (seen == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(b) : "memory");
    b[65] = b[64];  // EXPECT: race
  }
}
KERNEL release_acquire_good(int* a, int* b, int) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[64] = a[7];
    asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(b) : "memory");
  } else {
    int seen = 0;
    while (seen == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(b) : "memory");
    b[65] = b[64];
  }
}

// -- the last block sums up
KERNEL last_block_bad(int* a, int* b, int) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    b[64 + blockIdx.x] = a[blockIdx.x];
    last = atomicAdd(&b[0], 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) atomicAdd(&b[1], b[64 + threadIdx.x]);  // EXPECT: race
}
KERNEL last_block_good(int* a, int* b, int) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    b[64 + blockIdx.x] = a[blockIdx.x];
    __threadfence();
    last = atomicAdd(&b[0], 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) atomicAdd(&b[1], b[64 + threadIdx.x]);
}
// All threads write, fence, meet; then one takes the ticket.
KERNEL last_block_all_bad(int* a, int* b, int n) {
  __shared__ bool last;
  b[64 + GLOBAL_ID] = a[GLOBAL_ID];
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&b[0], 1) == gridDim.x - 1;
  __syncthreads();
  if (last) b[2048 + threadIdx.x] = b[64 + threadIdx.x] + b[64 + n + threadIdx.x];  // EXPECT: race
}
KERNEL last_block_all_good(int* a, int* b, int n) {
  __shared__ bool last;
  b[64 + GLOBAL_ID] = a[GLOBAL_ID];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&b[0], 1) == gridDim.x - 1;
  __syncthreads();
  if (last) b[2048 + threadIdx.x] = b[64 + threadIdx.x] + b[64 + n + threadIdx.x];
}

// -- an atomic made of compare-and-swap, as CUDA's guide does it; the plain store beside it is wrong
__device__ void AtomicMaxBySwap(int* at, int value) {
  int old = *at, assumed;
  do {
    assumed = old;
    old = atomicCAS(at, assumed, max(value, assumed));
  } while (assumed != old);
}
KERNEL swap_bad(int* a, int* b, int) {
  AtomicMaxBySwap(&b[0], a[GLOBAL_ID]);
  if (threadIdx.x == 0) b[0] = 0;  // EXPECT: race
}
KERNEL swap_good(int* a, int* b, int) { AtomicMaxBySwap(&b[0], a[GLOBAL_ID]); }

// -- the counter of the tickets, set back by the last block
KERNEL reset_bad(int* a, int* b, int) {
  if (threadIdx.x != 0) return;
  const int ticket = atomicAdd(&b[0], 1);
  b[64 + ticket] = a[0];
  b[0] = 0;  // EXPECT: race
}
KERNEL reset_good(int* a, int* b, int) {
  if (threadIdx.x != 0) return;
  const int ticket = atomicAdd(&b[0], 1);
  b[64 + ticket] = a[0];
  if (ticket == gridDim.x - 1) b[0] = 0;
}

// -- a lock
KERNEL lock_bad(int* a, int* b, int) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&b[0], 0, 1) != 0) {
  }
  b[1] += a[blockIdx.x];  // EXPECT: race
  atomicExch(&b[0], 0);
}
KERNEL lock_good(int* a, int* b, int) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&b[0], 0, 1) != 0) {
  }
  __threadfence();
  b[1] += a[blockIdx.x];
  __threadfence();
  atomicExch(&b[0], 0);
}
// Lanes of a warp that take it one after the other.
KERNEL lane_lock_bad(int* a, int* b, int) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&b[0], 0, 1) == 0) {
      b[1] += a[GLOBAL_ID];  // EXPECT: race
      atomicExch(&b[0], 0);
      done = true;
    }
  }
}
KERNEL lane_lock_good(int* a, int* b, int) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&b[0], 0, 1) == 0) {
      __threadfence();
      b[1] += a[GLOBAL_ID];
      __threadfence();
      atomicExch(&b[0], 0);
      done = true;
    }
  }
}

// -- a chain: each block adds to what the block before it passes on
KERNEL chain_bad(int* a, int* b, int) {
  if (threadIdx.x != 0) return;
  int sum = a[blockIdx.x];
  if (blockIdx.x > 0) {
    Wait(&b[blockIdx.x - 1]);
    sum += b[64 + blockIdx.x - 1];  // EXPECT: race
  }
  b[64 + blockIdx.x] = sum;
  atomicExch(&b[blockIdx.x], 1);
}
KERNEL chain_good(int* a, int* b, int) {
  if (threadIdx.x != 0) return;
  int sum = a[blockIdx.x];
  if (blockIdx.x > 0) {
    Wait(&b[blockIdx.x - 1]);
    __threadfence();
    sum += b[64 + blockIdx.x - 1];
  }
  b[64 + blockIdx.x] = sum;
  __threadfence();
  atomicExch(&b[blockIdx.x], 1);
}

// -- a stencil in place
KERNEL stencil_bad(int* a, int* b, int) {
  const int i = GLOBAL_ID + 1;
  a[i] = (a[i - 1] + a[i + 1]) / 2;  // EXPECT: race
}
KERNEL stencil_good(int* a, int* b, int) {
  const int i = GLOBAL_ID + 1;
  b[i] = (a[i - 1] + a[i + 1]) / 2;
}

// -- bytes
KERNEL global_bytes_bad(int* a, int* b, int) {
  auto* bytes = reinterpret_cast<unsigned char*>(b);
  bytes[GLOBAL_ID] = static_cast<unsigned char>(a[GLOBAL_ID]);
  bytes[GLOBAL_ID / 2] = 1;  // EXPECT: race
}
KERNEL global_bytes_good(int* a, int* b, int) {
  auto* bytes = reinterpret_cast<unsigned char*>(b);
  bytes[GLOBAL_ID] = static_cast<unsigned char>(a[GLOBAL_ID]);
}

KERNEL same_value_bad(int* a, int* b, int) {
  if (a[GLOBAL_ID] > 3) b[0] = 1;  // EXPECT: race_same_value
}
KERNEL same_value_good(int* a, int* b, int) {
  if (a[GLOBAL_ID] > 3) atomicOr(&b[0], 1);
}

// -- the grid's barrier
// LAUNCH: 4 cooperative
KERNEL grid_sync_bad(int* a, int* b, int n) {
  b[GLOBAL_ID] = a[GLOBAL_ID];
  cooperative_groups::this_thread_block().sync();
  b[4096 + GLOBAL_ID] = b[gridDim.x * n - 1 - GLOBAL_ID];  // EXPECT: race
}
KERNEL grid_sync_good(int* a, int* b, int n) {
  b[GLOBAL_ID] = a[GLOBAL_ID];
  cooperative_groups::this_grid().sync();
  b[4096 + GLOBAL_ID] = b[gridDim.x * n - 1 - GLOBAL_ID];
  cooperative_groups::this_grid().sync();
  b[GLOBAL_ID] = 0;
}
