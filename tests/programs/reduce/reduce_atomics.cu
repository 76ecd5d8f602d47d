// NVCC:
// RUN: %kernelsmith run %x
// Every atomic operation on 32 and 64-bit integers, floats and doubles, in global and shared
// memory, with results that do not depend on the order.
#include "../check.h"

struct Results {
  int add, sub, min, max, exch_sum;
  unsigned inc, dec, and_, or_, xor_, umin, umax;
  unsigned long long add64, max64, or64;
  long long min64;
  float fadd;
  double dadd;
  int cas_max;
  float float_max;
};

__device__ void AtomicMaxFloat(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int old = *bits;
  while (__int_as_float(old) < value) {
    const int assumed = old;
    old = atomicCAS(bits, assumed, __float_as_int(value));
    if (old == assumed) break;
  }
}

__device__ void Apply(Results* r, int i) {
  atomicAdd(&r->add, i);
  atomicSub(&r->sub, 2 * i);
  atomicMin(&r->min, -i);
  atomicMax(&r->max, i * 3);
  atomicInc(&r->inc, 99);  // counts 0..99 and wraps
  atomicDec(&r->dec, 49);
  atomicAnd(&r->and_, ~(1u << (i & 15)));
  atomicOr(&r->or_, 1u << (i & 31));
  atomicXor(&r->xor_, static_cast<unsigned>(i) * 2654435761u);
  atomicMin(&r->umin, 0xffffffffu - i);
  atomicMax(&r->umax, 0x80000000u + i);
  atomicAdd(&r->add64, 0x100000001ull * i);
  atomicMax(&r->max64, static_cast<unsigned long long>(i) << 33);
  atomicMin(&r->min64, -(static_cast<long long>(i) << 33));
  atomicOr(&r->or64, 1ull << (i & 63));
  atomicAdd(&r->fadd, static_cast<float>(i & 7));  // small integers add exactly
  atomicAdd(&r->dadd, i * 0.25);
  int seen = r->cas_max;
  while (seen < i) {
    const int old = atomicCAS(&r->cas_max, seen, i);
    if (old == seen) break;
    seen = old;
  }
  AtomicMaxFloat(&r->float_max, i * 0.5f);
}

__global__ void GlobalAtomics(Results* results) {
  Apply(results, blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void SharedAtomics(Results* results) {
  __shared__ Results local;
  if (threadIdx.x == 0) local = *results;
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) Apply(&local, i);
  __syncthreads();
  if (threadIdx.x == 0) *results = local;
}

// A chain of exchanges loses nothing: what went in came out, but for the value that stays.
__global__ void Exchange(int* cell, unsigned long long* sum) {
  const int mine = blockIdx.x * blockDim.x + threadIdx.x + 1;
  atomicAdd(sum, static_cast<unsigned long long>(atomicExch(cell, mine)));
}

int main() {
  const int n = 1024;
  Results start{};
  start.and_ = 0xffffffffu;
  start.umin = 0xffffffffu;
  Results want = start;
  for (int i = 0; i < n; ++i) {
    want.add += i;
    want.sub -= 2 * i;
    want.min = std::min(want.min, -i);
    want.max = std::max(want.max, 3 * i);
    want.inc = want.inc >= 99 ? 0 : want.inc + 1;
    want.dec = want.dec == 0 || want.dec > 49 ? 49 : want.dec - 1;
    want.and_ &= ~(1u << (i & 15));
    want.or_ |= 1u << (i & 31);
    want.xor_ ^= static_cast<unsigned>(i) * 2654435761u;
    want.umin = std::min(want.umin, 0xffffffffu - i);
    want.umax = std::max(want.umax, 0x80000000u + i);
    want.add64 += 0x100000001ull * i;
    want.max64 = std::max(want.max64, static_cast<unsigned long long>(i) << 33);
    want.min64 = std::min(want.min64, -(static_cast<long long>(i) << 33));
    want.or64 |= 1ull << (i & 63);
    want.fadd += static_cast<float>(i & 7);
    want.dadd += i * 0.25;
    want.cas_max = std::max(want.cas_max, i);
    want.float_max = std::max(want.float_max, i * 0.5f);
  }
  for (int variant = 0; variant < 2; ++variant) {
    DeviceArray<Results> device(std::vector<Results>{start});
    if (variant == 0) {
      GlobalAtomics<<<8, 128>>>(device.data());
    } else {
      SharedAtomics<<<1, 256>>>(device.data());
    }
    LAUNCH_OK();
    const Results got = device.Get()[0];
    std::printf("%s\n", variant == 0 ? "global" : "shared");
    ExpectEqual("add", got.add, want.add);
    ExpectEqual("sub", got.sub, want.sub);
    ExpectEqual("min", got.min, want.min);
    ExpectEqual("max", got.max, want.max);
    ExpectEqual("inc", got.inc, want.inc);
    ExpectEqual("dec", got.dec, want.dec);
    ExpectEqual("and", got.and_, want.and_);
    ExpectEqual("or", got.or_, want.or_);
    ExpectEqual("xor", got.xor_, want.xor_);
    ExpectEqual("unsigned min", got.umin, want.umin);
    ExpectEqual("unsigned max", got.umax, want.umax);
    ExpectEqual("add 64", got.add64, want.add64);
    ExpectEqual("max 64", got.max64, want.max64);
    ExpectEqual("min 64", got.min64, want.min64);
    ExpectEqual("or 64", got.or64, want.or64);
    ExpectEqual("float add", got.fadd, want.fadd);
    ExpectEqual("double add", got.dadd, want.dadd);
    ExpectEqual("cas max", got.cas_max, want.cas_max);
    ExpectEqual("float max", got.float_max, want.float_max);
  }

  DeviceArray<int> cell(std::vector<int>{0});
  DeviceArray<unsigned long long> sum(std::vector<unsigned long long>{0});
  Exchange<<<4, 96>>>(cell.data(), sum.data());
  LAUNCH_OK();
  const unsigned long long total = sum.Get()[0] + cell.Get()[0];
  ExpectEqual("exchange", total, 384ull * 385 / 2);
  return Finish();
}
