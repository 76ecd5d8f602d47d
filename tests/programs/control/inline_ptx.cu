// NVCC:
// RUN: %kernelsmith run %x
// Inline PTX of many kinds: special registers, carry chains, wide products, bit fields, lop3,
// permutes in every mode, predicates and branches, vector loads, address spaces, and atomics with
// scopes.
#include "../check.h"

__global__ void SpecialRegisters(unsigned* out) {
  unsigned lane, warp, tid, ntid, ctaid, nctaid, eq, lt, ge;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm("mov.u32 %0, %%tid.x;" : "=r"(tid));
  asm("mov.u32 %0, %%ntid.x;" : "=r"(ntid));
  asm("mov.u32 %0, %%ctaid.y;" : "=r"(ctaid));
  asm("mov.u32 %0, %%nctaid.y;" : "=r"(nctaid));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  unsigned* r = out + (blockIdx.y * blockDim.x + threadIdx.x) * 9;
  r[0] = lane, r[1] = warp * 32 + lane, r[2] = tid, r[3] = ntid, r[4] = ctaid, r[5] = nctaid,
  r[6] = eq, r[7] = lt;
  r[8] = ge;
}

constexpr int kResults = 16;

__global__ void Arithmetic(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out,
                           int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned x = a[i], y = b[i], z = c[i];
  unsigned* r = out + i * kResults;
  // 96-bit sum (x, y, z) + (z, x, y), and the difference.
  asm("{\n\tadd.cc.u32 %0, %3, %5;\n\taddc.cc.u32 %1, %4, %3;\n\taddc.u32 %2, %5, %4;\n\t}"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2])
      : "r"(x), "r"(y), "r"(z));
  asm("{\n\tsub.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, %4, 0;\n\t}"
      : "=&r"(r[3]), "=&r"(r[4])
      : "r"(x), "r"(y), "r"(z));
  unsigned long long wide;
  asm("mad.wide.u32 %0, %1, %2, %3;"
      : "=l"(wide)
      : "r"(x), "r"(y), "l"(static_cast<unsigned long long>(z) << 7));
  r[5] = static_cast<unsigned>(wide), r[6] = static_cast<unsigned>(wide >> 32);
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r[7]) : "r"(x), "r"(y & 31), "r"(z & 31));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r[8]) : "r"(x), "r"(y & 31), "r"(z & 31));
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r[9]) : "r"(x), "r"(y), "r"(z & 31), "r"(x & 15));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r[10]) : "r"(x), "r"(y), "r"(z));  // xor of three
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(r[11]) : "r"(x), "r"(y), "r"(z));  // majority
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r[12]) : "r"(x), "r"(y), "r"(z));
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r[13]) : "r"(x), "r"(y), "r"(z));
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(r[14]) : "r"(x >> (y & 31)));
  asm("{\n\t.reg .pred p, q;\n\tsetp.ne.u32 p, %3, %3;\n\tsetp.lt.or.u32 p|q, %1, %2, "
      "p;\n\tselp.u32 %0, %3, 5, p;\n\t@q "
      "add.u32 %0, %0, 9;\n\t}"
      : "=&r"(r[15])
      : "r"(x), "r"(y), "r"(z));
}

std::vector<unsigned> Reference(unsigned x, unsigned y, unsigned z) {
  std::vector<unsigned> r;
  const unsigned long long low = static_cast<unsigned long long>(x) + z;
  const unsigned long long middle = static_cast<unsigned long long>(y) + x + (low >> 32);
  r.insert(r.end(), {static_cast<unsigned>(low), static_cast<unsigned>(middle),
                     static_cast<unsigned>(z + y + (middle >> 32)), x - y, z - (x < y)});
  const unsigned long long wide =
      static_cast<unsigned long long>(x) * y + (static_cast<unsigned long long>(z) << 7);
  r.insert(r.end(), {static_cast<unsigned>(wide), static_cast<unsigned>(wide >> 32)});
  const unsigned at = y & 31, length = z & 31;
  unsigned field = 0, sign = length == 0 ? 0 : x >> std::min(at + length - 1, 31u) & 1,
           extended = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (i < length && at + i < 32) field |= (x >> (at + i) & 1) << i;
    extended |= (i < length && at + i < 32 ? x >> (at + i) & 1 : sign) << i;
  }
  unsigned inserted = y;
  for (unsigned i = 0; i < (x & 15) && (z & 31) + i < 32; ++i) {
    const unsigned bit = 1u << ((z & 31) + i);
    inserted = x >> i & 1 ? inserted | bit : inserted & ~bit;
  }
  r.insert(r.end(), {field, extended, inserted, x ^ y ^ z, (x & y) | (y & z) | (x & z)});
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned permuted = 0, forward = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned selector = z >> (4 * i) & 15;
    unsigned byte = both >> (8 * (selector & 7)) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    permuted |= byte << (8 * i);
    forward |= static_cast<unsigned>(both >> (8 * (((z & 3) + i) & 7)) & 255) << (8 * i);
  }
  const unsigned shifted = x >> (y & 31);
  r.insert(r.end(),
           {permuted, forward, shifted == 0 ? ~0u : static_cast<unsigned>(__builtin_clz(shifted))});
  // p = (x < y) or false; q = not (x < y) or false
  r.push_back(x < y ? z : 5 + 9);
  return r;
}

__global__ void Memory(const float4* in, float* out, int* counter, long long* big) {
  __shared__ __align__(128) float tile[32];
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
  float x, y, z, w;
  asm volatile("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
               : "l"(in + threadIdx.x));
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared), "f"(x + y * z - w) : "memory");
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  float other;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(other) : "r"(shared ^ 4) : "memory");
  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(out + threadIdx.x), "f"(other) : "memory");
  asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(counter),
               "r"(static_cast<int>(threadIdx.x))
               : "memory");
  int old;
  asm volatile("atom.acq_rel.cta.global.max.s32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(counter + 1), "r"(static_cast<int>(threadIdx.x * 5))
               : "memory");
  asm volatile("red.relaxed.sys.global.min.s64 [%0], %1;" ::"l"(big),
               "l"(-1000000000000ll * threadIdx.x)
               : "memory");
  unsigned is_shared, is_global;
  asm("{\n\t.reg .pred p;\n\tisspacep.shared p, %1;\n\tselp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(is_shared)
      : "l"(&tile[3]));
  asm("{\n\t.reg .pred p;\n\tisspacep.global p, %1;\n\tselp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(is_global)
      : "l"(out));
  if (threadIdx.x == 0)
    counter[2] = static_cast<int>(is_shared * 2 + is_global) + (old < 0 ? 100 : 0);
}

// A loop written wholly in PTX: the integer root by Newton's method.
__global__ void RootLoop(const unsigned* in, unsigned* out) {
  const unsigned x = in[threadIdx.x];
  unsigned root;
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t.reg .u32 guess, next;\n\t"
      "mov.u32 guess, %1;\n\t"
      "setp.lt.u32 p, guess, 2;\n\t"
      "@p bra DONE_%=;\n\t"
      "shr.u32 guess, guess, 1;\n\t"
      "AGAIN_%=:\n\t"
      "div.u32 next, %1, guess;\n\t"
      "add.u32 next, next, guess;\n\t"
      "shr.u32 next, next, 1;\n\t"
      "setp.ge.u32 p, next, guess;\n\t"
      "@p bra DONE_%=;\n\t"
      "mov.u32 guess, next;\n\t"
      "bra AGAIN_%=;\n\t"
      "DONE_%=:\n\t"
      "mov.u32 %0, guess;\n\t}"
      : "=r"(root)
      : "r"(x));
  out[threadIdx.x] = root;
}

int main() {
  const int threads = 96;
  DeviceArray<unsigned> registers(threads * 2 * 9);
  SpecialRegisters<<<dim3(1, 2), threads>>>(registers.data());
  LAUNCH_OK();
  std::vector<unsigned> want;
  for (unsigned i = 0; i < threads * 2; ++i) {
    const unsigned tid = i % threads, lane = tid % 32;
    want.insert(want.end(), {lane, tid, tid, threads, i / threads, 2, 1u << lane, (1u << lane) - 1,
                             ~0u << lane});
  }
  ExpectEqual("special registers", registers.Get(), want);

  const int n = 600;
  Random random(431);
  std::vector<unsigned> a(n), b(n), c(n), results;
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<unsigned>(random.Bits());
    b[i] = i % 5 == 0 ? a[i] : static_cast<unsigned>(random.Bits());
    c[i] = static_cast<unsigned>(random.Bits());
    for (unsigned value : Reference(a[i], b[i], c[i])) results.push_back(value);
  }
  DeviceArray<unsigned> da(a), db(b), dc(c), out(n * kResults);
  Arithmetic<<<(n + 127) / 128, 128>>>(da.data(), db.data(), dc.data(), out.data(), n);
  LAUNCH_OK();
  ExpectEqual("arithmetic", out.Get(), results);

  std::vector<float4> vectors(32);
  std::vector<float> moved(32);
  for (int i = 0; i < 32; ++i) vectors[i] = make_float4(i, i + 1, 2, i * 3);
  for (int i = 0; i < 32; ++i) {
    const float4 v = vectors[i ^ 1];
    moved[i] = v.x + v.y * v.z - v.w;
  }
  DeviceArray<float4> dvectors(vectors);
  DeviceArray<float> dmoved(32);
  DeviceArray<int> counter(3);
  DeviceArray<long long> big(1);
  counter.Fill(0);
  big.Fill(0);
  Memory<<<1, 32>>>(dvectors.data(), dmoved.data(), counter.data(), big.data());
  LAUNCH_OK();
  ExpectEqual("moved", dmoved.Get(), moved);
  ExpectEqual("counters", counter.Get(), std::vector<int>{496, 155, 3});
  ExpectEqual("minimum", big.Get()[0], -31000000000000ll);

  std::vector<unsigned> squares(64), roots(64);
  for (unsigned i = 0; i < 64; ++i) {
    squares[i] = i * i * 12345 + i;
    unsigned root = static_cast<unsigned>(std::sqrt(static_cast<double>(squares[i])));
    roots[i] = root;
  }
  DeviceArray<unsigned> dsquares(squares), droots(64);
  RootLoop<<<1, 64>>>(dsquares.data(), droots.data());
  LAUNCH_OK();
  ExpectEqual("roots", droots.Get(), roots);
  std::printf("checked %d triples\n", n);
  return Finish();
}
