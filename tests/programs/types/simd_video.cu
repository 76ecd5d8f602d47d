// NVCC:
// RUN: %kernelsmith run %x
// The SIMD-within-a-word intrinsics on bytes and half words, each against a loop over the parts.
#include "../check.h"

constexpr int kOps = 20;

__global__ void Apply(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned x = a[i], y = b[i];
  unsigned* r = out + i * kOps;
  int k = 0;
  r[k++] = __vadd4(x, y);
  r[k++] = __vsub4(x, y);
  r[k++] = __vaddus4(x, y);
  r[k++] = __vaddss4(x, y);
  r[k++] = __vsubus4(x, y);
  r[k++] = __vabsdiffu4(x, y);
  r[k++] = __vmaxu4(x, y);
  r[k++] = __vmins4(x, y);
  r[k++] = __vavgu4(x, y);
  r[k++] = __vcmpeq4(x, y);
  r[k++] = __vcmpgtu4(x, y);
  r[k++] = __vsetlts4(x, y);
  r[k++] = __vsadu4(x, y);
  r[k++] = __vadd2(x, y);
  r[k++] = __vsubss2(x, y);
  r[k++] = __vmaxs2(x, y);
  r[k++] = __vminu2(x, y);
  r[k++] = __vcmpges2(x, y);
  r[k++] = __vneg4(x);
  r[k++] = __vabs2(x);
}

// Applies f to each part of `bits` bits, sign-extended or not, and packs the low bits of the
// results.
template <typename F>
unsigned Parts(unsigned x, unsigned y, int bits, bool is_signed, F f) {
  unsigned out = 0;
  for (int shift = 0; shift < 32; shift += bits) {
    const unsigned mask = (1u << bits) - 1;
    int p = static_cast<int>(x >> shift & mask), q = static_cast<int>(y >> shift & mask);
    if (is_signed && p >> (bits - 1)) p -= 1 << bits;
    if (is_signed && q >> (bits - 1)) q -= 1 << bits;
    out |= (static_cast<unsigned>(f(p, q)) & mask) << shift;
  }
  return out;
}

int Clamp(int value, int low, int high) { return value < low ? low : value > high ? high : value; }

std::vector<unsigned> Reference(unsigned x, unsigned y) {
  unsigned sad = 0;
  for (int s = 0; s < 32; s += 8)
    sad += std::abs(static_cast<int>(x >> s & 255) - static_cast<int>(y >> s & 255));
  return {
      Parts(x, y, 8, false, [](int p, int q) { return p + q; }),
      Parts(x, y, 8, false, [](int p, int q) { return p - q; }),
      Parts(x, y, 8, false, [](int p, int q) { return Clamp(p + q, 0, 255); }),
      Parts(x, y, 8, true, [](int p, int q) { return Clamp(p + q, -128, 127); }),
      Parts(x, y, 8, false, [](int p, int q) { return Clamp(p - q, 0, 255); }),
      Parts(x, y, 8, false, [](int p, int q) { return std::abs(p - q); }),
      Parts(x, y, 8, false, [](int p, int q) { return std::max(p, q); }),
      Parts(x, y, 8, true, [](int p, int q) { return std::min(p, q); }),
      Parts(x, y, 8, false, [](int p, int q) { return (p + q + 1) / 2; }),
      Parts(x, y, 8, false, [](int p, int q) { return p == q ? -1 : 0; }),
      Parts(x, y, 8, false, [](int p, int q) { return p > q ? -1 : 0; }),
      Parts(x, y, 8, true, [](int p, int q) { return p < q ? 1 : 0; }),
      sad,
      Parts(x, y, 16, false, [](int p, int q) { return p + q; }),
      Parts(x, y, 16, true, [](int p, int q) { return Clamp(p - q, -32768, 32767); }),
      Parts(x, y, 16, true, [](int p, int q) { return std::max(p, q); }),
      Parts(x, y, 16, false, [](int p, int q) { return std::min(p, q); }),
      Parts(x, y, 16, true, [](int p, int q) { return p >= q ? -1 : 0; }),
      Parts(x, y, 8, true, [](int p, int) { return -p; }),
      Parts(x, y, 16, true, [](int p, int) { return std::abs(p); }),
  };
}

int main() {
  const int n = 2000;
  Random random(341);
  std::vector<unsigned> a(n), b(n), want;
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<unsigned>(random.Bits());
    b[i] =
        i % 3 == 0 ? a[i] ^ (0xffu << 8 * random.Below(4)) : static_cast<unsigned>(random.Bits());
    if (i % 7 == 0) a[i] &= 0x807f80ff;
    for (unsigned value : Reference(a[i], b[i])) want.push_back(value);
  }
  DeviceArray<unsigned> da(a), db(b), out(n * kOps);
  Apply<<<(n + 127) / 128, 128>>>(da.data(), db.data(), out.data(), n);
  LAUNCH_OK();
  ExpectEqual("simd", out.Get(), want);
  std::printf("checked %d operations on %d words\n", kOps, n);
  return Finish();
}
