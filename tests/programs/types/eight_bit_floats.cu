// NVCC:
// RUN: %kernelsmith run %x
// FP8: e4m3 and e5m2 to half and float, all 256 values, and floats rounded to them with saturation;
// atomics on half and half2; complex numbers.
#include <cuComplex.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "../check.h"

__global__ void Decode(float* e4m3, float* e5m2) {
  const int i = threadIdx.x;
  __nv_fp8_e4m3 a;
  __nv_fp8_e5m2 b;
  a.__x = static_cast<__nv_fp8_storage_t>(i);
  b.__x = static_cast<__nv_fp8_storage_t>(i);
  e4m3[i] = static_cast<float>(a);
  e5m2[i] = static_cast<float>(b);
}

__global__ void Encode(const float* in, unsigned char* e4m3, unsigned char* e5m2, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  e4m3[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E4M3);
  e5m2[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E5M2);
}

// The value of a small float with the given widths; e4m3 has NaN but no infinity.
double Value(int bits, int exponent_bits, int fraction_bits) {
  const int sign = bits >> 7, exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
  double value;
  if (exponent_bits == 5 && exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else if (exponent_bits == 4 && exponent == 15 && fraction == 7) {
    value = NAN;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    value = std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  }
  return sign ? -value : value;
}

// The nearest finite value, ties to even, by trying them all.
int Nearest(double x, int exponent_bits, int fraction_bits) {
  if (std::isnan(x)) return 0x7f;
  if (std::isinf(x)) x = std::copysign(1e9, x);
  int best = 0;
  for (int bits = 0; bits < 128; ++bits) {
    const double value = Value(bits, exponent_bits, fraction_bits);
    if (!std::isfinite(value)) continue;
    const double now = std::fabs(value - std::fabs(x));
    const double before = std::fabs(Value(best, exponent_bits, fraction_bits) - std::fabs(x));
    if (now < before || (now == before && bits % 2 == 0)) best = bits;
  }
  return best | (std::signbit(x) ? 0x80 : 0);
}

__global__ void HalfAtomics(half* sum, half2* pair) {
  atomicAdd(sum, __float2half(0.5f));
  atomicAdd(pair, __floats2half2_rn(1.0f, -2.0f));
}

__global__ void ShortSwaps(unsigned short* cells, int* wins) {
  // Each thread tries to claim the cell of its neighbour; exactly one of eight succeeds.
  const unsigned short mine = static_cast<unsigned short>(threadIdx.x + 1);
  if (atomicCAS(&cells[threadIdx.x / 8], static_cast<unsigned short>(0), mine) == 0)
    atomicAdd(wins, 1);
}

__global__ void Complex(const cuFloatComplex* a, const cuDoubleComplex* b, cuFloatComplex* c,
                        cuDoubleComplex* d) {
  const int i = threadIdx.x;
  c[i] = cuCaddf(cuCmulf(a[i], a[i]), make_cuFloatComplex(cuCabsf(a[i]), 0));
  d[i] = cuCdiv(b[i], cuCsub(cuConj(b[i]), make_cuDoubleComplex(0.5, 0.25)));
}

int main() {
  DeviceArray<float> e4(256), e5(256);
  Decode<<<1, 256>>>(e4.data(), e5.data());
  LAUNCH_OK();
  std::vector<double> want4, want5;
  for (int i = 0; i < 256; ++i) {
    want4.push_back(Value(i, 4, 3));
    want5.push_back(Value(i, 5, 2));
  }
  ExpectNear("e4m3 to float", e4.Get(), want4, 0, 0);
  ExpectNear("e5m2 to float", e5.Get(), want5, 0, 0);

  const int n = 1000;
  Random random(521);
  std::vector<float> in(n);
  for (float& x : in)
    x = random.Float(-2, 2) * std::ldexp(1.0f, static_cast<int>(random.Below(36)) - 18);
  in[0] = NAN;
  in[1] = 1e9f;
  in[2] = -1e9f;
  in[3] = INFINITY;
  in[4] = 0;
  std::vector<unsigned char> w4(n), w5(n);
  for (int i = 0; i < n; ++i) {
    w4[i] = static_cast<unsigned char>(Nearest(in[i], 4, 3));
    w5[i] = static_cast<unsigned char>(Nearest(in[i], 5, 2));
  }
  DeviceArray<float> din(in);
  DeviceArray<unsigned char> o4(n), o5(n);
  Encode<<<8, 128>>>(din.data(), o4.data(), o5.data(), n);
  LAUNCH_OK();
  auto without_nan = [](std::vector<unsigned char> v) {
    v[0] = 0;  // NaN has several encodings in e5m2, and may keep its sign
    return v;
  };
  ExpectEqual("float to e4m3", without_nan(o4.Get()), without_nan(w4));
  ExpectEqual("float to e5m2", without_nan(o5.Get()), without_nan(w5));
  Expect((o4.Get()[0] & 0x7f) == 0x7f && (o5.Get()[0] & 0x7f) > 0x7c, "NaN stays NaN");

  DeviceArray<half> sum(1);
  DeviceArray<half2> pair(1);
  sum.Fill(0);
  pair.Fill(0);
  HalfAtomics<<<2, 100>>>(sum.data(), pair.data());
  LAUNCH_OK();
  ExpectEqual("half sum", __half2float(sum.Get()[0]), 100.0f);
  ExpectEqual("half2 sum, low", __half2float(__low2half(pair.Get()[0])), 200.0f);
  ExpectEqual("half2 sum, high", __half2float(__high2half(pair.Get()[0])), -400.0f);

  DeviceArray<unsigned short> cells(16);
  DeviceArray<int> wins(1);
  cells.Fill(0);
  wins.Fill(0);
  ShortSwaps<<<1, 128>>>(cells.data(), wins.data());
  LAUNCH_OK();
  ExpectEqual("16-bit swaps that won", wins.Get()[0], 16);
  const std::vector<unsigned short> owners = cells.Get();
  for (int i = 0; i < 16; ++i)
    Expect(owners[i] > 8 * i && owners[i] <= 8 * i + 8, "an owner from its own eight");

  std::vector<cuFloatComplex> a(32);
  std::vector<cuDoubleComplex> b(32);
  std::vector<double> want_c, want_d, got_c, got_d;
  for (int i = 0; i < 32; ++i) {
    a[i] = make_cuFloatComplex(random.Float(-2, 2), random.Float(-2, 2));
    b[i] = make_cuDoubleComplex(random.Float(1, 2), random.Float(1, 2));
    const double x = a[i].x, y = a[i].y, p = b[i].x, q = b[i].y;
    want_c.insert(want_c.end(), {x * x - y * y + std::hypot(x, y), 2 * x * y});
    const double u = p - 0.5, v = -q - 0.25, m = u * u + v * v;
    want_d.insert(want_d.end(), {(p * u + q * v) / m, (q * u - p * v) / m});
  }
  DeviceArray<cuFloatComplex> da(a), dc(32);
  DeviceArray<cuDoubleComplex> db(b), dd(32);
  Complex<<<1, 32>>>(da.data(), db.data(), dc.data(), dd.data());
  LAUNCH_OK();
  for (const auto& z : dc.Get()) got_c.insert(got_c.end(), {z.x, z.y});
  for (const auto& z : dd.Get()) got_d.insert(got_d.end(), {z.x, z.y});
  ExpectNear("complex float", got_c, want_c, 1e-6, 1e-6);
  ExpectNear("complex double", got_d, want_d, 1e-14, 1e-14);
  std::printf("largest e4m3 %g, largest e5m2 %g\n", Value(0x7e, 4, 3), Value(0x7b, 5, 2));
  return Finish();
}
