// NVCC:
// RUN: %kernelsmith run %x
// bfloat16: arithmetic, fma, packed operations, conversions and atomics, against float arithmetic
// rounded once on the host.
#include <cuda_bf16.h>

#include "../check.h"

using bf16 = __nv_bfloat16;
using bf162 = __nv_bfloat162;

__global__ void Scalar(const bf16* a, const bf16* b, const bf16* c, bf16* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bf16* row = out + i * 6;
  row[0] = a[i] + b[i];
  row[1] = a[i] - b[i];
  row[2] = a[i] * b[i];
  row[3] = __hfma(a[i], b[i], c[i]);
  row[4] = __hmax(a[i], b[i]);
  row[5] = -__habs(b[i]);
}

__global__ void Packed(const bf162* a, const bf162* b, const bf162* c, bf162* out, float2* floats,
                       int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i * 3] = __hfma2(a[i], b[i], c[i]);
  out[i * 3 + 1] = __hadd2(a[i], b[i]);
  const float2 x = __bfloat1622float2(a[i]);
  out[i * 3 + 2] = __floats2bfloat162_rn(x.y * 3.0f, x.x / 7.0f);
  floats[i] = make_float2(__low2float(b[i]), __high2float(b[i]));
}

__global__ void Roundings(const float* in, bf16* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[4 * i] = __float2bfloat16_rn(in[i]);
  out[4 * i + 1] = __float2bfloat16_rz(in[i]);
  out[4 * i + 2] = __float2bfloat16_rd(in[i]);
  out[4 * i + 3] = __float2bfloat16_ru(in[i]);
}

__global__ void Atomics(bf16* sum, bf162* pair, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    atomicAdd(sum, __float2bfloat16(1.0f));
    atomicAdd(pair, __floats2bfloat162_rn(1.0f, 2.0f));
  }
}

float Float(unsigned bits) {
  bits <<= 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// Rounds a double by comparing the two neighbours.
unsigned Encode(double x, char mode) {
  if (std::isnan(x)) return 0x7fff;
  const unsigned sign = std::signbit(x) ? 0x8000 : 0;
  const double m = std::fabs(x);
  if (std::isinf(m)) return sign | 0x7f80;
  unsigned low = 0, high = 0x7f80;
  auto magnitude = [](unsigned bits) {
    return bits == 0x7f80 ? std::ldexp(1.0, 128) : Float(bits);
  };
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (magnitude(middle) <= m ? low : high) = middle;
  }
  if (magnitude(low) == m) return sign | low;
  if (mode == 'z' || (mode == 'u' && sign != 0) || (mode == 'd' && sign == 0)) return sign | low;
  if (mode != 'n') return sign | high;
  const double below = m - magnitude(low), above = magnitude(high) - m;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

unsigned Bits(bf16 value) { return static_cast<__nv_bfloat16_raw>(value).x; }
bf16 FromBits(unsigned bits) {
  __nv_bfloat16_raw raw;
  raw.x = static_cast<unsigned short>(bits);
  return bf16(raw);
}

void ExpectBits(const char* what, unsigned got, unsigned want) {
  const bool nan = (want & 0x7fff) > 0x7f80;
  if (nan ? (got & 0x7fff) > 0x7f80 : got == want) return;
  if (++g_failures < 20) std::printf("FAILED: %s = %04x, expected %04x\n", what, got, want);
}

int main() {
  const int n = 2048;
  Random random(321);
  std::vector<bf16> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = FromBits(0x3e00 + random.Below(0x300) + (random.Below(2) << 15));
    b[i] = FromBits(0x3e00 + random.Below(0x300) + (random.Below(2) << 15));
    c[i] = FromBits(0x3e00 + random.Below(0x300) + (random.Below(2) << 15));
    if (i % 50 == 0) a[i] = FromBits(random.Below(65536));
  }
  DeviceArray<bf16> da(a), db(b), dc(c), out(n * 6), packed(n * 3);
  DeviceArray<float> floats(n);
  Scalar<<<n / 64, 64>>>(da.data(), db.data(), dc.data(), out.data(), n);
  LAUNCH_OK();
  const auto s = out.Get();
  for (int i = 0; i < n; ++i) {
    const double x = Float(Bits(a[i])), y = Float(Bits(b[i])), z = Float(Bits(c[i]));
    ExpectBits("add", Bits(s[i * 6]), Encode(x + y, 'n'));
    ExpectBits("sub", Bits(s[i * 6 + 1]), Encode(x - y, 'n'));
    ExpectBits("mul", Bits(s[i * 6 + 2]), Encode(x * y, 'n'));
    // Far apart, x y + z does not fit a double, and the reference would round twice.
    const bool near = std::isnan(x) || (std::fabs(x) > 1e-5 && std::fabs(x) < 1e5);
    if (near) ExpectBits("fma", Bits(s[i * 6 + 3]), Encode(x * y + z, 'n'));
    ExpectBits("max", Bits(s[i * 6 + 4]), Encode(std::fmax(x, y), 'n'));
    ExpectBits("neg abs", Bits(s[i * 6 + 5]), Bits(b[i]) | 0x8000);
  }
  Packed<<<n / 2 / 64, 64>>>(
      reinterpret_cast<bf162*>(da.data()), reinterpret_cast<bf162*>(db.data()),
      reinterpret_cast<bf162*>(dc.data()), reinterpret_cast<bf162*>(packed.data()),
      reinterpret_cast<float2*>(floats.data()), n / 2);
  LAUNCH_OK();
  const auto p = packed.Get();
  const auto f = floats.Get();
  for (int i = 0; i < n; ++i) {
    const double x = Float(Bits(a[i])), y = Float(Bits(b[i])), z = Float(Bits(c[i]));
    const bf16* row = &p[i / 2 * 6];
    const bool near = std::isnan(x) || (std::fabs(x) > 1e-5 && std::fabs(x) < 1e5);
    if (near) ExpectBits("fma2", Bits(row[i % 2]), Encode(x * y + z, 'n'));
    ExpectBits("add2", Bits(row[2 + i % 2]), Encode(x + y, 'n'));
    const float other = Float(Bits(a[i ^ 1]));
    ExpectBits("pack", Bits(row[4 + i % 2]), Encode(i % 2 == 0 ? other * 3.0f : other / 7.0f, 'n'));
    ExpectEqual("unpack", f[i], Float(Bits(b[i])));
  }

  std::vector<float> in(1000);
  for (float& value : in)
    value = random.Float(-2, 2) * std::ldexp(1.0f, static_cast<int>(random.Below(250)) - 130);
  in[0] = 3.4e38f;
  in[1] = -3.4e38f;
  in[2] = NAN;
  DeviceArray<float> din(in);
  DeviceArray<bf16> rounded(4000);
  Roundings<<<8, 128>>>(din.data(), rounded.data(), 1000);
  LAUNCH_OK();
  const auto q = rounded.Get();
  for (int i = 0; i < 4000; ++i)
    ExpectBits("float to bf16", Bits(q[i]), Encode(in[i / 4], "nzdu"[i % 4]));

  DeviceArray<bf16> sum(1);
  DeviceArray<bf162> pair(1);
  sum.Fill(0);
  pair.Fill(0);
  Atomics<<<1, 32>>>(sum.data(), pair.data(), 6);  // up to 192 counts exactly with 8 bits
  LAUNCH_OK();
  ExpectEqual("atomic sum", __bfloat162float(sum.Get()[0]), 192.0f);
  const bf162 both = pair.Get()[0];
  ExpectEqual("atomic pair, low", __bfloat162float(both.x), 192.0f);
  ExpectEqual("atomic pair, high", __bfloat162float(both.y), 384.0f);
  std::printf("checked %d values\n", n);
  return Finish();
}
