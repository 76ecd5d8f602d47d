// cuBLAS: every product is a library call of the plan.
#include <cublas_v2.h>

#include <optional>

#include "plan/host/light_runtime.h"
#include "plan/library.h"

namespace kernelsmith::light {
namespace {

std::optional<c10::ScalarType> TypeOf(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
      return c10::kHalf;
    case CUDA_R_16BF:
      return c10::kBFloat16;
    case CUDA_R_32F:
      return c10::kFloat;
    case CUDA_R_64F:
      return c10::kDouble;
    default:
      return std::nullopt;
  }
}

// alpha and beta have the type that the product is computed in.
double ScalarOf(const void* value, c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Double:
      return *static_cast<const double*>(value);
    case c10::ScalarType::Half:
      return *static_cast<const c10::Half*>(value);
    default:
      return *static_cast<const float*>(value);
  }
}

struct Operand {
  const void* data;
  c10::ScalarType type;
  int64_t ld;
  int64_t batch_stride;
  bool transposed;
};

// Column-major storage as a batch of matrices with the transposition in the strides.
at::Tensor MatrixOf(const Operand& operand, int64_t batch, int64_t rows, int64_t columns) {
  return at::from_blob(const_cast<void*>(operand.data), {batch, rows, columns},
                       {operand.batch_stride, operand.transposed ? operand.ld : 1,
                        operand.transposed ? 1 : operand.ld},
                       at::TensorOptions(operand.type));
}

cublasStatus_t Gemm(int64_t m, int64_t n, int64_t k, double alpha, double beta, const Operand& a,
                    const Operand& b, const Operand& c, int64_t batch) {
  if (m < 0 || n < 0 || k < 0 || batch < 0 || a.ld < 1 || b.ld < 1 ||
      c.ld < std::max<int64_t>(1, m)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (m == 0 || n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  const at::Tensor result = MatrixOf(c, batch, m, n);
  if (!result.is_cuda()) return CUBLAS_STATUS_INVALID_VALUE;
  OpInto(kGemm, {MatrixOf(a, batch, m, k), MatrixOf(b, batch, k, n), result, alpha, beta},
         {result});
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t Typed(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                     const T* alpha, const T* a, int lda, long long stride_a, const T* b, int ldb,
                     long long stride_b, const T* beta, T* c, int ldc, long long stride_c,
                     int batch) {
  constexpr c10::ScalarType type = c10::CppTypeToScalarType<T>::value;
  return Gemm(m, n, k, ScalarOf(alpha, type), ScalarOf(beta, type),
              {a, type, lda, stride_a, op_a != CUBLAS_OP_N},
              {b, type, ldb, stride_b, op_b != CUBLAS_OP_N}, {c, type, ldc, stride_c, false},
              batch);
}

// Handles are compared and passed on, never looked into.
char handle_storage;
cudaStream_t handle_stream = nullptr;

}  // namespace
}  // namespace kernelsmith::light

using namespace kernelsmith::light;

namespace at::cuda {
cublasContext* getCurrentCUDABlasHandle() {
  return reinterpret_cast<cublasContext*>(&handle_storage);
}
}  // namespace at::cuda

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = at::cuda::getCurrentCUDABlasHandle();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t stream) {
  handle_stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream(cublasHandle_t, cudaStream_t* stream) {
  *stream = handle_stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t mode) {
  return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasSgemm(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                           int n, int k, const float* alpha, const float* a, int lda,
                           const float* b, int ldb, const float* beta, float* c, int ldc) {
  return Typed(op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
cublasStatus_t cublasDgemm(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                           int n, int k, const double* alpha, const double* a, int lda,
                           const double* b, int ldb, const double* beta, double* c, int ldc) {
  return Typed(op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                           int n, int k, const __half* alpha, const __half* a, int lda,
                           const __half* b, int ldb, const __half* beta, __half* c, int ldc) {
  return Typed(op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k,
                                         const float* alpha, const float* a, int lda,
                                         long long stride_a, const float* b, int ldb,
                                         long long stride_b, const float* beta, float* c, int ldc,
                                         long long stride_c, int batch) {
  return Typed(op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
               stride_c, batch);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType_t type_a,
                                          int lda, long long stride_a, const void* b,
                                          cudaDataType_t type_b, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType_t type_c, int ldc,
                                          long long stride_c, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t) {
  const auto ta = TypeOf(type_a), tb = TypeOf(type_b), tc = TypeOf(type_c);
  if (!ta || !tb || !tc) return CUBLAS_STATUS_NOT_SUPPORTED;
  const c10::ScalarType scalar = compute == CUBLAS_COMPUTE_64F   ? c10::kDouble
                                 : compute == CUBLAS_COMPUTE_16F ? c10::kHalf
                                                                 : c10::kFloat;
  return Gemm(m, n, k, ScalarOf(alpha, scalar), ScalarOf(beta, scalar),
              {a, *ta, lda, stride_a, op_a != CUBLAS_OP_N},
              {b, *tb, ldb, stride_b, op_b != CUBLAS_OP_N}, {c, *tc, ldc, stride_c, false}, batch);
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void* alpha, const void* a,
                            cudaDataType_t type_a, int lda, const void* b, cudaDataType_t type_b,
                            int ldb, const void* beta, void* c, cudaDataType_t type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algo) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b,
                                    type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute, algo);
}
cublasStatus_t cublasSgemv(cublasHandle_t, cublasOperation_t op, int m, int n, const float* alpha,
                           const float* a, int lda, const float* x, int incx, const float* beta,
                           float* y, int incy) {
  if (incx < 1 || incy < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool transposed = op != CUBLAS_OP_N;
  const int64_t rows = transposed ? n : m, inner = transposed ? m : n;
  // A vector is a matrix of one column whose rows lie `inc` apart.
  const at::Tensor result =
      at::from_blob(y, {1, rows, 1}, {0, incy, 1}, at::TensorOptions(c10::kFloat));
  OpInto(kernelsmith::kGemm,
         {MatrixOf({a, c10::kFloat, lda, 0, transposed}, 1, rows, inner),
          at::from_blob(const_cast<float*>(x), {1, inner, 1}, {0, incx, 1},
                        at::TensorOptions(c10::kFloat)),
          result, static_cast<double>(*alpha), static_cast<double>(*beta)},
         {result});
  return CUBLAS_STATUS_SUCCESS;
}
}
