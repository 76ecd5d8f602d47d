// NVCC:
// RUN: %kernelsmith run %x
// Integer intrinsics: bit counts and reversals, byte permutation, funnel shifts, dot products, high
// products, sums of absolute differences, averages, bit fields, and 64-bit division.
#include "../check.h"

constexpr int kResults = 24;

__global__ void Words(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out,
                      int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned x = a[i], y = b[i], z = c[i];
  const int sx = static_cast<int>(x), sy = static_cast<int>(y), sz = static_cast<int>(z);
  unsigned* r = out + i * kResults;
  int k = 0;
  r[k++] = __brev(x);
  r[k++] = __popc(x);
  r[k++] = __clz(sx >> (y & 31));
  r[k++] = __ffs(sx << (y & 31));
  r[k++] = __byte_perm(x, y, z);
  r[k++] = __funnelshift_l(x, y, z);
  r[k++] = __funnelshift_r(x, y, z);
  r[k++] = __funnelshift_lc(x, y, z & 63);
  r[k++] = __funnelshift_rc(x, y, z & 63);
  r[k++] = __dp4a(sx, sy, sz);
  r[k++] = __dp4a(x, y, z);
  r[k++] = __dp2a_lo(sx, sy, sz);
  r[k++] = __dp2a_hi(x, y, z);
  r[k++] = __mulhi(sx, sy);
  r[k++] = __umulhi(x, y);
  r[k++] = __mul24(sx, sy);
  r[k++] = __umul24(x, y);
  r[k++] = __sad(sx, sy, z);
  r[k++] = __usad(x, y, z);
  r[k++] = __hadd(sx, sy);
  r[k++] = __urhadd(x, y);
  r[k++] = sx / (sy | 1) + sx % (sy | 1);
  r[k++] = x / (y | 1) ^ x % (y | 1);
  r[k++] = abs(sx) + min(sx, sy) - static_cast<int>(max(x, y));
}

unsigned PermuteBytes(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned out = 0;
  // __byte_perm looks at three bits of each nibble of the selector.
  for (int i = 0; i < 4; ++i)
    out |= static_cast<unsigned>(both >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return out;
}

std::vector<unsigned> Reference(unsigned x, unsigned y, unsigned z) {
  const int sx = static_cast<int>(x), sy = static_cast<int>(y), sz = static_cast<int>(z);
  std::vector<unsigned> r;
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  r.push_back(reversed);
  r.push_back(__builtin_popcount(x));
  const unsigned shifted = static_cast<unsigned>(sx >> (y & 31));
  r.push_back(shifted == 0 ? 32 : __builtin_clz(shifted));
  r.push_back(__builtin_ffs(static_cast<int>(x << (y & 31))));
  r.push_back(PermuteBytes(x, y, z));
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  r.push_back(static_cast<unsigned>(both << (z & 31) >> 32));
  r.push_back(static_cast<unsigned>(both >> (z & 31)));
  const unsigned clamped = std::min(z & 63, 32u);
  r.push_back(clamped == 32 ? x : static_cast<unsigned>(both << clamped >> 32));
  r.push_back(static_cast<unsigned>(both >> clamped));
  unsigned dot_s = z, dot_u = z;
  for (int i = 0; i < 4; ++i) {
    dot_s += static_cast<signed char>(x >> (8 * i)) * static_cast<signed char>(y >> (8 * i));
    dot_u += (x >> (8 * i) & 0xff) * (y >> (8 * i) & 0xff);
  }
  r.push_back(dot_s);
  r.push_back(dot_u);
  r.push_back(z + static_cast<short>(x) * static_cast<signed char>(y) +
              static_cast<short>(x >> 16) * static_cast<signed char>(y >> 8));
  r.push_back(z + (x & 0xffff) * (y >> 16 & 0xff) + (x >> 16) * (y >> 24));
  r.push_back(static_cast<unsigned>(static_cast<long long>(sx) * sy >> 32));
  r.push_back(static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32));
  r.push_back(static_cast<unsigned>((sx << 8 >> 8)) * static_cast<unsigned>(sy << 8 >> 8));
  r.push_back((x & 0xffffff) * (y & 0xffffff));
  const long long difference = static_cast<long long>(sx) - sy;
  r.push_back(z + static_cast<unsigned>(difference < 0 ? -difference : difference));
  r.push_back(z + (x > y ? x - y : y - x));
  r.push_back(static_cast<unsigned>((static_cast<long long>(sx) + sy) >> 1));
  r.push_back(static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1));
  const int divisor = sy | 1;
  // INT_MIN / -1 does not fit; the device wraps.
  r.push_back(divisor == -1
                  ? 0u - x
                  : static_cast<unsigned>(sx / divisor) + static_cast<unsigned>(sx % divisor));
  r.push_back(x / (y | 1) ^ x % (y | 1));
  r.push_back((sx < 0 ? 0u - x : x) + static_cast<unsigned>(std::min(sx, sy)) - std::max(x, y));
  (void)sz;
  return r;
}

__global__ void Longs(const unsigned long long* a, const unsigned long long* b,
                      unsigned long long* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned long long x = a[i], y = b[i];
  const long long sx = static_cast<long long>(x), sy = static_cast<long long>(y);
  unsigned long long* r = out + i * 11;
  r[0] = x / (y | 1);
  r[1] = x % (y | 1);
  r[2] = sx / (sy | 1);
  r[3] = sx % (sy | 1);
  r[4] = __brevll(x);
  r[5] = __popcll(x) * 10000 + __clzll(sx >> (y & 63)) * 100 + __ffsll(sx << (y & 63));
  r[6] = __mul64hi(sx, sy);
  r[7] = __umul64hi(x, y);
  r[8] = x << (y & 63) ^ x >> (y & 63);
  r[9] = sx >> (y & 63);
  r[10] = x * y + static_cast<unsigned long long>(
                      __umulhi(static_cast<unsigned>(x), static_cast<unsigned>(y)));
}

int main() {
  const int n = 1500;
  Random random(331);
  std::vector<unsigned> a(n), b(n), c(n), want;
  const unsigned edges[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xff, 0x8080, 32, 31};
  for (int i = 0; i < n; ++i) {
    a[i] = i < 81 ? edges[i / 9] : static_cast<unsigned>(random.Bits());
    b[i] = i < 81 ? edges[i % 9] : static_cast<unsigned>(random.Bits()) >> random.Below(32);
    c[i] = static_cast<unsigned>(random.Bits());
    for (unsigned value : Reference(a[i], b[i], c[i])) want.push_back(value);
  }
  DeviceArray<unsigned> da(a), db(b), dc(c), out(n * kResults);
  Words<<<(n + 127) / 128, 128>>>(da.data(), db.data(), dc.data(), out.data(), n);
  LAUNCH_OK();
  ExpectEqual("words", out.Get(), want);

  std::vector<unsigned long long> la(n), lb(n), lwant;
  for (int i = 0; i < n; ++i) {
    const unsigned long long x = la[i] = random.Bits() >> random.Below(64);
    const unsigned long long y = lb[i] = random.Bits() >> random.Below(64);
    const long long sx = static_cast<long long>(x), sy = static_cast<long long>(y);
    lwant.push_back(x / (y | 1));
    lwant.push_back(x % (y | 1));
    lwant.push_back((sy | 1) == -1 ? 0 - x : static_cast<unsigned long long>(sx / (sy | 1)));
    lwant.push_back((sy | 1) == -1 ? 0 : static_cast<unsigned long long>(sx % (sy | 1)));
    unsigned long long reversed = 0;
    for (int bit = 0; bit < 64; ++bit) reversed |= (x >> bit & 1) << (63 - bit);
    lwant.push_back(reversed);
    const unsigned long long right = static_cast<unsigned long long>(sx >> (y & 63)),
                             left = x << (y & 63);
    lwant.push_back(__builtin_popcountll(x) * 10000 +
                    (right == 0 ? 64 : __builtin_clzll(right)) * 100 +
                    __builtin_ffsll(static_cast<long long>(left)));
    lwant.push_back(static_cast<unsigned long long>(static_cast<__int128>(sx) * sy >> 64));
    lwant.push_back(static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64));
    lwant.push_back(left ^ x >> (y & 63));
    lwant.push_back(right);
    lwant.push_back(x * y + ((x & 0xffffffff) * (y & 0xffffffff) >> 32));
  }
  DeviceArray<unsigned long long> dla(la), dlb(lb), lout(n * 11);
  Longs<<<(n + 127) / 128, 128>>>(dla.data(), dlb.data(), lout.data(), n);
  LAUNCH_OK();
  ExpectEqual("longs", lout.Get(), lwant);
  std::printf("checked %d words and %d double words\n", n, n);
  return Finish();
}
