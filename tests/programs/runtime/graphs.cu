// NVCC:
// RUN: %kernelsmith run %x
// CUDA graphs: captured from streams that fork and join, built node by node, launched several
// times, with kernel parameters changed between launches.
#include "../check.h"

__global__ void Add(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += value;
}

__global__ void Sum(const int* a, const int* b, int* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * 10 + b[i];
}

void CUDART_CB CountHost(void* data) { ++*static_cast<int*>(data); }

int main() {
  int n = 500;
  const int blocks = (n + 63) / 64;
  DeviceArray<int> a(n), b(n), c(n);
  a.Fill(0);
  b.Fill(0);
  c.Fill(0);
  std::vector<int> host(n);
  int host_calls = 0;

  cudaStream_t main_stream, side;
  cudaEvent_t fork, join;
  CUDA_OK(cudaStreamCreate(&main_stream));
  CUDA_OK(cudaStreamCreate(&side));
  CUDA_OK(cudaEventCreate(&fork));
  CUDA_OK(cudaEventCreate(&join));
  CUDA_OK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  CUDA_OK(cudaStreamIsCapturing(main_stream, &status));
  Expect(status == cudaStreamCaptureStatusActive, "the stream is capturing");
  CUDA_OK(cudaEventRecord(fork, main_stream));
  CUDA_OK(cudaStreamWaitEvent(side, fork, 0));
  Add<<<blocks, 64, 0, main_stream>>>(a.data(), n, 1);
  Add<<<blocks, 64, 0, side>>>(b.data(), n, 2);
  CUDA_OK(cudaLaunchHostFunc(side, CountHost, &host_calls));
  CUDA_OK(cudaEventRecord(join, side));
  CUDA_OK(cudaStreamWaitEvent(main_stream, join, 0));
  Sum<<<blocks, 64, 0, main_stream>>>(a.data(), b.data(), c.data(), n);
  CUDA_OK(
      cudaMemcpyAsync(host.data(), c.data(), n * sizeof(int), cudaMemcpyDeviceToHost, main_stream));
  cudaGraph_t graph;
  CUDA_OK(cudaStreamEndCapture(main_stream, &graph));
  size_t nodes = 0;
  CUDA_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  ExpectEqual("captured nodes", nodes, size_t{5});
  ExpectEqual("nothing ran during capture", host_calls, 0);
  ExpectEqual("nothing was written during capture", a.Get(), std::vector<int>(n, 0));

  cudaGraphExec_t executable;
  CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));
  for (int launch = 1; launch <= 3; ++launch) {
    CUDA_OK(cudaGraphLaunch(executable, main_stream));
    CUDA_OK(cudaStreamSynchronize(main_stream));
    ExpectEqual("captured graph", host, std::vector<int>(n, launch * 10 + launch * 2));
    ExpectEqual("host calls", host_calls, launch);
  }
  CUDA_OK(cudaGraphExecDestroy(executable));
  CUDA_OK(cudaGraphDestroy(graph));

  // The same by hand: memset, kernel, kernel, copy.
  CUDA_OK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t clear, first, second, copy;
  cudaMemsetParams memset_params{};
  memset_params.dst = a.data();
  memset_params.value = 7;
  memset_params.elementSize = 4;
  memset_params.width = n;
  memset_params.height = 1;
  CUDA_OK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &memset_params));
  int* pa = a.data();
  int *pb = b.data(), *pc = c.data(), value = 100;
  void* add_arguments[] = {&pa, &n, &value};
  cudaKernelNodeParams add{};
  add.func = reinterpret_cast<void*>(Add);
  add.gridDim = dim3(blocks);
  add.blockDim = dim3(64);
  add.kernelParams = add_arguments;
  CUDA_OK(cudaGraphAddKernelNode(&first, graph, &clear, 1, &add));
  void* sum_arguments[] = {&pa, &pb, &pc, &n};
  cudaKernelNodeParams sum = add;
  sum.func = reinterpret_cast<void*>(Sum);
  sum.kernelParams = sum_arguments;
  CUDA_OK(cudaGraphAddKernelNode(&second, graph, &first, 1, &sum));
  CUDA_OK(cudaGraphAddMemcpyNode1D(&copy, graph, &second, 1, host.data(), c.data(), n * sizeof(int),
                                   cudaMemcpyDeviceToHost));
  CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));
  CUDA_OK(cudaGraphLaunch(executable, main_stream));
  CUDA_OK(cudaStreamSynchronize(main_stream));
  ExpectEqual("built graph", host, std::vector<int>(n, 107 * 10 + 6));

  value = 200;  // the node kept its own copy of the old value
  CUDA_OK(cudaGraphLaunch(executable, main_stream));
  CUDA_OK(cudaStreamSynchronize(main_stream));
  ExpectEqual("arguments are copied", host, std::vector<int>(n, 107 * 10 + 6));
  CUDA_OK(cudaGraphExecKernelNodeSetParams(executable, first, &add));
  CUDA_OK(cudaGraphLaunch(executable, main_stream));
  CUDA_OK(cudaStreamSynchronize(main_stream));
  ExpectEqual("changed arguments", host, std::vector<int>(n, 207 * 10 + 6));
  CUDA_OK(cudaGraphExecDestroy(executable));
  CUDA_OK(cudaGraphDestroy(graph));
  std::printf("%d host calls\n", host_calls);
  return Finish();
}
