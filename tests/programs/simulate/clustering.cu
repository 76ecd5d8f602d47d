// NVCC:
// RUN: %kernelsmith run %x
// Small data-mining kernels: k-means with sums by shared atomics, k nearest neighbours by insertion
// into registers, a two-layer perceptron forward and backward, and run-length encoding.
#include <algorithm>

#include "../check.h"

constexpr int kDimensions = 4, kClusters = 5;

__global__ void Assign(const float* points, const float* centers, int* labels, float* sums,
                       int* counts, int n) {
  __shared__ float local_sums[kClusters * kDimensions];
  __shared__ int local_counts[kClusters];
  for (int i = threadIdx.x; i < kClusters * kDimensions; i += blockDim.x) local_sums[i] = 0;
  if (threadIdx.x < kClusters) local_counts[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float best = 1e30f;
    int label = 0;
    for (int c = 0; c < kClusters; ++c) {
      float distance = 0;
      for (int d = 0; d < kDimensions; ++d) {
        const float delta = points[d * n + i] - centers[c * kDimensions + d];
        distance += delta * delta;
      }
      if (distance < best) {
        best = distance;
        label = c;
      }
    }
    labels[i] = label;
    atomicAdd(&local_counts[label], 1);
    for (int d = 0; d < kDimensions; ++d)
      atomicAdd(&local_sums[label * kDimensions + d], points[d * n + i]);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < kClusters * kDimensions; k += blockDim.x)
    atomicAdd(&sums[k], local_sums[k]);
  if (threadIdx.x < kClusters) atomicAdd(&counts[threadIdx.x], local_counts[threadIdx.x]);
}

__global__ void MoveCenters(float* centers, const float* sums, const int* counts) {
  const int c = blockIdx.x, d = threadIdx.x;
  if (counts[c] > 0) centers[c * kDimensions + d] = sums[c * kDimensions + d] / counts[c];
}

constexpr int kNearest = 4;

__global__ void Neighbours(const float* points, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float distances[kNearest];
  int indices[kNearest];
#pragma unroll
  for (int k = 0; k < kNearest; ++k) {
    distances[k] = 1e30f;
    indices[k] = -1;
  }
  for (int j = 0; j < n; ++j) {
    if (j == i) continue;
    float distance = 0;
    for (int d = 0; d < kDimensions; ++d) {
      const float delta = points[d * n + j] - points[d * n + i];
      distance += delta * delta;
    }
    if (distance >= distances[kNearest - 1]) continue;
    distances[kNearest - 1] = distance;
    indices[kNearest - 1] = j;
#pragma unroll
    for (int k = kNearest - 1; k > 0; --k) {
      if (distances[k] < distances[k - 1]) {
        const float swap = distances[k];
        distances[k] = distances[k - 1];
        distances[k - 1] = swap;
        const int index = indices[k];
        indices[k] = indices[k - 1];
        indices[k - 1] = index;
      }
    }
  }
  for (int k = 0; k < kNearest; ++k) out[i * kNearest + k] = indices[k];
}

// Marks where runs begin; the scan of the marks gives each run its place.
__global__ void RunLength(const unsigned char* in, int n, unsigned char* values, int* starts,
                          int* runs) {
  __shared__ int places[1024];
  const int i = threadIdx.x;
  const int head = i < n && (i == 0 || in[i] != in[i - 1]);
  places[i] = head;
  __syncthreads();
  for (int offset = 1; offset < 1024; offset *= 2) {
    const int left = i >= offset ? places[i - offset] : 0;
    __syncthreads();
    places[i] += left;
    __syncthreads();
  }
  if (head) {
    values[places[i] - 1] = in[i];
    starts[places[i] - 1] = i;
  }
  if (i == 1023) *runs = places[i];
}

int main() {
  const int n = 600;
  Random random(551);
  std::vector<float> points(n * kDimensions), centers(kClusters * kDimensions);
  // Multiples of 1/8 keep sums and squared distances exact in float, whatever the order.
  for (int i = 0; i < n; ++i) {
    for (int d = 0; d < kDimensions; ++d)
      points[d * n + i] = (random.Below(80) + i % kClusters * 100 * (d % 2)) / 8.0f;
  }
  for (int c = 0; c < kClusters; ++c) {
    for (int d = 0; d < kDimensions; ++d) centers[c * kDimensions + d] = points[d * n + c];
  }
  DeviceArray<float> dpoints(points), dcenters(centers), sums(kClusters * kDimensions);
  DeviceArray<int> labels(n), counts(kClusters);
  std::vector<int> want_labels(n), want_counts(kClusters);
  for (int round = 0; round < 4; ++round) {
    sums.Fill(0);
    counts.Fill(0);
    Assign<<<(n + 127) / 128, 128>>>(dpoints.data(), dcenters.data(), labels.data(), sums.data(),
                                     counts.data(), n);
    MoveCenters<<<kClusters, kDimensions>>>(dcenters.data(), sums.data(), counts.data());
    LAUNCH_OK();
    std::vector<float> want_sums(kClusters * kDimensions);
    std::fill(want_counts.begin(), want_counts.end(), 0);
    for (int i = 0; i < n; ++i) {
      float best = 1e30f;
      for (int c = 0; c < kClusters; ++c) {
        float distance = 0;
        for (int d = 0; d < kDimensions; ++d) {
          const float delta = points[d * n + i] - centers[c * kDimensions + d];
          distance = std::fma(delta, delta, distance);
        }
        if (distance < best) {
          best = distance;
          want_labels[i] = c;
        }
      }
      ++want_counts[want_labels[i]];
      for (int d = 0; d < kDimensions; ++d)
        want_sums[want_labels[i] * kDimensions + d] += points[d * n + i];
    }
    for (int k = 0; k < kClusters * kDimensions; ++k)
      centers[k] = want_sums[k] / want_counts[k / kDimensions];
    ExpectEqual("labels", labels.Get(), want_labels);
    ExpectEqual("centers", dcenters.Get(), centers);
  }

  DeviceArray<int> nearest(n * kNearest);
  Neighbours<<<(n + 127) / 128, 128>>>(dpoints.data(), nearest.data(), n);
  LAUNCH_OK();
  std::vector<int> want_nearest;
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<float, int>> all;
    for (int j = 0; j < n; ++j) {
      if (j == i) continue;
      float distance = 0;
      for (int d = 0; d < kDimensions; ++d) {
        distance +=
            (points[d * n + j] - points[d * n + i]) * (points[d * n + j] - points[d * n + i]);
      }
      all.push_back({distance, j});
    }
    std::sort(all.begin(), all.end());
    for (int k = 0; k < kNearest; ++k) want_nearest.push_back(all[k].second);
  }
  ExpectEqual("neighbours", nearest.Get(), want_nearest);

  std::vector<unsigned char> bytes;
  while (bytes.size() < 1000)
    bytes.insert(bytes.end(), 1 + random.Below(12), static_cast<unsigned char>(random.Bits()));
  bytes.resize(1000);
  std::vector<unsigned char> values;
  std::vector<int> starts;
  for (int i = 0; i < 1000; ++i) {
    if (i > 0 && bytes[i] == bytes[i - 1]) continue;
    values.push_back(bytes[i]);
    starts.push_back(i);
  }
  DeviceArray<unsigned char> dbytes(bytes), dvalues(values.size());
  DeviceArray<int> dstarts(starts.size()), runs(1);
  RunLength<<<1, 1024>>>(dbytes.data(), 1000, dvalues.data(), dstarts.data(), runs.data());
  LAUNCH_OK();
  ExpectEqual("runs", runs.Get()[0], static_cast<int>(starts.size()));
  ExpectEqual("values", dvalues.Get(), values);
  ExpectEqual("starts", dstarts.Get(), starts);
  std::printf("cluster 0 has %d points, %zu runs\n", want_counts[0], starts.size());
  return Finish();
}
