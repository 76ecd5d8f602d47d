// NVCC:
// RUN: %kernelsmith run %x
// Streams and events: work in several streams ordered by events, elapsed time, priorities,
// callbacks and host functions in stream order, queries, and the legacy default stream.
#include "../check.h"

__global__ void Scale(float* data, int n, float factor, float shift) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + shift;
}

struct Log {
  int order[8];
  int count = 0;
};

void CUDART_CB Record(void* data) {
  Log* log = static_cast<Log*>(data);
  log->order[log->count] = log->count + 1;
  ++log->count;
}

void CUDART_CB OldCallback(cudaStream_t, cudaError_t status, void* data) {
  if (status == cudaSuccess) ++*static_cast<int*>(data);
}

int main() {
  const int n = 1000, blocks = (n + 127) / 128;
  float* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, n * sizeof(float)));
  for (int i = 0; i < n; ++i) pinned[i] = static_cast<float>(i);
  float* device = nullptr;
  CUDA_OK(cudaMalloc(&device, n * sizeof(float)));

  int least = 0, greatest = 0;
  CUDA_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  Expect(greatest <= least, "a higher priority is a smaller number");
  cudaStream_t a, b;
  CUDA_OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CUDA_OK(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, greatest));
  int priority = 99;
  CUDA_OK(cudaStreamGetPriority(b, &priority));
  ExpectEqual("priority", priority, greatest);
  unsigned flags = 0;
  CUDA_OK(cudaStreamGetFlags(a, &flags));
  ExpectEqual("flags", flags, static_cast<unsigned>(cudaStreamNonBlocking));

  cudaEvent_t start, copied, done;
  CUDA_OK(cudaEventCreate(&start));
  CUDA_OK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  CUDA_OK(cudaEventCreate(&done));
  Log log;
  int callbacks = 0;
  CUDA_OK(cudaEventRecord(start, a));
  CUDA_OK(cudaMemcpyAsync(device, pinned, n * sizeof(float), cudaMemcpyHostToDevice, a));
  CUDA_OK(cudaLaunchHostFunc(a, Record, &log));
  CUDA_OK(cudaEventRecord(copied, a));
  CUDA_OK(cudaStreamWaitEvent(b, copied, 0));
  Scale<<<blocks, 128, 0, b>>>(device, n, 2.0f, 1.0f);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaLaunchHostFunc(b, Record, &log));
  CUDA_OK(cudaStreamAddCallback(b, OldCallback, &callbacks, 0));
  CUDA_OK(cudaEventRecord(done, b));
  CUDA_OK(cudaStreamWaitEvent(a, done));
  CUDA_OK(cudaMemcpyAsync(pinned, device, n * sizeof(float), cudaMemcpyDeviceToHost, a));
  CUDA_OK(cudaStreamSynchronize(a));
  CUDA_OK(cudaEventSynchronize(done));
  CUDA_OK(cudaStreamQuery(a));
  CUDA_OK(cudaEventQuery(copied));
  float elapsed = -1;
  CUDA_OK(cudaEventElapsedTime(&elapsed, start, done));
  Expect(elapsed >= 0 && elapsed < 60000, "the elapsed time is sane");
  const cudaError_t untimed = cudaEventElapsedTime(&elapsed, start, copied);
  ExpectEqual("an event without timing", static_cast<int>(untimed),
              static_cast<int>(cudaErrorInvalidResourceHandle));
  cudaGetLastError();
  std::vector<float> got(pinned, pinned + n), want(n);
  for (int i = 0; i < n; ++i) want[i] = i * 2.0f + 1;
  ExpectEqual("scaled", got, want);
  ExpectEqual("host functions", log.count, 2);
  ExpectEqual("callbacks", callbacks, 1);

  // The default stream waits for blocking streams and they for it.
  cudaStream_t blocking;
  CUDA_OK(cudaStreamCreate(&blocking));
  for (int round = 0; round < 5; ++round) {
    Scale<<<blocks, 128>>>(device, n, 1.0f, 1.0f);
    Scale<<<blocks, 128, 0, blocking>>>(device, n, 2.0f, 0.0f);
  }
  CUDA_OK(cudaMemcpy(pinned, device, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (float& value : want) {
    for (int round = 0; round < 5; ++round) value = (value + 1) * 2;
  }
  got.assign(pinned, pinned + n);
  ExpectEqual("default stream", got, want);

  // Stream-ordered allocation.
  float* ordered = nullptr;
  CUDA_OK(cudaMallocAsync(&ordered, n * sizeof(float), blocking));
  CUDA_OK(cudaMemsetAsync(ordered, 0, n * sizeof(float), blocking));
  Scale<<<blocks, 128, 0, blocking>>>(ordered, n, 1.0f, 3.5f);
  CUDA_OK(cudaMemcpyAsync(pinned, ordered, n * sizeof(float), cudaMemcpyDefault, blocking));
  CUDA_OK(cudaFreeAsync(ordered, blocking));
  CUDA_OK(cudaStreamSynchronize(blocking));
  got.assign(pinned, pinned + n);
  ExpectEqual("stream-ordered memory", got, std::vector<float>(n, 3.5f));

  CUDA_OK(cudaEventDestroy(start));
  CUDA_OK(cudaEventDestroy(copied));
  CUDA_OK(cudaEventDestroy(done));
  CUDA_OK(cudaStreamDestroy(a));
  CUDA_OK(cudaStreamDestroy(b));
  CUDA_OK(cudaStreamDestroy(blocking));
  CUDA_OK(cudaFree(device));
  CUDA_OK(cudaFreeHost(pinned));
  std::printf("last value %g\n", want[n - 1]);
  return Finish();
}
