// NVCC:
// RUN: %kernelsmith run %x
// Memory of a thread: arrays with dynamic indices, structs with bit fields and unions, arrays of
// structs by value, big parameter structs of 4 KB, alignment, alloca, and pointers to locals passed
// around.
#include "../check.h"

struct __align__(16) Mixed {
  char tag;
  short half;
  int word;
  double wide;
  unsigned low : 5, middle : 11, high : 16;
  signed small : 3;
  union {
    float as_float;
    unsigned as_bits;
    unsigned char bytes[4];
  };
};

__host__ __device__ Mixed MakeMixed(int i) {
  Mixed m{};
  m.tag = static_cast<char>(i);
  m.half = static_cast<short>(-i * 3);
  m.word = i * 100003;
  m.wide = i / 8.0;
  m.low = i;
  m.middle = i * 7;
  m.high = i * 31;
  m.small = i;
  m.as_float = i * 0.5f;
  return m;
}

__host__ __device__ double Digest(Mixed m) {
  m.bytes[0] ^= 0x10;
  return m.tag + m.half * 2.0 + m.word + m.wide * 3 + m.low * 5.0 + m.middle * 7.0 + m.high * 11.0 +
         m.small * 13.0 + m.bytes[3] * 17.0 + (m.as_bits & 0xff) * 19.0;
}

__global__ void Structs(Mixed* out, double* digests, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Mixed table[5];
  for (int k = 0; k < 5; ++k) table[k] = MakeMixed(i + k);
  out[i] = table[i % 5];
  digests[i] = Digest(table[(i * 3) % 5]);
}

// Insertion sort in a private array whose indices depend on the data.
__global__ void PrivateSort(const int* in, int* out, int n) {
  int mine[24];
  const int base = (blockIdx.x * blockDim.x + threadIdx.x) * n;
  for (int i = 0; i < n; ++i) {
    const int value = in[base + i];
    int j = i;
    while (j > 0 && mine[j - 1] > value) {
      mine[j] = mine[j - 1];
      --j;
    }
    mine[j] = value;
  }
  for (int i = 0; i < n; ++i) out[base + i] = mine[i];
}

__device__ __noinline__ void Rotate(int* values, int n, int by) {
  for (int r = 0; r < by; ++r) {
    const int first = values[0];
    for (int i = 1; i < n; ++i) values[i - 1] = values[i];
    values[n - 1] = first;
  }
}

__device__ __noinline__ int* Pick(int* a, int* b, bool first) { return first ? a : b; }

__global__ void Pointers(int* out) {
  __shared__ int shared[64];
  int local[6] = {1, 2, 3, 4, 5, 6};
  Rotate(local, 6, threadIdx.x % 6);
  shared[threadIdx.x] = threadIdx.x * 10;
  __syncthreads();
  // The callee does not know whether it sees local or shared memory.
  int* chosen = Pick(local, shared + threadIdx.x, threadIdx.x % 2 == 0);
  *chosen += 1000;
  __syncthreads();
  out[threadIdx.x] = local[0] + shared[threadIdx.x] + *Pick(chosen, out, true);
}

struct Big {
  int numbers[1000];
  char text[64];
};
static_assert(sizeof(Big) > 4000 && sizeof(Big) <= 4076, "fits the 4 KB of parameters");

__global__ void BigParameter(Big big, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1000) out[i] = big.numbers[(i * 7) % 1000] + big.text[i % 64];
}

__global__ void Alloca(int* out) {
  const int n = 3 + threadIdx.x % 5;
  int* stack = static_cast<int*>(__builtin_alloca(n * sizeof(int)));
  for (int i = 0; i < n; ++i) stack[i] = i * threadIdx.x;
  int sum = 0;
  for (int i = n - 1; i >= 0; --i) sum = sum * 3 + stack[i];
  out[threadIdx.x] = sum;
}

int main() {
  const int n = 200;
  DeviceArray<Mixed> mixed(n);
  DeviceArray<double> digests(n);
  Structs<<<4, 64>>>(mixed.data(), digests.data(), n);
  LAUNCH_OK();
  const std::vector<Mixed> got = mixed.Get();
  std::vector<double> want_digests(n), want_fields(n), got_fields(n);
  for (int i = 0; i < n; ++i) {
    want_fields[i] = Digest(MakeMixed(i + i % 5));
    got_fields[i] = Digest(got[i]);
    want_digests[i] = Digest(MakeMixed(i + i * 3 % 5));
  }
  ExpectEqual("structs", got_fields, want_fields);
  ExpectEqual("digests", digests.Get(), want_digests);

  Random random(421);
  const int threads = 64, each = 24;
  std::vector<int> values = random.Ints(threads * each, 0, 1000);
  DeviceArray<int> in(values), sorted(values.size());
  PrivateSort<<<2, 32>>>(in.data(), sorted.data(), each);
  LAUNCH_OK();
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < each; ++i) {
      for (int j = 0; j + 1 < each - i; ++j) {
        if (values[t * each + j] > values[t * each + j + 1])
          std::swap(values[t * each + j], values[t * each + j + 1]);
      }
    }
  }
  ExpectEqual("private sort", sorted.Get(), values);

  DeviceArray<int> pointers(64);
  Pointers<<<1, 64>>>(pointers.data());
  LAUNCH_OK();
  std::vector<int> want_pointers;
  for (int t = 0; t < 64; ++t) {
    const bool even = t % 2 == 0;
    const int local = 1 + t % 6 + (even ? 1000 : 0), shared = t * 10 + (even ? 0 : 1000);
    want_pointers.push_back(local + shared + (even ? local : shared));
  }
  ExpectEqual("pointers", pointers.Get(), want_pointers);

  Big big;
  for (int i = 0; i < 1000; ++i) big.numbers[i] = i * i;
  for (int i = 0; i < 64; ++i) big.text[i] = static_cast<char>(i - 32);
  DeviceArray<int> from_big(1000);
  BigParameter<<<8, 128>>>(big, from_big.data());
  LAUNCH_OK();
  std::vector<int> want_big;
  for (int i = 0; i < 1000; ++i) want_big.push_back((i * 7 % 1000) * (i * 7 % 1000) + i % 64 - 32);
  ExpectEqual("big parameter", from_big.Get(), want_big);

  DeviceArray<int> stacks(64);
  Alloca<<<1, 64>>>(stacks.data());
  LAUNCH_OK();
  std::vector<int> want_stacks;
  for (int t = 0; t < 64; ++t) {
    int sum = 0;
    for (int i = 2 + t % 5; i >= 0; --i) sum = sum * 3 + i * t;
    want_stacks.push_back(sum);
  }
  ExpectEqual("alloca", stacks.Get(), want_stacks);
  std::printf("sizeof(Mixed) = %zu, sizeof(Big) = %zu\n", sizeof(Mixed), sizeof(Big));
  return Finish();
}
