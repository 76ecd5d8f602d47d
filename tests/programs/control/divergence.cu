// NVCC:
// RUN: %kernelsmith run %x
// Control flow that takes lanes apart: nested branches, loops with break and continue, switch with
// fall through, goto into a common tail, early returns in loops, and collatz counts.
#include "../check.h"

__host__ __device__ int Nested(int x) {
  int r = 0;
  if (x & 1) {
    r += 1;
    if (x & 2) {
      r += 10;
      if (x & 4)
        r += 100;
      else
        r -= 7;
    } else {
      for (int i = 0; i < (x >> 3 & 3); ++i) r += i * 3;
    }
  } else if (x % 3 == 0) {
    r = x % 7 == 0 ? -x : x * 2;
  } else {
    while (r < x) r += 5 + (r & 3);
  }
  return r;
}

__host__ __device__ int Loops(int x) {
  int sum = 0;
  for (int i = 0; i < 40; ++i) {
    if ((x + i) % 5 == 0) continue;
    if (i * x % 37 == 11) break;
    for (int j = i; j < 60; j += x % 7 + 1) {
      if (j % 11 == x % 11) break;
      if (j & 1) continue;
      sum += j ^ i;
    }
    do {
      sum += 3;
    } while (sum % 4 != x % 4 && sum < 100000);
  }
  return sum;
}

__host__ __device__ int Switches(int x) {
  int state = x % 13, steps = 0, sum = 0;
  while (state != 12 && steps < 50) {
    switch (state) {
      case 0:
        sum += 1;
        state = 5;
        break;
      case 1:
        sum += 2;  // falls through
      case 2:
        sum += 4;
        state = x % 4 + 3;
        break;
      case 3:
        state = 9;
        break;
      case 4:
      case 5:
        sum *= 3;
        state = (state + x) % 13;
        break;
      case 6:
        if (x & 1) {
          state = 1;
          break;
        }  // falls through
      case 7:
        sum -= 5;
        state = 10;
        break;
      case 8:
        state = 12;
        break;
      case 9:
        sum ^= x;
        state = 11;
        break;
      case 10:
        state = steps > 20 ? 12 : 2;
        break;
      default:
        sum += state;
        state = (state * 5 + 3) % 13;
        break;
    }
    ++steps;
  }
  return sum * 64 + steps;
}

__host__ __device__ int Gotos(int x) {
  int r = x, rounds = 0;
again:
  if (++rounds > 30) goto out;
  if (r % 2 == 0) {
    r /= 2;
    if (r % 5 == 0) goto five;
    goto again;
  }
  r = r * 3 + 1;
  if (r > 5000) goto out;
  goto again;
five:
  r += 7;
  if (rounds < 20) goto again;
out:
  return r * 100 + rounds;
}

__host__ __device__ int FindFirst(const int* data, int n, int x) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      if (data[i] + data[j] == x) return i * 1000 + j;
    }
    if (data[i] == x) return -i;
  }
  return 1 << 30;
}

__host__ __device__ int Collatz(unsigned x) {
  int steps = 0;
  while (x > 1 && steps < 500) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    ++steps;
  }
  return steps;
}

constexpr int kColumns = 6;

__host__ __device__ void All(int x, const int* data, int n, int* out) {
  out[0] = Nested(x);
  out[1] = Loops(x);
  out[2] = Switches(x);
  out[3] = Gotos(x + 1);
  out[4] = FindFirst(data, n, x);
  out[5] = Collatz(x + 1);
}

__global__ void Kernel(const int* data, int n, int* out, int count) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= count) return;
  All(x, data, n, out + x * kColumns);
}

// After every divergent part the lanes meet again: a ballot of the whole warp proves it.
__global__ void Reconverge(unsigned* out) {
  const int lane = threadIdx.x;
  unsigned seen = 0;
  for (int round = 0; round < 8; ++round) {
    int spin = 0;
    if ((lane >> (round % 5)) & 1) {
      for (int i = 0; i < lane; ++i) spin += i;
    } else if (lane % 3 == 0) {
      spin = lane;
    }
    __syncwarp();
    seen ^= __ballot_sync(~0u, spin & 1) + round;
  }
  out[lane] = seen;
}

int main() {
  const int count = 300, n = 20;
  Random random(391);
  const std::vector<int> data = random.Ints(n, 0, 150);
  std::vector<int> want(count * kColumns);
  for (int x = 0; x < count; ++x) All(x, data.data(), n, &want[x * kColumns]);
  DeviceArray<int> ddata(data), out(count * kColumns);
  Kernel<<<(count + 63) / 64, 64>>>(ddata.data(), n, out.data(), count);
  LAUNCH_OK();
  ExpectEqual("control flow", out.Get(), want);

  unsigned seen = 0;
  for (int round = 0; round < 8; ++round) {
    unsigned ballot = 0;
    for (int lane = 0; lane < 32; ++lane) {
      int spin = 0;
      if ((lane >> (round % 5)) & 1) {
        spin = lane * (lane - 1) / 2;
      } else if (lane % 3 == 0) {
        spin = lane;
      }
      ballot |= (spin & 1u) << lane;
    }
    seen ^= ballot + round;
  }
  DeviceArray<unsigned> ballots(32);
  Reconverge<<<1, 32>>>(ballots.data());
  LAUNCH_OK();
  ExpectEqual("ballots", ballots.Get(), std::vector<unsigned>(32, seen));
  std::printf("collatz(27) takes %d steps\n", Collatz(27));
  return Finish();
}
