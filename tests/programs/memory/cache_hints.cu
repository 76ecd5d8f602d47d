// NVCC:
// RUN: %kernelsmith run %x
// Loads and stores with cache hints and qualifiers: ldg, ldca, ldcg, ldcs, ldlu, ldcv, stwb, stcg,
// stcs, stwt on scalars and vectors of every width, volatile, restrict, and prefetches.
#include "../check.h"

template <typename T>
__global__ void Hints(const T* __restrict__ in, T* __restrict__ out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T* row = out + i * 6;
  row[0] = __ldg(in + i);
  __stcg(row + 1, __ldcg(in + (i + 1) % n));
  __stcs(row + 2, __ldcs(in + (i + 2) % n));
  __stwt(row + 3, __ldca(in + (i + 3) % n));
  __stwb(row + 4, __ldcv(in + (i + 4) % n));
  row[5] = __ldlu(in + (i + 5) % n);
}

template <typename T>
void Check(const char* name, int n) {
  Random random(501);
  std::vector<unsigned char> bytes(n * sizeof(T)), want;
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.Bits());
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 6; ++k) {
      const unsigned char* from = &bytes[(i + k) % n * sizeof(T)];
      want.insert(want.end(), from, from + sizeof(T));
    }
  }
  DeviceArray<unsigned char> in(bytes), out(want.size());
  Hints<T><<<(n + 63) / 64, 64>>>(reinterpret_cast<const T*>(in.data()),
                                  reinterpret_cast<T*>(out.data()), n);
  LAUNCH_OK();
  ExpectEqual(name, out.Get(), want);
}

__global__ void Qualified(volatile int* v, const int* __restrict__ in, int* out) {
  const int i = threadIdx.x;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i));
  asm volatile("prefetch.global.L1 [%0];" ::"l"(in + i));
  v[i] = in[i];
  v[i] = v[i] + v[i];
  float wide;
  asm volatile("ld.global.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(wide) : "l"(in + i));
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  int kept;
  asm volatile("ld.global.L2::cache_hint.s32 %0, [%1], %2;"
               : "=r"(kept)
               : "l"(in + i), "l"(policy));
  out[i] = v[i] + kept + __float_as_int(wide);
}

int main() {
  Check<char>("char", 70);
  Check<unsigned short>("unsigned short", 70);
  Check<int>("int", 70);
  Check<long long>("long long", 70);
  Check<float>("float", 70);
  Check<double>("double", 70);
  Check<char4>("char4", 70);
  Check<short2>("short2", 70);
  Check<int2>("int2", 70);
  Check<uint4>("uint4", 70);
  Check<float4>("float4", 70);
  Check<double2>("double2", 70);
  Check<longlong2>("longlong2", 70);
  Random random(502);
  const std::vector<int> in = random.Ints(64, 0, 1000000);
  std::vector<int> want;
  for (int value : in) want.push_back(4 * value);
  DeviceArray<int> device(in), scratch(64), out(64);
  Qualified<<<1, 64>>>(scratch.data(), device.data(), out.data());
  LAUNCH_OK();
  ExpectEqual("qualified", out.Get(), want);
  std::printf("13 types, 6 hints\n");
  return Finish();
}
