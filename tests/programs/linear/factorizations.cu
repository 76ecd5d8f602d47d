// NVCC:
// RUN: %kernelsmith run %x
// Dense factorizations: Gaussian elimination with partial pivoting in one block, blocked LU without
// pivoting in three kernels a step, Cholesky, and a triangular solve; residuals in double.
#include "../check.h"

// Solves a x = b for one small system a block; b is the last column of the n x (n + 1) matrix.
__global__ void GaussJordan(double* systems, int n) {
  extern __shared__ double m[];
  __shared__ int pivot;
  const int w = n + 1, t = threadIdx.x;
  double* mine = systems + blockIdx.x * n * w;
  for (int i = t; i < n * w; i += blockDim.x) m[i] = mine[i];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    if (t == 0) {
      pivot = k;
      for (int r = k + 1; r < n; ++r) {
        if (fabs(m[r * w + k]) > fabs(m[pivot * w + k])) pivot = r;
      }
    }
    __syncthreads();
    if (pivot != k) {
      for (int c = t; c < w; c += blockDim.x) {
        const double swap = m[k * w + c];
        m[k * w + c] = m[pivot * w + c];
        m[pivot * w + c] = swap;
      }
    }
    __syncthreads();
    const double inverse = 1 / m[k * w + k];
    __syncthreads();
    for (int c = t; c < w; c += blockDim.x) m[k * w + c] *= inverse;
    __syncthreads();
    for (int r = t; r < n; r += blockDim.x) {
      if (r == k) continue;
      const double factor = m[r * w + k];
      for (int c = k; c < w; ++c) m[r * w + c] -= factor * m[k * w + c];
    }
    __syncthreads();
  }
  for (int i = t; i < n * w; i += blockDim.x) mine[i] = m[i];
}

constexpr int kB = 8;

__global__ void LuDiagonal(float* a, int n, int k) {
  __shared__ float tile[kB][kB];
  const int t = threadIdx.x;
  for (int r = 0; r < kB; ++r) tile[r][t] = a[(k + r) * n + k + t];
  __syncthreads();
  for (int i = 0; i < kB - 1; ++i) {
    if (t > i) tile[t][i] /= tile[i][i];
    __syncthreads();
    if (t > i) {
      for (int j = i + 1; j < kB; ++j) tile[t][j] -= tile[t][i] * tile[i][j];
    }
    __syncthreads();
  }
  for (int r = 0; r < kB; ++r) a[(k + r) * n + k + t] = tile[r][t];
}

// blockIdx.y 0: the row of U right of the diagonal block; 1: the column of L below it.
__global__ void LuPerimeter(float* a, int n, int k) {
  const int other = k + (blockIdx.x + 1) * kB, t = threadIdx.x;
  if (blockIdx.y == 0) {
    for (int i = 0; i < kB; ++i) {
      float sum = a[(k + i) * n + other + t];
      for (int j = 0; j < i; ++j) sum -= a[(k + i) * n + k + j] * a[(k + j) * n + other + t];
      a[(k + i) * n + other + t] = sum;
    }
  } else {
    for (int i = 0; i < kB; ++i) {
      float sum = a[(other + t) * n + k + i];
      for (int j = 0; j < i; ++j) sum -= a[(other + t) * n + k + j] * a[(k + j) * n + k + i];
      a[(other + t) * n + k + i] = sum / a[(k + i) * n + k + i];
    }
  }
}

__global__ void LuInternal(float* a, int n, int k) {
  const int row = k + (blockIdx.y + 1) * kB + threadIdx.y,
            col = k + (blockIdx.x + 1) * kB + threadIdx.x;
  float sum = 0;
  for (int j = 0; j < kB; ++j) sum += a[row * n + k + j] * a[(k + j) * n + col];
  a[row * n + col] -= sum;
}

// Cholesky by columns in one block, then a forward substitution by one warp.
__global__ void Cholesky(double* a, double* b, int n) {
  const int t = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    if (t == 0) a[k * n + k] = sqrt(a[k * n + k]);
    __syncthreads();
    for (int r = k + 1 + t; r < n; r += blockDim.x) a[r * n + k] /= a[k * n + k];
    __syncthreads();
    for (int i = t; i < (n - k - 1) * (n - k - 1); i += blockDim.x) {
      const int r = k + 1 + i / (n - k - 1), c = k + 1 + i % (n - k - 1);
      if (c <= r) a[r * n + c] -= a[r * n + k] * a[c * n + k];
    }
    __syncthreads();
  }
  if (t >= 32) return;
  for (int r = 0; r < n; ++r) {
    double sum = 0;
    for (int c = t; c < r; c += 32) sum += a[r * n + c] * b[c];
    for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(~0u, sum, o);
    if (t == 0) b[r] = (b[r] - sum) / a[r * n + r];
    __syncwarp();
  }
}

int main() {
  Random random(531);
  {
    const int n = 12, systems = 6, w = n + 1;
    std::vector<double> m(systems * n * w), x(systems * n), got(systems * n);
    for (int s = 0; s < systems; ++s) {
      for (int i = 0; i < n; ++i) x[s * n + i] = random.Float(-1, 1);
      for (int r = 0; r < n; ++r) {
        double* row = &m[(s * n + r) * w];
        for (int c = 0; c < n; ++c) {
          row[c] = r == c ? 0.0 : random.Float(-1, 1);  // zeros on the diagonal force pivoting
          row[n] += row[c] * x[s * n + c];
        }
      }
    }
    DeviceArray<double> device(m);
    GaussJordan<<<systems, 32, n * w * sizeof(double)>>>(device.data(), n);
    LAUNCH_OK();
    m = device.Get();
    for (int i = 0; i < systems * n; ++i) got[i] = m[i * w + n];
    ExpectNear("gauss-jordan", got, x, 1e-9, 1e-9);
  }
  {
    const int n = 48;
    std::vector<float> a = random.Floats(n * n, -1, 1);
    for (int i = 0; i < n; ++i) a[i * n + i] += 20;
    DeviceArray<float> device(a);
    for (int k = 0; k < n; k += kB) {
      LuDiagonal<<<1, kB>>>(device.data(), n, k);
      const int left = n / kB - k / kB - 1;
      if (left == 0) break;
      LuPerimeter<<<dim3(left, 2), kB>>>(device.data(), n, k);
      LuInternal<<<dim3(left, left), dim3(kB, kB)>>>(device.data(), n, k);
    }
    LAUNCH_OK();
    const std::vector<float> lu = device.Get();
    std::vector<double> product(n * n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        for (int k = 0; k <= std::min(i, j); ++k) {
          product[i * n + j] += (k == i ? 1.0 : lu[i * n + k]) * static_cast<double>(lu[k * n + j]);
        }
      }
    }
    ExpectNear("l u", product, a, 1e-5, 1e-5);
    std::printf("lu: last pivot %.4f\n", lu[n * n - 1]);
  }
  {
    const int n = 40;
    std::vector<double> half(n * n), a(n * n), b(n), reference;
    for (double& value : half) value = random.Float(-1, 1);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        a[i * n + j] = i == j ? n : 0;
        for (int k = 0; k < n; ++k) a[i * n + j] += half[i * n + k] * half[j * n + k];
      }
      b[i] = random.Float(-1, 1);
    }
    DeviceArray<double> da(a), db(b);
    Cholesky<<<1, 128>>>(da.data(), db.data(), n);
    LAUNCH_OK();
    const std::vector<double> l = da.Get(), y = db.Get();
    std::vector<double> product(n * n), ly(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        for (int k = 0; k <= std::min(i, j); ++k) product[i * n + j] += l[i * n + k] * l[j * n + k];
      }
      for (int k = 0; k <= i; ++k) ly[i] += l[i * n + k] * y[k];
    }
    ExpectNear("l l^T", product, a, 1e-12, 1e-12);
    ExpectNear("forward substitution", ly, b, 1e-12, 1e-12);
  }
  return Finish();
}
