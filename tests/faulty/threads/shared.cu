// Races in shared memory. See docs/testing.md, "Faulty kernels": X_bad has a defect at the marked
// line, X_good is its corrected twin. a holds 0, 1, 2 ...; b zeros; n is the number of threads.
#define KERNEL extern "C" __global__ void

// -- a word of another warp without a barrier
KERNEL reverse_bad(int* a, int* b, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  b[t] = s[n - 1 - t];  // EXPECT: race
}
KERNEL reverse_good(int* a, int* b, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  b[t] = s[n - 1 - t];
}

// -- a tree whose levels are not separated
KERNEL tree_bad(int* a, int* b, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = n / 2; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // EXPECT: race
  }
  if (t == 0) b[0] = s[0];
}
KERNEL tree_good(int* a, int* b, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = n / 2; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) b[0] = s[0];
}

// -- the tile is filled again while others still read it
KERNEL tile_again_bad(int* a, int* b, int n) {
  __shared__ int tile[128];
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[t] = a[i * n + t];  // EXPECT: race
    __syncthreads();
    for (int j = 0; j < 8; ++j) sum += tile[(t + 16 * j) % n];
  }
  b[t] = sum;
}
KERNEL tile_again_good(int* a, int* b, int n) {
  __shared__ int tile[128];
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[t] = a[i * n + t];
    __syncthreads();
    for (int j = 0; j < 8; ++j) sum += tile[(t + 16 * j) % n];
    __syncthreads();
  }
  b[t] = sum;
}

// -- lanes of a warp do not run in step
KERNEL lane_exchange_bad(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  b[t] = s[t ^ 1];  // EXPECT: race
}
KERNEL lane_exchange_good(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncwarp();
  b[t] = s[t ^ 1];
}

// -- the custom before Volta: volatile instead of __syncwarp
KERNEL volatile_warp_sum_bad(int* a, int* b, int) {
  __shared__ volatile int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  if (t < 16) {
    s[t] += s[t + 16];
    s[t] += s[t + 8];  // EXPECT: race
    s[t] += s[t + 4];
  }
  if (t == 0) b[0] = s[0];
}
KERNEL volatile_warp_sum_good(int* a, int* b, int) {
  __shared__ volatile int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 16; d >= 4; d /= 2) {
    int sum = 0;
    if (t < d) sum = s[t] + s[t + d];
    __syncthreads();
    if (t < d) s[t] = sum;
    __syncthreads();
  }
  if (t == 0) b[0] = s[0];
}

// -- a shuffle brings lanes together but orders no memory
KERNEL shuffle_is_no_fence_bad(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  const int x = __shfl_xor_sync(0xffffffff, t, 1);
  b[t] = s[x];  // EXPECT: race
}
KERNEL shuffle_is_no_fence_good(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  const int x = __shfl_xor_sync(0xffffffff, t, 1);
  __syncwarp();
  b[t] = s[x];
}

// -- __syncwarp of half a warp, data of the other half
KERNEL half_mask_bad(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncwarp((t & 16) ? 0xffff0000 : 0x0000ffff);
  b[t] = s[t ^ 16];  // EXPECT: race
}
KERNEL half_mask_good(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncwarp((t & 16) ? 0xffff0000 : 0x0000ffff);
  b[t] = s[t ^ 15];
}

// -- two halves of the block with a barrier each
KERNEL own_barriers_bad(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  if (t < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  b[t] = s[t ^ 64];  // EXPECT: race
}
KERNEL own_barriers_good(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  if (t < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  b[t] = s[t ^ 32];
}

// -- the producer writes behind its arrival
KERNEL after_arrive_bad(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t < 64) {
    asm volatile("bar.arrive 1, 128;" ::: "memory");
    s[t] = a[t];
  } else {
    asm volatile("bar.sync 1, 128;" ::: "memory");
    b[t] = s[t - 64];  // EXPECT: race
  }
}
KERNEL after_arrive_good(int* a, int* b, int) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  if (t < 64) {
    s[t] = a[t];
    asm volatile("bar.arrive 1, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 128;" ::: "memory");
    b[t] = s[t - 64];
  }
}

// -- two arrays that overlap
KERNEL overlap_bad(int* a, int* b, int n) {
  __shared__ int pool[256];
  int* first = pool;
  int* second = pool + n / 2;
  const int t = threadIdx.x;
  first[t] = a[t];
  second[t] = a[n + t];  // EXPECT: race
  b[t] = first[t] + second[t];
}
KERNEL overlap_good(int* a, int* b, int n) {
  __shared__ int pool[256];
  int* first = pool;
  int* second = pool + n;
  const int t = threadIdx.x;
  first[t] = a[t];
  second[t] = a[n + t];
  b[t] = first[t] + second[t];
}

// -- a counter without atomics
KERNEL counter_bad(int* a, int* b, int) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (a[threadIdx.x] % 3 == 0) count++;  // EXPECT: race
  __syncthreads();
  if (threadIdx.x == 0) b[0] = count;
}
KERNEL counter_good(int* a, int* b, int) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (a[threadIdx.x] % 3 == 0) atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x == 0) b[0] = count;
}

KERNEL histogram_bad(int* a, int* b, int) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  bins[a[threadIdx.x] % 16] += 1;  // EXPECT: race
  __syncthreads();
  if (threadIdx.x < 16) b[threadIdx.x] = bins[threadIdx.x];
}
KERNEL histogram_good(int* a, int* b, int) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[a[threadIdx.x] % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) b[threadIdx.x] = bins[threadIdx.x];
}

// -- what thread 0 found, for all
KERNEL broadcast_bad(int* a, int* b, int) {
  __shared__ int found;
  if (threadIdx.x == 0) found = a[5];
  b[threadIdx.x] = found;  // EXPECT: race
}
KERNEL broadcast_good(int* a, int* b, int) {
  __shared__ int found;
  if (threadIdx.x == 0) found = a[5];
  __syncthreads();
  b[threadIdx.x] = found;
}

// -- two buffers, but a barrier only every second step
KERNEL double_buffer_bad(int* a, int* b, int n) {
  __shared__ int s[2][128];
  const int t = threadIdx.x;
  int sum = 0;
  s[0][t] = a[t];
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    sum += s[i % 2][n - 1 - t];                                // EXPECT: race
    s[(i + 1) % 2][t] = a[(i + 1) * n + t];
    if (i % 2 == 1) __syncthreads();
  }
  b[t] = sum;
}
KERNEL double_buffer_good(int* a, int* b, int n) {
  __shared__ int s[2][128];
  const int t = threadIdx.x;
  int sum = 0;
  s[0][t] = a[t];
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    sum += s[i % 2][n - 1 - t];
    s[(i + 1) % 2][t] = a[(i + 1) * n + t];
    __syncthreads();
  }
  b[t] = sum;
}

// -- bytes of one word
KERNEL bytes_bad(int* a, int* b, int) {
  __shared__ __align__(4) unsigned char s[512];
  const int t = threadIdx.x;
  s[t] = static_cast<unsigned char>(a[t]);
  __syncwarp();
  b[t] = *reinterpret_cast<int*>(s + (t * 4) % 128);  // EXPECT: race
}
KERNEL bytes_good(int* a, int* b, int) {
  __shared__ __align__(4) unsigned char s[512];
  const int t = threadIdx.x;
  s[t] = static_cast<unsigned char>(a[t]);
  __syncwarp();
  b[t] = s[t ^ 1];
}

// -- vectors over the words of neighbours
KERNEL vector_bad(int* a, int* b, int) {
  __shared__ __align__(16) int s[512];
  const int t = threadIdx.x;
  reinterpret_cast<int4*>(s)[t] = reinterpret_cast<const int4*>(a)[t];
  b[t] = s[t];  // EXPECT: race
}
KERNEL vector_good(int* a, int* b, int) {
  __shared__ __align__(16) int s[512];
  const int t = threadIdx.x;
  reinterpret_cast<int4*>(s)[t] = reinterpret_cast<const int4*>(a)[t];
  __syncthreads();
  b[t] = s[t];
}

// -- atomics, then an ordinary read
KERNEL atomic_then_read_bad(int* a, int* b, int) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, a[threadIdx.x]);
  b[threadIdx.x] = sum;  // EXPECT: race
}
KERNEL atomic_then_read_good(int* a, int* b, int) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, a[threadIdx.x]);
  __syncthreads();
  b[threadIdx.x] = sum;
}

// -- a scan in place, with one barrier a step where two are needed
KERNEL scan_bad(int* a, int* b, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 1; d < n; d *= 2) {
    const int x = t >= d ? s[t - d] : 0;
    s[t] += x;  // EXPECT: race
    __syncthreads();
  }
  b[t] = s[t];
}
KERNEL scan_good(int* a, int* b, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 1; d < n; d *= 2) {
    const int x = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += x;
    __syncthreads();
  }
  b[t] = s[t];
}

// -- all write the same
KERNEL same_flag_bad(int* a, int* b, int) {
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  if (a[threadIdx.x] > 5) any = 1;  // EXPECT: race_same_value
  __syncthreads();
  b[threadIdx.x] = any;
}
KERNEL same_flag_good(int* a, int* b, int) {
  const int any = __syncthreads_or(a[threadIdx.x] > 5);
  b[threadIdx.x] = any;
}

KERNEL transpose_bad(int* a, int* b, int) {
  __shared__ int tile[8][17];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  tile[y][x] = a[threadIdx.x];
  b[threadIdx.x] = tile[threadIdx.x % 8][threadIdx.x / 8];  // EXPECT: race
}
KERNEL transpose_good(int* a, int* b, int) {
  __shared__ int tile[8][17];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  tile[y][x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = tile[threadIdx.x % 8][threadIdx.x / 8];
}

// -- warp sums: the last warp reads what the first lanes wrote
KERNEL warp_sums_bad(int* a, int* b, int n) {
  __shared__ int sums[32];
  int x = a[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
  if (threadIdx.x < 32) {
    x = threadIdx.x < n / 32 ? sums[threadIdx.x] : 0;  // EXPECT: race
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);
    if (threadIdx.x == 0) b[0] = x;
  }
}
KERNEL warp_sums_good(int* a, int* b, int n) {
  __shared__ int sums[32];
  int x = a[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x < 32) {
    x = threadIdx.x < n / 32 ? sums[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);
    if (threadIdx.x == 0) b[0] = x;
  }
}
