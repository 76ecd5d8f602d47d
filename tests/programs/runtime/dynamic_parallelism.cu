// NVCC: -rdc=true
// RUN: %kernelsmith run %x
// Kernels that launch kernels: the order of streams, recursion, tail launches, fire and forget,
// copies, fills, memory and errors on the device.
#include "../check.h"

// What ran, in order. Kernels that write here are of one thread.
__device__ int g_log[64];
__device__ int g_logged;

__global__ void Log(int value) { g_log[atomicAdd(&g_logged, 1)] = value; }

__global__ void Scale(float* data, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}

// A child sees what its parent wrote before, and the next one sees the first.
__global__ void ScaleTwice(float* data, int n) {
  data[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x != 0) return;
  Scale<<<(n + 31) / 32, 32>>>(data, n, 2.0f);
  Scale<<<dim3((n + 63) / 64), dim3(64)>>>(data, n, 5.0f);
}

// Structs, alignment and dynamic shared memory.
struct Odd {
  char tag;
  double weight;
  short rest[3];
};

__global__ void Collect(char a, Odd odd, int* out, float b) {
  extern __shared__ int words[];
  words[threadIdx.x] = a + static_cast<int>(odd.weight) * 10 + odd.rest[2] * 100 + threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x] + static_cast<int>(b) * 1000;
}

__global__ void LaunchCollect(int* out) {
  Odd odd{'x', 3.0, {0, 0, 4}};
  Collect<<<1, 16, 16 * sizeof(int)>>>(1, odd, out, 7.0f);
}

// Each node of a binary tree counts itself.
__global__ void Tree(int* count, int depth) {
  if (threadIdx.x == 0) atomicAdd(count, 1);
  if (threadIdx.x < 2 && depth > 0) Tree<<<1, 32>>>(count, depth - 1);
}

// Ends too deep: the last launch fails, and the thread hears of it.
__global__ void Deep(int* reached, int* error, int depth) {
  *reached = depth;
  Deep<<<1, 1>>>(reached, error, depth + 1);
  const cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess) *error = result;
}

// A loop whose every round is a tail launch of the round before: no limit of depth.
__global__ void Countdown(int* rounds, int left) {
  ++*rounds;
  if (left > 1) Countdown<<<1, 1, 0, cudaStreamTailLaunch>>>(rounds, left - 1);
}

__global__ void Nested(int value) {
  Log<<<1, 1>>>(value + 1);
  Log<<<1, 1, 0, cudaStreamTailLaunch>>>(value + 2);
  Log<<<1, 1>>>(value);
}

__global__ void Order() {
  Log<<<1, 1, 0, cudaStreamTailLaunch>>>(99);
  Nested<<<1, 1>>>(10);
  cudaStream_t stream;
  cudaEvent_t event;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return;
  Nested<<<1, 1, 0, stream>>>(20);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(0, event, 0);
  Log<<<1, 1>>>(30);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
}

__global__ void Forget(int* sum) { atomicAdd(sum, 1); }
__global__ void ForgetMany(int* sum) { Forget<<<2, 8, 0, cudaStreamFireAndForget>>>(sum); }

// Behind the parent: a fill, a copy of part of it, and a kernel that uses the result.
__global__ void Move(int* to, int* from, int n) {
  cudaMemsetAsync(to, 0x11, n * sizeof(int), 0);
  cudaMemcpyAsync(to + 1, from, sizeof(int), cudaMemcpyDeviceToDevice, 0);
  Log<<<1, 1>>>(1);
}

__global__ void Errors(int* out, const float* elsewhere) {
  Log<<<1, 2048>>>(0);
  out[0] = cudaPeekAtLastError();
  out[1] = cudaGetLastError();
  out[2] = cudaGetLastError();
  Log<<<0, 1>>>(0);
  out[3] = cudaGetLastError();
  const char* text = cudaGetErrorString(cudaErrorInvalidConfiguration);
  out[4] = text[0];
  int* memory = nullptr;
  out[5] = cudaMalloc(&memory, 64);
  *memory = 5;
  out[6] = cudaFree(memory);
  out[7] = cudaFree(const_cast<float*>(elsewhere));
  int device = 7;
  cudaGetDevice(&device);
  out[8] = device;
  int threads = 0;
  cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0);
  out[9] = threads;
  cudaFuncAttributes attributes;
  out[10] = cudaFuncGetAttributes(&attributes, Scale);
  out[11] = attributes.maxThreadsPerBlock;
  cudaStream_t stream;
  out[12] = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
}

int main() {
  const int n = 100;
  DeviceArray<float> data(n);
  ScaleTwice<<<1, n>>>(data.data(), n);
  LAUNCH_OK();
  const std::vector<float> scaled = data.Get();
  bool right = true;
  for (int i = 0; i < n; ++i) right &= scaled[i] == 10.0f * i;
  Expect(right, "two launches in a row");

  DeviceArray<int> out(16);
  LaunchCollect<<<1, 1>>>(out.data());
  LAUNCH_OK();
  right = true;
  const std::vector<int> collected = out.Get();
  for (int i = 0; i < 16; ++i) right &= collected[i] == 1 + 30 + 400 + (15 - i) + 7000;
  Expect(right, "arguments of a launch on the device");

  out.Fill(0);
  Tree<<<1, 32>>>(out.data(), 6);
  LAUNCH_OK();
  Expect(out.Get()[0] == 127, "a tree of launches");

  out.Fill(0);
  Deep<<<1, 1>>>(out.data(), out.data() + 1, 0);
  LAUNCH_OK();
  Expect(out.Get()[0] == 24 && out.Get()[1] == cudaErrorLaunchMaxDepthExceeded,
         "depth of launches");

  out.Fill(0);
  Countdown<<<1, 1>>>(out.data(), 200);
  LAUNCH_OK();
  Expect(out.Get()[0] == 200, "tail launches");

  Order<<<1, 1>>>();
  LAUNCH_OK();
  int count = 0;
  int log[64];
  CUDA_OK(cudaMemcpyFromSymbol(&count, g_logged, sizeof count));
  CUDA_OK(cudaMemcpyFromSymbol(log, g_log, sizeof log));
  // Within one stream the order is given; between the two streams it is not, up to the event.
  const auto at = [&](int value) {
    for (int i = 0; i < count; ++i) {
      if (log[i] == value) return i;
    }
    return -1;
  };
  Expect(count == 8 && at(99) == 7 && at(30) == 6, "the tail comes last, the event holds");
  Expect(at(11) < at(10) && at(10) < at(12) && at(21) < at(20) && at(20) < at(22), "each in order");

  out.Fill(0);
  ForgetMany<<<3, 4>>>(out.data());
  LAUNCH_OK();
  Expect(out.Get()[0] == 3 * 4 * 16, "fire and forget");

  DeviceArray<int> to(4), from(std::vector<int>{42});
  Move<<<1, 1>>>(to.data(), from.data(), 4);
  LAUNCH_OK();
  Expect(to.Get() == std::vector<int>({0x11111111, 42, 0x11111111, 0x11111111}), "fill and copy");

  Errors<<<1, 1>>>(out.data(), data.data());
  LAUNCH_OK();
  const std::vector<int> seen = out.Get();
  Expect(seen[0] == cudaErrorInvalidConfiguration && seen[1] == seen[0] && seen[2] == cudaSuccess,
         "the last error");
  Expect(seen[3] == cudaErrorInvalidConfiguration && seen[4] == 'i', "no blocks; the error's text");
  Expect(seen[5] == cudaSuccess && seen[6] == cudaSuccess && seen[7] == cudaErrorInvalidValue,
         "memory of the device's heap");
  Expect(seen[8] == 0 && seen[9] == 1024 && seen[10] == cudaSuccess && seen[11] == 1024,
         "what the device is");
  Expect(seen[12] == cudaErrorInvalidValue, "only streams that block nobody");
  return Finish();
}
