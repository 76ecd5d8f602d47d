// What the host starts side by side and never orders, beside its corrected twins; results that
// depend on the order of threads; index arithmetic that wraps. `host_order NAME bad|good`.
// NVCC: -g -lineinfo -std=c++17
// RUN: %python %S/run_cases.py %kernelsmith %x %s
// OUT:
// | {{([0-9]+) of \1 pairs right}}
#include <cstdio>
#include <cstring>

#include "cases.h"

struct Streams {
  cudaStream_t a = nullptr;
  cudaStream_t b = nullptr;
  cudaEvent_t event = nullptr;
  Streams() {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&event);
  }
  ~Streams() {
    cudaDeviceSynchronize();
    cudaEventDestroy(event);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
  void Order() {  // b after a
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event);
  }
};

struct Pinned {
  int* data = nullptr;
  explicit Pinned(size_t count) {
    cudaMallocHost(&data, count * sizeof(int));
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<int>(i);
  }
  ~Pinned() {
    cudaDeviceSynchronize();
    cudaFreeHost(data);
  }
};

__global__ void WriteResult(int* a) {
  a[threadIdx.x] = threadIdx.x;  // EXPECT: copy_back race
}
CASE(copy_back) {
  Streams s;
  DeviceArray<int> a(64);
  Pinned host(64);
  WriteResult<<<1, 64, 0, s.a>>>(a.data);
  if (!bad) s.Order();
  cudaMemcpyAsync(host.data, a.data, 64 * sizeof(int), cudaMemcpyDeviceToHost, s.b);
}

__global__ void ReadInput(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];  // EXPECT: copy_in race
}
CASE(copy_in) {
  Streams s;
  DeviceArray<int> in(64);
  DeviceArray<int> out(64);
  Pinned host(64);
  cudaMemcpyAsync(in.data, host.data, 64 * sizeof(int), cudaMemcpyHostToDevice, s.a);
  if (!bad) cudaStreamSynchronize(s.a);
  ReadInput<<<1, 64, 0, s.b>>>(in.data, out.data);
}

__global__ void AddOne(int* a) {
  atomicAdd(&a[threadIdx.x], 1);  // EXPECT: clear_late race
}
CASE(clear_late) {
  Streams s;
  DeviceArray<int> a(64);
  AddOne<<<1, 64, 0, s.a>>>(a.data);
  if (!bad) s.Order();
  cudaMemsetAsync(a.data, 0, 64 * sizeof(int), s.b);
}

CASE(two_copies) {
  Streams s;
  DeviceArray<int> a(64);
  Pinned first(64);
  Pinned second(64);
  cudaMemcpyAsync(a.data, first.data, 64 * sizeof(int), cudaMemcpyHostToDevice, s.a);
  if (!bad) s.Order();
  cudaMemcpyAsync(a.data, second.data, 64 * sizeof(int), cudaMemcpyHostToDevice, s.b);  // EXPECT: two_copies race
}

__global__ void UseScratch(int* scratch) {
  scratch[threadIdx.x] = 1;  // EXPECT: free_early race
}
CASE(free_early) {
  Streams s;
  int* scratch = nullptr;
  cudaMallocAsync(&scratch, 64 * sizeof(int), s.a);
  UseScratch<<<1, 64, 0, s.a>>>(scratch);
  if (!bad) s.Order();
  cudaFreeAsync(scratch, s.b);
}

__global__ void Left(int* a) {
  a[threadIdx.x] = 1;  // EXPECT: graph_branches race
}
__global__ void Right(int* a) {
  a[threadIdx.x] += 2;  // EXPECT: graph_branches race
}
CASE(graph_branches) {
  Streams s;
  DeviceArray<int> a(64);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal);
  cudaEventRecord(begin, s.a);
  cudaStreamWaitEvent(s.b, begin);
  Left<<<1, 64, 0, s.a>>>(a.data);
  if (!bad) s.Order();
  Right<<<1, 64, 0, s.b>>>(a.data);
  cudaEventRecord(end, s.b);
  cudaStreamWaitEvent(s.a, end);
  cudaStreamEndCapture(s.a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s.a);
  cudaStreamSynchronize(s.a);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

__global__ void Produce(int* a) {
  a[threadIdx.x] = 1;  // EXPECT: graph_then_kernel race
}
__global__ void Consume(const int* a, int* out) {
  out[threadIdx.x] = a[threadIdx.x];  // EXPECT: graph_then_kernel race
}
CASE(graph_then_kernel) {
  Streams s;
  DeviceArray<int> a(64);
  DeviceArray<int> out(64);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal);
  Produce<<<1, 64, 0, s.a>>>(a.data);
  cudaStreamEndCapture(s.a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s.a);
  if (!bad) s.Order();
  Consume<<<1, 64, 0, s.b>>>(a.data, out.data);
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

__constant__ int kFactor = 3;
__global__ void Scale(int* a) {
  a[threadIdx.x] = static_cast<int>(threadIdx.x) * kFactor;  // EXPECT: stale_constant race
}
CASE(stale_constant) {
  Streams s;
  DeviceArray<int> a(64);
  Pinned host(1);
  cudaMemcpyToSymbolAsync(kFactor, host.data, sizeof(int), 0, cudaMemcpyHostToDevice, s.a);
  if (!bad) s.Order();
  Scale<<<1, 64, 0, s.b>>>(a.data);
}

__global__ void Partial(const float* in, float* sum, bool fixed) {
  float own = in[threadIdx.x + blockIdx.x * blockDim.x];
  if (fixed) own = 0.25f;                // sums of this are exact
  atomicAdd(sum, own);  // EXPECT: float_order nondeterministic
}
CASE(float_order) {
  DeviceArray<float> in(1024);
  DeviceArray<float> sum(1);
  float host[1024];
  for (int i = 0; i < 1024; ++i) host[i] = 1.0f / (1 + i);
  cudaMemcpy(in.data, host, sizeof host, cudaMemcpyHostToDevice);
  Partial<<<8, 128>>>(in.data, sum.data, !bad);
  cudaMemcpy(host, sum.data, sizeof(float), cudaMemcpyDeviceToHost);
}

__global__ void Compact(const int* in, int* out, int* count, bool keep_place) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (in[i] % 2 != 0) return;
  const int at = atomicAdd(count, 1);
  out[keep_place ? i : at] = i;  // EXPECT: compaction_order nondeterministic
}
CASE(compaction_order) {
  DeviceArray<int> in(1024);
  DeviceArray<int> out(1024);
  DeviceArray<int> count(1);
  Compact<<<8, 128>>>(in.data, out.data, count.data, !bad);
  int host[1024];
  cudaMemcpy(host, out.data, sizeof host, cudaMemcpyDeviceToHost);
}

template <typename Index>
__global__ void FarRow(char* a, Index row, Index width) {
  a[row * width + static_cast<Index>(threadIdx.x)] = 1;  // EXPECT: far_row index_overflow // EXPECT: far_row out_of_bounds // EXPECT: far_row_hit index_overflow
}
CASE(far_row) {
  // 70000 * 70000 does not fit into 32 bits; what is left of it lies far outside.
  DeviceArray<char> a(1 << 20);
  if (bad) {
    FarRow<int><<<1, 32>>>(a.data, 70000, 70000);
  } else {
    FarRow<long long><<<1, 32>>>(a.data, 14, 70000);
  }
}

CASE(far_row_hit) {
  // 65537 * 65537 leaves 131073: wrong, and inside by chance.
  DeviceArray<char> a(1 << 20);
  if (bad) {
    FarRow<int><<<1, 32>>>(a.data, 65537, 65537);
  } else {
    FarRow<long long><<<1, 32>>>(a.data, 2, 65537);
  }
}

CASES_MAIN()
