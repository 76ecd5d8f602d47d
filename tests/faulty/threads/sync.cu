// Barriers, masks, deadlock, livelock. See shared.cu for the form.
#define KERNEL extern "C" __global__ void

// -- part of the block
KERNEL half_block_bad(int* a, int* b, int n) {
  if (threadIdx.x < n / 2) {
    __syncthreads();  // EXPECT: barrier_divergence
  }
  b[threadIdx.x] = a[threadIdx.x];
}
KERNEL half_block_good(int* a, int* b, int n) {
  __syncthreads();
  if (threadIdx.x < n / 2) b[threadIdx.x] = a[threadIdx.x];
}
KERNEL half_warp_bad(int* a, int* b, int) {
  if (threadIdx.x % 32 < 16) {
    __syncthreads();  // EXPECT: barrier_divergence
  }
  b[threadIdx.x] = a[threadIdx.x];
}
KERNEL half_warp_good(int* a, int* b, int) {
  int x = 0;
  if (threadIdx.x % 32 < 16) x = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = x;
}
KERNEL by_data_bad(int* a, int* b, int) {
  if (a[threadIdx.x] % 7 != 3) {
    b[threadIdx.x] = 1;
    __syncthreads();  // EXPECT: barrier_divergence
  }
  b[threadIdx.x + 128] = a[threadIdx.x];
}
KERNEL by_data_good(int* a, int* b, int) {
  if (a[threadIdx.x] % 7 != 3) b[threadIdx.x] = 1;
  __syncthreads();
  b[threadIdx.x + 128] = a[threadIdx.x];
}
// Threads that have exited count as arrived on GPUs; the guide forbids it.
KERNEL exited_bad(int* a, int* b, int n) {
  __shared__ int s[128];
  if (threadIdx.x >= n - 28) return;
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();  // EXPECT: barrier_divergence
  b[threadIdx.x] = s[(threadIdx.x + 1) % (n - 28)];
}
KERNEL exited_good(int* a, int* b, int n) {
  __shared__ int s[128];
  if (threadIdx.x < n - 28) s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n - 28) b[threadIdx.x] = s[(threadIdx.x + 1) % (n - 28)];
}

// -- different barriers
KERNEL both_branches_bad(int* a, int* b, int n) {
  if (threadIdx.x < n / 2) {
    b[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
  } else {
    b[threadIdx.x] = 1;
    __syncthreads();  // EXPECT: barrier_divergence
  }
  b[threadIdx.x + 128] = b[n - 1 - threadIdx.x];
}
KERNEL both_branches_good(int* a, int* b, int n) {
  if (threadIdx.x < n / 2) {
    b[threadIdx.x] = a[threadIdx.x];
  } else {
    b[threadIdx.x] = 1;
  }
  __syncthreads();
  b[threadIdx.x + 128] = b[n - 1 - threadIdx.x];
}
KERNEL loop_count_bad(int* a, int* b, int) {
  const int rounds = 1 + threadIdx.x / 32;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    b[threadIdx.x] += a[i];
    __syncthreads();  // EXPECT: barrier_divergence
  }
  b[threadIdx.x + 128] = 1;
}
KERNEL loop_count_good(int* a, int* b, int n) {
  const int rounds = 1 + threadIdx.x / 32;
#pragma unroll 1
  for (int i = 0; i < n / 32; ++i) {
    if (i < rounds) b[threadIdx.x] += a[i];
    __syncthreads();
  }
  b[threadIdx.x + 128] = 1;
}
KERNEL switch_bad(int* a, int* b, int) {
  switch (threadIdx.x / 64) {
    case 0:
      b[threadIdx.x] = a[0];
      __syncthreads();
      break;
    default:
      b[threadIdx.x] = a[1];
      __syncthreads();  // EXPECT: barrier_divergence
      b[threadIdx.x] += 1;
      break;
  }
}
KERNEL switch_good(int* a, int* b, int) {
  switch (blockIdx.x) {
    case 0:
      b[threadIdx.x] = a[0];
      __syncthreads();
      break;
    default:
      b[threadIdx.x] = a[1];
      __syncthreads();
      b[threadIdx.x] += 1;
      break;
  }
}
KERNEL counts_differ_bad(int* a, int* b, int) {
  if (threadIdx.x < 64) {
    asm volatile("bar.sync 3, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 64;" ::: "memory");  // EXPECT: barrier_divergence
  }
  b[threadIdx.x] = a[threadIdx.x];
}
KERNEL counts_differ_good(int* a, int* b, int) {
  if (threadIdx.x < 64) {
    asm volatile("bar.sync 3, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");
  }
  b[threadIdx.x] = a[threadIdx.x];
}

// -- masks
KERNEL not_in_mask_bad(int* a, int* b, int) {
  b[threadIdx.x] = __shfl_sync(0x0000ffff, a[threadIdx.x], 3);  // EXPECT: shuffle_mask
}
KERNEL not_in_mask_good(int* a, int* b, int) {
  b[threadIdx.x] = __shfl_sync(0xffffffff, a[threadIdx.x], 3);
}
KERNEL full_mask_in_branch_bad(int* a, int* b, int) {
  int x = a[threadIdx.x];
  if (threadIdx.x % 32 < 16) {
    x += __shfl_xor_sync(0xffffffff, x, 1);  // EXPECT: shuffle_mask
  }
  b[threadIdx.x] = x;
}
KERNEL full_mask_in_branch_good(int* a, int* b, int) {
  int x = a[threadIdx.x];
  if (threadIdx.x % 32 < 16) {
    x += __shfl_xor_sync(0x0000ffff, x, 1);
  }
  b[threadIdx.x] = x;
}
KERNEL inactive_source_bad(int* a, int* b, int) {
  int x = a[threadIdx.x];
  if (threadIdx.x % 32 < 16) {
    x += __shfl_sync(0x0000ffff, x, 20);  // EXPECT: shuffle_mask
  }
  b[threadIdx.x] = x;
}
KERNEL inactive_source_good(int* a, int* b, int) {
  int x = a[threadIdx.x];
  const int from = __shfl_sync(0xffffffff, x, 20);
  if (threadIdx.x % 32 < 16) x += from;
  b[threadIdx.x] = x;
}
// The block's last warp has 16 threads.
// LAUNCH: 1x48
KERNEL partial_warp_bad(int* a, int* b, int) {
  int x = a[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);  // EXPECT: shuffle_mask
  if (threadIdx.x % 32 == 0) b[threadIdx.x / 32] = x;
}
KERNEL partial_warp_good(int* a, int* b, int) {
  int x = a[threadIdx.x];
  const unsigned mask = __activemask();
  const int lane = threadIdx.x % 32, count = __popc(mask);
  for (int d = 16; d > 0; d /= 2) {
    const int y = __shfl_down_sync(mask, x, d);
    if (lane + d < count) x += y;
  }
  if (lane == 0) b[threadIdx.x / 32] = x;
}
// LAUNCH: 1
KERNEL masks_differ_bad(int* a, int* b, int) {
  const unsigned mask = threadIdx.x % 32 < 8 ? 0xffffffff : 0xffffff00;
  b[threadIdx.x] = __shfl_sync(mask, a[threadIdx.x], 9);  // EXPECT: shuffle_mask
}
KERNEL masks_differ_good(int* a, int* b, int) {
  const unsigned mask = threadIdx.x % 32 < 8 ? 0x000000ff : 0xffffff00;
  b[threadIdx.x] = __shfl_sync(mask, a[threadIdx.x], threadIdx.x % 32 < 8 ? 3 : 9);
}
KERNEL vote_in_branch_bad(int* a, int* b, int) {
  if (a[threadIdx.x] % 2 == 0) {
    b[threadIdx.x] = __ballot_sync(0xffffffff, a[threadIdx.x] % 3 == 0);  // EXPECT: shuffle_mask
  } else {
    b[threadIdx.x] = 7;
  }
}
KERNEL vote_in_branch_good(int* a, int* b, int) {
  const unsigned votes = __ballot_sync(0xffffffff, a[threadIdx.x] % 3 == 0);
  if (a[threadIdx.x] % 2 == 0) {
    b[threadIdx.x] = votes;
  } else {
    b[threadIdx.x] = 7;
  }
}
KERNEL syncwarp_in_branch_bad(int* a, int* b, int) {
  __shared__ int s[128];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  if (threadIdx.x % 32 < 8) {
    __syncwarp();  // EXPECT: shuffle_mask
    b[threadIdx.x] = s[threadIdx.x ^ 1];
  } else {
    b[threadIdx.x] = 1;
    b[threadIdx.x + 128] = 2;
  }
  b[threadIdx.x + 256] = 3;
}
KERNEL syncwarp_in_branch_good(int* a, int* b, int) {
  __shared__ int s[128];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  if (threadIdx.x % 32 < 8) {
    __syncwarp(0xff);
    b[threadIdx.x] = s[threadIdx.x ^ 1];
  } else {
    b[threadIdx.x] = 1;
    b[threadIdx.x + 128] = 2;
  }
  b[threadIdx.x + 256] = 3;
}

// -- deadlock
KERNEL two_barriers_bad(int* a, int* b, int) {
  if (threadIdx.x < 64) {
    asm volatile("bar.sync 1, 128;" ::: "memory");  // EXPECT: deadlock
  } else {
    asm volatile("bar.sync 2, 128;" ::: "memory");
  }
  b[threadIdx.x] = a[threadIdx.x];
}
KERNEL two_barriers_good(int* a, int* b, int) {
  if (threadIdx.x < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  b[threadIdx.x] = a[threadIdx.x];
}
KERNEL too_many_bad(int* a, int* b, int) {
  b[threadIdx.x] = a[threadIdx.x];
  asm volatile("bar.sync 1, 256;" ::: "memory");  // EXPECT: deadlock
}
KERNEL too_many_good(int* a, int* b, int) {
  b[threadIdx.x] = a[threadIdx.x];
  asm volatile("bar.sync 1, 128;" ::: "memory");
}
KERNEL crossed_bad(int* a, int* b, int) {
  if (threadIdx.x < 64) {
    asm volatile("bar.sync 1, 128;" ::: "memory");  // EXPECT: deadlock
    asm volatile("bar.arrive 2, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 128;" ::: "memory");
    asm volatile("bar.arrive 1, 128;" ::: "memory");
  }
  b[threadIdx.x] = a[threadIdx.x];
}
KERNEL crossed_good(int* a, int* b, int) {
  if (threadIdx.x < 64) {
    asm volatile("bar.arrive 2, 128;" ::: "memory");
    asm volatile("bar.sync 1, 128;" ::: "memory");
  } else {
    asm volatile("bar.arrive 1, 128;" ::: "memory");
    asm volatile("bar.sync 2, 128;" ::: "memory");
  }
  b[threadIdx.x] = a[threadIdx.x];
}

// -- livelock
KERNEL never_set_bad(int* a, int* b, int) {
  volatile int* flag = b;
  if (threadIdx.x == 0) b[1] = a[0];
  while (*flag == 0) {  // EXPECT: livelock
  }
}
KERNEL never_set_good(int* a, int* b, int) {
  volatile int* flag = b;
  if (threadIdx.x == 0) {
    b[1] = a[1];
    atomicExch(&b[0], 1);
  }
  while (*flag == 0) {
  }
}
KERNEL never_unlocked_bad(int* a, int* b, int) {
  if (threadIdx.x % 32 != 0) return;
  while (atomicCAS(&b[0], 0, 1) != 0) {  // EXPECT: livelock
  }
  __threadfence();
  b[1] += a[threadIdx.x];
}
KERNEL never_unlocked_good(int* a, int* b, int) {
  if (threadIdx.x % 32 != 0) return;
  while (atomicCAS(&b[0], 0, 1) != 0) {
  }
  __threadfence();
  b[1] += a[threadIdx.x];
  __threadfence();
  atomicExch(&b[0], 0);
}
// Two locks, taken in opposite orders; each holder waits for the other.
KERNEL two_locks_bad(int* a, int* b, int) {
  if (threadIdx.x % 64 != 0) return;
  const int first = threadIdx.x / 64, second = 1 - first;
  while (atomicCAS(&b[first], 0, 1) != 0) {
  }
  atomicAdd(&b[8], 1);
  while (*reinterpret_cast<volatile int*>(&b[8]) < 2) {
  }
  while (atomicCAS(&b[second], 0, 1) != 0) {  // EXPECT: livelock
  }
  atomicExch(&b[second], 0);
  atomicExch(&b[first], 0);
}
KERNEL two_locks_good(int* a, int* b, int) {
  if (threadIdx.x % 64 != 0) return;
  while (atomicCAS(&b[0], 0, 1) != 0) {
  }
  while (atomicCAS(&b[1], 0, 1) != 0) {
  }
  atomicAdd(&b[8], 1);
  atomicExch(&b[1], 0);
  atomicExch(&b[0], 0);
}
