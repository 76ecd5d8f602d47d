// NVCC:
// RUN: %kernelsmith run %x
// Merge sort: odd-even sort of small runs, then merging by merge paths, each thread finding its own
// piece by binary search on a diagonal. Keys are doubles with infinities and negative zeros.
#include <algorithm>

#include "../check.h"

constexpr int kRun = 64;

__global__ void SortRuns(double* data, int n) {
  __shared__ double run[kRun];
  const int base = blockIdx.x * kRun, count = min(kRun, n - base), t = threadIdx.x;
  if (t < count) run[t] = data[base + t];
  __syncthreads();
  for (int phase = 0; phase < count; ++phase) {
    const int i = 2 * t + (phase & 1);
    if (i + 1 < count && run[i] > run[i + 1]) {
      const double swap = run[i];
      run[i] = run[i + 1];
      run[i + 1] = swap;
    }
    __syncthreads();
  }
  if (t < count) data[base + t] = run[t];
}

// How many of the first `diagonal` merged elements come from a.
__device__ int MergePath(const double* a, int na, const double* b, int nb, int diagonal) {
  int low = max(0, diagonal - nb), high = min(diagonal, na);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void MergeRuns(const double* in, double* out, int n, int width) {
  constexpr int kPer = 8;
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kPer;
  if (first >= n) return;
  const int start = first / (2 * width) * (2 * width);
  const int middle = min(start + width, n), end = min(start + 2 * width, n);
  const double *a = in + start, *b = in + middle;
  const int na = middle - start, nb = end - middle;
  int i = MergePath(a, na, b, nb, first - start), j = first - start - i;
  for (int k = 0; k < kPer && first + k < end; ++k) {
    const bool from_a = j >= nb || (i < na && a[i] <= b[j]);
    out[first + k] = from_a ? a[i++] : b[j++];
  }
}

int main() {
  Random random(151);
  for (int n : {1, 63, 64, 500, 4001}) {
    std::vector<double> data(n);
    for (double& value : data)
      value = random.Float(-1000, 1000) * (random.Below(2) ? 1e200 : 1e-200);
    if (n > 100) {
      data[7] = INFINITY;
      data[8] = -INFINITY;
      data[9] = 0.0;
      data[11] = -0.0;
    }
    DeviceArray<double> a(data), b(n);
    SortRuns<<<(n + kRun - 1) / kRun, kRun>>>(a.data(), n);
    double *from = a.data(), *to = b.data();
    for (int width = kRun; width < n; width *= 2) {
      MergeRuns<<<(n + 511) / 512, 64>>>(from, to, n, width);
      std::swap(from, to);
    }
    LAUNCH_OK();
    std::vector<double> got(n);
    CUDA_OK(cudaMemcpy(got.data(), from, n * sizeof(double), cudaMemcpyDeviceToHost));
    std::sort(data.begin(), data.end());
    ExpectEqual("sorted", got, data);
    std::printf("n = %d: from %g to %g\n", n, data[0], data[n - 1]);
  }
  return Finish();
}
