// NVCC:
// RUN: %kernelsmith run %x
// The other wmma types: tf32, f64, and signed and unsigned 8-bit integers.
#include <mma.h>

#include "../check.h"

using namespace nvcuda;

__global__ void MultiplyTf32(const float* a, const float* b, float* c, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::fill_fragment(fc, 0.5f);
  for (int i = 0; i < k; i += 8) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i, k);
    for (int e = 0; e < fa.num_elements; ++e) fa.x[e] = wmma::__float_to_tf32(fa.x[e]);
    for (int e = 0; e < fb.num_elements; ++e) fb.x[e] = wmma::__float_to_tf32(fb.x[e]);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

__global__ void MultiplyDouble(const double* a, const double* b, double* c, int k) {
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> fc;
  wmma::fill_fragment(fc, 0.0);
  for (int i = 0; i < k; i += 4) {
    wmma::load_matrix_sync(fa, a + i * 8, 8);
    wmma::load_matrix_sync(fb, b + i * 8, 8);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c, fc, 8, wmma::mem_col_major);
}

template <typename In, int kM, int kN>
__global__ void MultiplyInt8(const In* a, const In* b, int* c, int k) {
  wmma::fragment<wmma::matrix_a, kM, kN, 16, In, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, kM, kN, 16, In, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, kM, kN, 16, int> fc;
  wmma::fill_fragment(fc, 0);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i, k);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c, fc, kN, wmma::mem_row_major);
}

// Keeps 10 bits of fraction, ties away from zero, as cvt.rna.tf32 does.
float RoundToTf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + 0x1000u) & 0xffffe000u;
  std::memcpy(&value, &bits, 4);
  return value;
}

template <typename In, int kM, int kN>
void CheckInt8(const char* name, int low, int high) {
  const int k = 48;
  Random random(17);
  std::vector<In> a(kM * k), b(kN * k);
  for (In& value : a) value = static_cast<In>(low + static_cast<int>(random.Below(high - low)));
  for (In& value : b) value = static_cast<In>(low + static_cast<int>(random.Below(high - low)));
  std::vector<int> want(kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      for (int l = 0; l < k; ++l) want[i * kN + j] += a[i * k + l] * b[j * k + l];
    }
  }
  DeviceArray<In> da(a), db(b);
  DeviceArray<int> dc(kM * kN);
  MultiplyInt8<In, kM, kN><<<1, 32>>>(da.data(), db.data(), dc.data(), k);
  LAUNCH_OK();
  ExpectEqual(name, dc.Get(), want);
  std::printf("%s: c[0] = %d\n", name, want[0]);
}

int main() {
  Random random(19);
  {
    const int k = 32;
    const std::vector<float> a = random.Floats(16 * k, -2, 2), b = random.Floats(16 * k, -2, 2);
    std::vector<double> want(256, 0.5);
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) {
        for (int l = 0; l < k; ++l) {
          want[i * 16 + j] +=
              static_cast<double>(RoundToTf32(a[i * k + l])) * RoundToTf32(b[j * k + l]);
        }
      }
    }
    DeviceArray<float> da(a), db(b), dc(256);
    MultiplyTf32<<<1, 32>>>(da.data(), db.data(), dc.data(), k);
    LAUNCH_OK();
    // Far below what unrounded inputs would differ by (about 1e-3).
    ExpectNear("tf32", dc.Get(), want, 0, 2e-5);
    std::printf("tf32: c[0] = %.5f\n", want[0]);
  }
  {
    const int k = 20;
    std::vector<double> a(8 * k), b(8 * k), want(64);
    for (double& value : a) value = random.Float(-1, 1);
    for (double& value : b) value = random.Float(-1, 1);
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        for (int l = 0; l < k; ++l) want[j * 8 + i] += a[l * 8 + i] * b[l * 8 + j];
      }
    }
    DeviceArray<double> da(a), db(b), dc(64);
    MultiplyDouble<<<1, 32>>>(da.data(), db.data(), dc.data(), k);
    LAUNCH_OK();
    ExpectNear("f64", dc.Get(), want, 0, 1e-14);
    std::printf("f64: c[0] = %.9f\n", want[0]);
  }
  CheckInt8<signed char, 16, 16>("s8", -128, 128);
  CheckInt8<unsigned char, 16, 16>("u8", 0, 256);
  CheckInt8<signed char, 32, 8>("s8 wide", -128, 128);
  CheckInt8<unsigned char, 8, 32>("u8 flat", 0, 256);
  return Finish();
}
