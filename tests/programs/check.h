// What the self-checking programs share: error checks, device buffers, a random generator that is
// the same on every machine, and comparisons that say what differed.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CUDA_OK(call)                                                                         \
  do {                                                                                        \
    cudaError_t status_ = (call);                                                             \
    if (status_ != cudaSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
      std::exit(2);                                                                           \
    }                                                                                         \
  } while (0)

// Waits for the kernels before it, so that a fault is reported at the launch that caused it.
#define LAUNCH_OK()                   \
  do {                                \
    CUDA_OK(cudaGetLastError());      \
    CUDA_OK(cudaDeviceSynchronize()); \
  } while (0)

inline int g_failures = 0;

inline void Expect(bool condition, const char* what) {
  if (condition) return;
  ++g_failures;
  std::printf("FAILED: %s\n", what);
}

// The last line of every program: `ok` and 0, or the number of failures and 1.
inline int Finish() {
  if (g_failures == 0) {
    std::printf("ok\n");
    return 0;
  }
  std::printf("%d checks failed\n", g_failures);
  return 1;
}

// An array in device memory that lives as long as the object.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) {
    CUDA_OK(cudaMalloc(&data_, (size == 0 ? 1 : size) * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) { Set(host); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  void Set(const std::vector<T>& host) {
    CUDA_OK(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  void Fill(int byte) { CUDA_OK(cudaMemset(data_, byte, size_ * sizeof(T))); }
  std::vector<T> Get() const {
    std::vector<T> host(size_);
    CUDA_OK(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

// splitmix64: small, good enough, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound).
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>((Bits() >> 32) * bound >> 32); }
  // Uniform in [low, high), with 24 random bits.
  float Float(float low, float high) {
    return low + (high - low) * (static_cast<float>(Bits() >> 40) / 16777216.0f);
  }
  std::vector<float> Floats(size_t count, float low, float high) {
    std::vector<float> values(count);
    for (float& value : values) value = Float(low, high);
    return values;
  }
  std::vector<int> Ints(size_t count, int low, int high) {
    std::vector<int> values(count);
    for (int& value : values) value = low + static_cast<int>(Below(high - low));
    return values;
  }

 private:
  uint64_t state_;
};

// Every element equal; reports the first few that are not.
template <typename T>
void ExpectEqual(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size()) {
    ++g_failures;
    std::printf("FAILED: %s: %zu elements, expected %zu\n", what, got.size(), want.size());
    return;
  }
  int wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;
    if (++wrong <= 4) {
      std::printf("%s[%zu] = %.17g, expected %.17g\n", what, i, static_cast<double>(got[i]),
                  static_cast<double>(want[i]));
    }
  }
  if (wrong == 0) return;
  ++g_failures;
  std::printf("FAILED: %s: %d of %zu elements differ\n", what, wrong, got.size());
}

template <typename T>
void ExpectEqual(const char* what, T got, T want) {
  if (got == want) return;
  ++g_failures;
  std::printf("FAILED: %s = %.17g, expected %.17g\n", what, static_cast<double>(got),
              static_cast<double>(want));
}

// |got - want| <= absolute + relative * |want| for every element. A NaN fails unless one is wanted.
template <typename T, typename U>
void ExpectNear(const char* what, const std::vector<T>& got, const std::vector<U>& want,
                double relative, double absolute) {
  if (got.size() != want.size()) {
    ++g_failures;
    std::printf("FAILED: %s: %zu elements, expected %zu\n", what, got.size(), want.size());
    return;
  }
  int wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double a = static_cast<double>(got[i]), b = static_cast<double>(want[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::fabs(a - b) <= absolute + relative * std::fabs(b)) continue;
    if (++wrong <= 4) std::printf("%s[%zu] = %.9g, expected %.9g\n", what, i, a, b);
  }
  if (wrong == 0) return;
  ++g_failures;
  std::printf("FAILED: %s: %d of %zu elements differ\n", what, wrong, got.size());
}
