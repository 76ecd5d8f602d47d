// NVCC:
// RUN: %kernelsmith run %x
// Half precision: scalar and packed arithmetic, comparisons, min and max with NaN, conversions in
// every rounding mode, fma, and functions, all 65536 values or random pairs, against double on the
// host.
#include <cuda_fp16.h>

#include "../check.h"

__global__ void Scalar(const half* a, const half* b, const half* c, half* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  half* row = out + i * 8;
  row[0] = __hadd(a[i], b[i]);
  row[1] = __hsub(a[i], b[i]);
  row[2] = __hmul(a[i], b[i]);
  row[3] = __hdiv(a[i], b[i]);
  row[4] = __hfma(a[i], b[i], c[i]);
  row[5] = __hneg(__habs(a[i]));
  row[6] = __hmax(a[i], b[i]);
  row[7] = __hmin(a[i], b[i]);
}

__global__ void Packed(const half2* a, const half2* b, const half2* c, half2* out, unsigned* masks,
                       int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  half2* row = out + i * 6;
  row[0] = __hadd2(a[i], b[i]);
  row[1] = __hmul2(a[i], b[i]);
  row[2] = __hfma2(a[i], b[i], c[i]);
  row[3] = __hadd2_sat(a[i], b[i]);
  row[4] = __lowhigh2highlow(a[i]);
  row[5] = __halves2half2(__high2half(a[i]), __low2half(b[i]));
  masks[i * 3] = __hlt2_mask(a[i], b[i]);
  masks[i * 3 + 1] = __hge2_mask(a[i], b[i]);
  masks[i * 3 + 2] = __hbeq2(a[i], b[i]) * 2 + __heq(__low2half(a[i]), __low2half(b[i]));
}

// Every half to float and back, and to integers.
__global__ void Conversions(float* floats, unsigned short* back, int* ints,
                            unsigned short* from_int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const half h = __ushort_as_half(static_cast<unsigned short>(i));
  floats[i] = __half2float(h);
  back[i] = __half_as_ushort(__float2half_rn(__half2float(h)));
  ints[4 * i] = __half2int_rn(h);
  ints[4 * i + 1] = __half2int_rz(h);
  ints[4 * i + 2] = __half2int_rd(h);
  ints[4 * i + 3] = __half2int_ru(h);
  from_int[i] = __half_as_ushort(__int2half_rn(i - 32768));
}

__global__ void Roundings(const float* in, unsigned short* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[4 * i] = __half_as_ushort(__float2half_rn(in[i]));
  out[4 * i + 1] = __half_as_ushort(__float2half_rz(in[i]));
  out[4 * i + 2] = __half_as_ushort(__float2half_rd(in[i]));
  out[4 * i + 3] = __half_as_ushort(__float2half_ru(in[i]));
}

double Decode(unsigned bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value;
  if (exponent == 31) {
    value = fraction != 0 ? NAN : INFINITY;
  } else {
    value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

// The nearest half by search in the ordered list of magnitudes: slow, and independent of bit
// tricks.
unsigned Encode(double x, char mode) {
  const unsigned sign = std::signbit(x) ? 0x8000 : 0;
  const double m = std::fabs(x);
  if (std::isnan(x)) return 0x7fff;
  unsigned low = 0, high = 0x7c00;  // Decode(low) <= m, and high above, counting infinity as 2^16
  auto magnitude = [](unsigned bits) { return bits == 0x7c00 ? 65536.0 : Decode(bits); };
  if (std::isinf(m)) return sign | 0x7c00;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (magnitude(middle) <= m ? low : high) = middle;
  }
  if (magnitude(low) == m) return sign | low;
  const bool up = mode == 'u' ? sign == 0 : mode == 'd' ? sign != 0 : false;
  if (mode == 'z' || (mode != 'n' && !up)) return sign | low;
  if (mode != 'n') return sign | high;
  const double below = m - magnitude(low), above = magnitude(high) - m;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

half FromBits(unsigned bits) {
  __half_raw raw;
  raw.x = static_cast<unsigned short>(bits);
  return half(raw);
}
unsigned Bits(half h) { return static_cast<__half_raw>(h).x; }

void ExpectBits(const char* what, unsigned got, unsigned want) {
  const bool nan = (want & 0x7fff) > 0x7c00;
  if (nan ? (got & 0x7fff) > 0x7c00 : got == want) return;
  if (++g_failures < 20) std::printf("FAILED: %s = %04x, expected %04x\n", what, got, want);
}

int main() {
  Random random(311);
  const int n = 4096;
  std::vector<half> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    // Half of the values from all bit patterns, half of near magnitude, where rounding matters.
    a[i] = FromBits(i % 2 ? random.Below(65536) : 0x3c00 + random.Below(2048));
    b[i] = FromBits(i % 2 ? random.Below(65536) : 0x3800 + random.Below(4096));
    c[i] = FromBits(i % 2 ? random.Below(65536) : 0xb800 + random.Below(4096));
  }
  DeviceArray<half> da(a), db(b), dc(c), scalar(n * 8);
  Scalar<<<n / 128, 128>>>(da.data(), db.data(), dc.data(), scalar.data(), n);
  LAUNCH_OK();
  const std::vector<half> s = scalar.Get();
  for (int i = 0; i < n; ++i) {
    const double x = Decode(Bits(a[i])), y = Decode(Bits(b[i])), z = Decode(Bits(c[i]));
    ExpectBits("add", Bits(s[i * 8]), Encode(x + y, 'n'));
    ExpectBits("sub", Bits(s[i * 8 + 1]), Encode(x - y, 'n'));
    ExpectBits("mul", Bits(s[i * 8 + 2]), Encode(x * y, 'n'));
    // Division may be off by one unit.
    const unsigned quotient = Encode(x / y, 'n'), got = Bits(s[i * 8 + 3]);
    ExpectBits("div", got + 1 == quotient || got == quotient + 1 ? quotient : got, quotient);
    ExpectBits("fma", Bits(s[i * 8 + 4]), Encode(std::fma(x, y, z), 'n'));
    ExpectBits("neg abs", Bits(s[i * 8 + 5]), Bits(a[i]) | 0x8000);
    const bool equal = x == y;  // of two zeros either may come
    if (!equal) ExpectBits("max", Bits(s[i * 8 + 6]), Encode(std::fmax(x, y), 'n'));
    if (!equal) ExpectBits("min", Bits(s[i * 8 + 7]), Encode(std::fmin(x, y), 'n'));
  }

  DeviceArray<half> packed(n / 2 * 12);
  DeviceArray<unsigned> masks(n / 2 * 3);
  Packed<<<n / 2 / 128, 128>>>(reinterpret_cast<half2*>(da.data()),
                               reinterpret_cast<half2*>(db.data()),
                               reinterpret_cast<half2*>(dc.data()),
                               reinterpret_cast<half2*>(packed.data()), masks.data(), n / 2);
  LAUNCH_OK();
  const std::vector<half> p = packed.Get();
  const std::vector<unsigned> m = masks.Get();
  for (int i = 0; i < n; ++i) {
    const double x = Decode(Bits(a[i])), y = Decode(Bits(b[i])), z = Decode(Bits(c[i]));
    const half* row = &p[i / 2 * 12];
    ExpectBits("add2", Bits(row[i % 2]), Encode(x + y, 'n'));
    ExpectBits("mul2", Bits(row[2 + i % 2]), Encode(x * y, 'n'));
    ExpectBits("fma2", Bits(row[4 + i % 2]), Encode(std::fma(x, y, z), 'n'));
    const double sum = x + y;
    if (sum != 0) {
      ExpectBits("add2 sat", Bits(row[6 + i % 2]),
                 std::isnan(sum) ? 0 : Encode(std::fmin(std::fmax(sum, 0), 1), 'n'));
    }
    ExpectBits("swap", Bits(row[8 + i % 2]), Bits(a[i ^ 1]));
    ExpectBits("halves", Bits(row[10 + i % 2]), i % 2 == 0 ? Bits(a[i + 1]) : Bits(b[i - 1]));
    const unsigned shift = i % 2 * 16;
    ExpectBits("lt mask", m[i / 2 * 3] >> shift & 0xffff, x < y ? 0xffff : 0);
    ExpectBits("ge mask", m[i / 2 * 3 + 1] >> shift & 0xffff, x >= y ? 0xffff : 0);
    const double first = Decode(Bits(a[i & ~1])), second = Decode(Bits(a[i | 1]));
    const bool low_equal = first == Decode(Bits(b[i & ~1])),
               high_equal = second == Decode(Bits(b[i | 1]));
    ExpectEqual("eq", m[i / 2 * 3 + 2],
                (low_equal && high_equal ? 2u : 0u) + (low_equal ? 1u : 0u));
  }

  DeviceArray<float> floats(65536);
  DeviceArray<unsigned short> back(65536), from_int(65536);
  DeviceArray<int> ints(4 * 65536);
  Conversions<<<65536 / 256, 256>>>(floats.data(), back.data(), ints.data(), from_int.data());
  LAUNCH_OK();
  const auto f = floats.Get();
  const auto r = back.Get(), fi = from_int.Get();
  const auto is = ints.Get();
  for (unsigned i = 0; i < 65536; ++i) {
    const double value = Decode(i);
    if (!std::isnan(value) && f[i] != static_cast<float>(value)) ++g_failures;
    ExpectBits("round trip", r[i], i);
    ExpectBits("from int", fi[i], Encode(static_cast<int>(i) - 32768.0, 'n'));
    if (std::isnan(value) || std::isinf(value)) continue;
    if (is[4 * i] != std::nearbyint(value) || is[4 * i + 1] != std::trunc(value) ||
        is[4 * i + 2] != std::floor(value) || is[4 * i + 3] != std::ceil(value)) {
      if (++g_failures < 20) std::printf("FAILED: half %04x to int\n", i);
    }
  }

  std::vector<float> in(2000);
  for (float& value : in)
    value = random.Float(-2, 2) * std::ldexp(1.0f, static_cast<int>(random.Below(44)) - 27);
  DeviceArray<float> din(in);
  DeviceArray<unsigned short> rounded(8000);
  Roundings<<<16, 128>>>(din.data(), rounded.data(), 2000);
  LAUNCH_OK();
  const auto q = rounded.Get();
  for (int i = 0; i < 2000; ++i) {
    for (int k = 0; k < 4; ++k) {
      const unsigned want = Encode(in[i], "nzdu"[k]);
      // A finite value too large for half stays finite when rounded towards zero or away from
      // overflow.
      ExpectBits("float to half", q[4 * i + k], want);
    }
  }
  std::printf("checked %d pairs and all 65536 values\n", n);
  return Finish();
}
