// NVCC: -rdc=true
// RUN: %kernelsmith run %x
// Conditional nodes of graphs: if and else, while, switch, nested, in clones, in streams that are
// captured; the values of their conditions from kernels and by default.
#include "../check.h"

__global__ void Set(cudaGraphConditionalHandle handle, const int* value) {
  cudaGraphSetConditional(handle, *value);
}
__global__ void Add(int* to, int value) { *to += value; }
// Goes on while what it counts is below a limit.
__global__ void Step(cudaGraphConditionalHandle handle, int* counter, int limit) {
  cudaGraphSetConditional(handle, ++*counter < limit);
}
__global__ void Clear(int* counter, cudaGraphConditionalHandle handle) {
  *counter = 0;
  cudaGraphSetConditional(handle, 1);
}

cudaGraphNode_t AddKernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, void* function,
                          std::vector<void*> arguments) {
  cudaGraphNodeParams p = {cudaGraphNodeTypeKernel};
  p.kernel.func = function;
  p.kernel.gridDim = dim3(1);
  p.kernel.blockDim = dim3(1);
  p.kernel.kernelParams = arguments.data();
  cudaGraphNode_t node;
  CUDA_OK(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &p));
  return node;
}

cudaGraphNode_t AddConditional(cudaGraph_t graph, std::vector<cudaGraphNode_t> after,
                               cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                               unsigned int size, std::vector<cudaGraph_t>* bodies) {
  cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
  p.conditional.handle = handle;
  p.conditional.type = type;
  p.conditional.size = size;
  cudaGraphNode_t node;
  CUDA_OK(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &p));
  bodies->assign(p.conditional.phGraph_out, p.conditional.phGraph_out + size);
  cudaGraphNodeType made;
  CUDA_OK(cudaGraphNodeGetType(node, &made));
  Expect(made == cudaGraphNodeTypeConditional, "the type of a conditional node");
  return node;
}

void Launch(cudaGraphExec_t exec) {
  CUDA_OK(cudaGraphLaunch(exec, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
}

void TestIfAndSwitch(cudaGraphConditionalNodeType type, unsigned int size, int value,
                     int expected) {
  DeviceArray<int> out(1), chosen(std::vector<int>{value});
  out.Fill(0);
  cudaGraph_t graph;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  CUDA_OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
  int* values = chosen.data();
  int* to = out.data();
  const cudaGraphNode_t set =
      AddKernel(graph, {}, reinterpret_cast<void*>(Set), {&handle, &values});
  std::vector<cudaGraph_t> bodies;
  const cudaGraphNode_t condition = AddConditional(graph, {set}, handle, type, size, &bodies);
  int amount = 1;
  for (cudaGraph_t body : bodies) {
    AddKernel(body, {}, reinterpret_cast<void*>(Add), {&to, &amount});
    amount *= 10;
  }
  amount = 100'000;
  AddKernel(graph, {condition}, reinterpret_cast<void*>(Add), {&to, &amount});
  cudaGraphExec_t exec;
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  Launch(exec);
  Launch(exec);
  const int got = out.Get()[0];
  if (got != 2 * (expected + 100'000)) std::printf("type %d, value %d: %d\n", type, value, got);
  Expect(got == 2 * (expected + 100'000), "the body that the condition chooses");
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
}

// while (++inner < 4) inside of while (++outer < 3), the outer one by its default.
void TestNestedLoops() {
  DeviceArray<int> counters(std::vector<int>{0, 0, 0});
  int* outer = counters.data();
  int* inner = counters.data() + 1;
  int* total = counters.data() + 2;
  cudaGraph_t graph;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle outer_handle, inner_handle;
  CUDA_OK(cudaGraphConditionalHandleCreate(&outer_handle, graph, 1, cudaGraphCondAssignDefault));
  CUDA_OK(cudaGraphConditionalHandleCreate(&inner_handle, graph, 0, 0));
  std::vector<cudaGraph_t> loop, inside;
  AddConditional(graph, {}, outer_handle, cudaGraphCondTypeWhile, 1, &loop);
  const cudaGraphNode_t clear =
      AddKernel(loop[0], {}, reinterpret_cast<void*>(Clear), {&inner, &inner_handle});
  const cudaGraphNode_t again =
      AddConditional(loop[0], {clear}, inner_handle, cudaGraphCondTypeWhile, 1, &inside);
  int limit = 4;
  int one = 1;
  const cudaGraphNode_t step =
      AddKernel(inside[0], {}, reinterpret_cast<void*>(Step), {&inner_handle, &inner, &limit});
  AddKernel(inside[0], {step}, reinterpret_cast<void*>(Add), {&total, &one});
  limit = 3;
  AddKernel(loop[0], {again}, reinterpret_cast<void*>(Step), {&outer_handle, &outer, &limit});

  cudaGraph_t clone;
  CUDA_OK(cudaGraphClone(&clone, graph));
  for (cudaGraph_t each : {graph, clone}) {
    counters.Fill(0);
    cudaGraphExec_t exec;
    CUDA_OK(cudaGraphInstantiate(&exec, each, 0));
    Launch(exec);
    Expect(counters.Get() == std::vector<int>({3, 4, 12}), "a loop in a loop");
    counters.Fill(0);
    Launch(exec);
    Expect(counters.Get() == std::vector<int>({3, 4, 12}), "the default value of each launch");
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(each));
  }
}

// The node joins a stream's capture, and its body is captured as well.
void TestCapture() {
  DeviceArray<int> counters(std::vector<int>{0, 0});
  int* counter = counters.data();
  cudaStream_t stream, body_stream;
  CUDA_OK(cudaStreamCreate(&stream));
  CUDA_OK(cudaStreamCreate(&body_stream));
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  cudaGraph_t graph;
  const cudaGraphNode_t* after = nullptr;
  size_t count = 0;
  Add<<<1, 1, 0, stream>>>(counter, 5);
  CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &after, nullptr, &count));
  cudaGraphConditionalHandle handle;
  CUDA_OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  std::vector<cudaGraph_t> bodies;
  cudaGraphNode_t node =
      AddConditional(graph, {after, after + count}, handle, cudaGraphCondTypeWhile, 1, &bodies);
  CUDA_OK(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1,
                                              cudaStreamSetCaptureDependencies));
  CUDA_OK(cudaStreamBeginCaptureToGraph(body_stream, bodies[0], nullptr, nullptr, 0,
                                        cudaStreamCaptureModeRelaxed));
  Step<<<1, 1, 0, body_stream>>>(handle, counter, 9);
  Add<<<1, 1, 0, body_stream>>>(counter + 1, 1);
  CUDA_OK(cudaStreamEndCapture(body_stream, nullptr));
  Add<<<1, 1, 0, stream>>>(counter, 100);
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  Expect(counters.Get() == std::vector<int>({109, 4}), "captured loops");
}

void TestErrors() {
  cudaGraph_t graph;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  CUDA_OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
  cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
  p.conditional.type = cudaGraphCondTypeWhile;
  cudaGraphNode_t node;
  const auto add = [&](cudaGraphConditionalHandle of, unsigned int size) {
    p.conditional.handle = of;
    p.conditional.size = size;
    return cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &p);
  };
  Expect(add(handle, 2) == cudaErrorInvalidValue, "a loop has one body");
  Expect(add(handle, 0) == cudaErrorInvalidValue, "no body");
  Expect(add(handle + 12345, 1) == cudaErrorInvalidValue, "no such handle");
  Expect(add(handle, 1) == cudaSuccess, "a loop");
  Expect(add(handle, 1) == cudaErrorInvalidValue, "a handle is for one node");
  CUDA_OK(cudaGraphDestroy(graph));
}

int main() {
  TestIfAndSwitch(cudaGraphCondTypeIf, 1, 1, 1);
  TestIfAndSwitch(cudaGraphCondTypeIf, 1, 0, 0);
  TestIfAndSwitch(cudaGraphCondTypeIf, 2, 5, 1);
  TestIfAndSwitch(cudaGraphCondTypeIf, 2, 0, 10);
  TestIfAndSwitch(cudaGraphCondTypeSwitch, 4, 0, 1);
  TestIfAndSwitch(cudaGraphCondTypeSwitch, 4, 3, 1000);
  TestIfAndSwitch(cudaGraphCondTypeSwitch, 4, 4, 0);
  TestNestedLoops();
  TestCapture();
  TestErrors();
  return Finish();
}
