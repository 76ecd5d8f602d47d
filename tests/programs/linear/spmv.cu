// NVCC:
// RUN: %kernelsmith run %x
// Sparse matrix times vector: CSR with one thread a row, CSR with one warp a row, ELLPACK, and COO
// with atomics; and a conjugate-gradient solve on top.
#include <map>

#include "../check.h"

__global__ void CsrScalar(int rows, const int* offsets, const int* columns, const double* values,
                          const double* x, double* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int e = offsets[row]; e < offsets[row + 1]; ++e) sum += values[e] * x[columns[e]];
  y[row] = sum;
}

__global__ void CsrVector(int rows, const int* offsets, const int* columns, const double* values,
                          const double* x, double* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (row >= rows) return;
  double sum = 0;
  for (int e = offsets[row] + lane; e < offsets[row + 1]; e += 32) sum += values[e] * x[columns[e]];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(~0u, sum, o);
  if (lane == 0) y[row] = sum;
}

__global__ void Ell(int rows, int width, const int* columns, const double* values, const double* x,
                    double* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int i = 0; i < width; ++i) {
    const int column = columns[i * rows + row];
    if (column >= 0) sum += values[i * rows + row] * x[column];
  }
  y[row] = sum;
}

__global__ void Coo(int count, const int* row, const int* column, const double* values,
                    const double* x, double* y) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < count) atomicAdd(&y[row[e]], values[e] * x[column[e]]);
}

__global__ void Dot(const double* a, const double* b, int n, double* out) {
  __shared__ double parts[128];
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += 128) sum += a[i] * b[i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (threadIdx.x < s) parts[threadIdx.x] += parts[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = parts[0];
}

__global__ void Combine(double* out, const double* a, double s, const double* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + s * b[i];
}

int main() {
  const int n = 500;
  Random random(191);
  std::vector<std::map<int, double>> matrix(n);
  for (int i = 0; i < n; ++i) {  // symmetric and diagonally dominant
    matrix[i][i] += 12;
    for (int e = 0; e < 3; ++e) {
      const int j = random.Below(n);
      const double value = random.Float(-1, 1);
      matrix[i][j] += value;
      if (i != j) matrix[j][i] += value;
    }
  }
  std::vector<int> offsets{0}, columns, rows;
  std::vector<double> values;
  size_t width = 0;
  for (int i = 0; i < n; ++i) {
    for (const auto& [j, value] : matrix[i]) {
      rows.push_back(i);
      columns.push_back(j);
      values.push_back(value);
    }
    offsets.push_back(static_cast<int>(columns.size()));
    width = std::max(width, matrix[i].size());
  }
  std::vector<int> ell_columns(width * n, -1);
  std::vector<double> ell_values(width * n), x(n), want(n);
  for (int i = 0; i < n; ++i) {
    x[i] = random.Float(-1, 1);
    for (int e = offsets[i]; e < offsets[i + 1]; ++e) {
      ell_columns[(e - offsets[i]) * n + i] = columns[e];
      ell_values[(e - offsets[i]) * n + i] = values[e];
    }
  }
  for (size_t e = 0; e < values.size(); ++e) want[rows[e]] += values[e] * x[columns[e]];

  const int count = static_cast<int>(values.size()), blocks = (n + 63) / 64;
  DeviceArray<int> doffsets(offsets), dcolumns(columns), drows(rows), dell_columns(ell_columns);
  DeviceArray<double> dvalues(values), dell_values(ell_values), dx(x), dy(n);
  CsrScalar<<<blocks, 64>>>(n, doffsets.data(), dcolumns.data(), dvalues.data(), dx.data(),
                            dy.data());
  LAUNCH_OK();
  ExpectNear("csr scalar", dy.Get(), want, 1e-13, 1e-13);
  CsrVector<<<(n + 3) / 4, 128>>>(n, doffsets.data(), dcolumns.data(), dvalues.data(), dx.data(),
                                  dy.data());
  LAUNCH_OK();
  ExpectNear("csr vector", dy.Get(), want, 1e-13, 1e-13);
  Ell<<<blocks, 64>>>(n, static_cast<int>(width), dell_columns.data(), dell_values.data(),
                      dx.data(), dy.data());
  LAUNCH_OK();
  ExpectNear("ell", dy.Get(), want, 1e-13, 1e-13);
  dy.Fill(0);
  Coo<<<(count + 127) / 128, 128>>>(count, drows.data(), dcolumns.data(), dvalues.data(), dx.data(),
                                    dy.data());
  LAUNCH_OK();
  ExpectNear("coo", dy.Get(), want, 1e-13, 1e-13);

  // Conjugate gradients find x again from want = A x.
  DeviceArray<double> solution(n), r(want), p(want), ap(n), scalar(1);
  solution.Fill(0);
  auto dot = [&](const DeviceArray<double>& a, const DeviceArray<double>& b) {
    Dot<<<1, 128>>>(a.data(), b.data(), n, scalar.data());
    LAUNCH_OK();
    return scalar.Get()[0];
  };
  double rr = dot(r, r);
  int steps = 0;
  while (rr > 1e-24 && steps < 100) {
    CsrScalar<<<blocks, 64>>>(n, doffsets.data(), dcolumns.data(), dvalues.data(), p.data(),
                              ap.data());
    const double alpha = rr / dot(p, ap);
    Combine<<<blocks, 64>>>(solution.data(), solution.data(), alpha, p.data(), n);
    Combine<<<blocks, 64>>>(r.data(), r.data(), -alpha, ap.data(), n);
    const double next = dot(r, r);
    Combine<<<blocks, 64>>>(p.data(), r.data(), next / rr, p.data(), n);
    rr = next;
    ++steps;
  }
  ExpectNear("conjugate gradients", solution.Get(), x, 1e-10, 1e-10);
  std::printf("%d entries, width %zu, solved in %s 100 steps\n", count, width,
              steps < 100 ? "fewer than" : "not");
  return Finish();
}
