// NVCC:
// RUN: %kernelsmith run %x
// Tensor-core products through nvcuda::wmma: f16 with f32 and f16 accumulators in all three shapes
// and all layouts, and bf16. The data are small integers, so every sum is exact.
#include <mma.h>

#include "../check.h"

using namespace nvcuda;

template <typename T>
__device__ float ToFloat(T value) {
  return static_cast<float>(value);
}

// C (m x n, row major) = A (m x k) B (k x n) + C; one warp, one tile after the other along k.
template <typename In, typename Acc, int kM, int kN, int kK, typename LayoutA, typename LayoutB>
__global__ void Multiply(const In* a, const In* b, Acc* c, int k, int lda, int ldb, int ldc) {
  wmma::fragment<wmma::matrix_a, kM, kN, kK, In, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, kM, kN, kK, In, LayoutB> fb;
  wmma::fragment<wmma::accumulator, kM, kN, kK, Acc> fc;
  constexpr bool row_a = std::is_same_v<LayoutA, wmma::row_major>;
  constexpr bool row_b = std::is_same_v<LayoutB, wmma::row_major>;
  wmma::load_matrix_sync(fc, c, ldc, wmma::mem_row_major);
  for (int i = 0; i < k; i += kK) {
    wmma::load_matrix_sync(fa, a + (row_a ? i : i * lda), lda);
    wmma::load_matrix_sync(fb, b + (row_b ? i * ldb : i), ldb);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] * Acc(2);
  wmma::store_matrix_sync(c, fc, ldc, wmma::mem_row_major);
}

template <typename T>
std::vector<T> Convert(const std::vector<int>& values) {
  std::vector<T> out;
  for (int value : values) out.push_back(T(static_cast<float>(value)));
  return out;
}

template <typename In, typename Acc, int kM, int kN, int kK, typename LayoutA, typename LayoutB>
void Check(const char* name) {
  const int k = 2 * kK;
  Random random(31);
  const std::vector<int> a = random.Ints(kM * k, -4, 5), b = random.Ints(k * kN, -4, 5),
                         c = random.Ints(kM * kN, -9, 10);
  constexpr bool row_a = std::is_same_v<LayoutA, wmma::row_major>;
  constexpr bool row_b = std::is_same_v<LayoutB, wmma::row_major>;
  const int lda = row_a ? k : kM, ldb = row_b ? kN : k;
  std::vector<float> want(kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      int sum = c[i * kN + j];
      for (int l = 0; l < k; ++l) {
        sum +=
            (row_a ? a[i * lda + l] : a[l * lda + i]) * (row_b ? b[l * ldb + j] : b[j * ldb + l]);
      }
      want[i * kN + j] = static_cast<float>(2 * sum);
    }
  }
  DeviceArray<In> da(Convert<In>(a)), db(Convert<In>(b));
  DeviceArray<Acc> dc(Convert<Acc>(c));
  Multiply<In, Acc, kM, kN, kK, LayoutA, LayoutB>
      <<<1, 32>>>(da.data(), db.data(), dc.data(), k, lda, ldb, kN);
  LAUNCH_OK();
  std::vector<float> got;
  for (Acc value : dc.Get()) got.push_back(static_cast<float>(value));
  ExpectEqual(name, got, want);
  std::printf("%s %dx%dx%d: c[0] = %g\n", name, kM, kN, kK, want[0]);
}

int main() {
  using Row = wmma::row_major;
  using Col = wmma::col_major;
  Check<half, float, 16, 16, 16, Row, Row>("f16 rr");
  Check<half, float, 16, 16, 16, Row, Col>("f16 rc");
  Check<half, float, 16, 16, 16, Col, Row>("f16 cr");
  Check<half, float, 16, 16, 16, Col, Col>("f16 cc");
  Check<half, float, 32, 8, 16, Row, Col>("f16 wide");
  Check<half, float, 8, 32, 16, Col, Row>("f16 flat");
  Check<half, half, 16, 16, 16, Row, Col>("f16 into f16");
  Check<half, half, 32, 8, 16, Col, Col>("f16 into f16 wide");
  Check<__nv_bfloat16, float, 16, 16, 16, Row, Col>("bf16 rc");
  Check<__nv_bfloat16, float, 16, 16, 16, Col, Row>("bf16 cr");
  Check<__nv_bfloat16, float, 32, 8, 16, Row, Row>("bf16 wide");
  Check<__nv_bfloat16, float, 8, 32, 16, Col, Col>("bf16 flat");
  return Finish();
}
