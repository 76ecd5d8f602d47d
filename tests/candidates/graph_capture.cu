// A graph captured and launched.
// ARGS: x=f32[64]
#include <torch/extension.h>


__global__ void AddOne(float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] += 1;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = x.clone();
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  AddOne<<<1, 64, 0, stream>>>(y.data_ptr<float>(), y.numel());
  AddOne<<<1, 64, 0, stream>>>(y.data_ptr<float>(), y.numel());
  cudaGraph_t graph;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
