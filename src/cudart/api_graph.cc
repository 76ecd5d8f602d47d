// Graphs: making them, their nodes and edges.
#include <algorithm>
#include <cstring>

#include "cudart/copy.h"
#include "cudart/graph_api.h"

using namespace kernelsmith::cudart;

namespace {

// Copies a list of nodes into the caller's array, or tells its length. Entries beyond the list are
// set to null, as CUDA does.
cudaError_t List(const std::vector<GraphNode*>& nodes, cudaGraphNode_t* out, size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? HandleOf(nodes[i]) : nullptr;
    *count = std::min(*count, nodes.size());
    return cudaSuccess;
  }
  *count = nodes.size();
  return cudaSuccess;
}

std::unique_ptr<Graph> CloneOf(cudaGraph_t handle) {
  const Graph* graph = GraphStore::Get().Find(handle);
  return graph == nullptr ? nullptr : graph->Clone();
}

cudaError_t AddChild(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                     size_t count, cudaGraph_t child) {
  std::unique_ptr<Graph> clone = CloneOf(child);
  if (clone == nullptr) return cudaErrorInvalidValue;
  GraphNode* node = nullptr;
  const cudaError_t error = AddNode(out, graph, after, count, NoWork{}, &node);
  if (error != cudaSuccess) return error;
  node->type = cudaGraphNodeTypeGraph;
  node->child = std::move(clone);
  return cudaSuccess;
}

cudaError_t AddAllocation(Runtime& runtime, cudaGraphNode_t* out, cudaGraph_t handle,
                          const cudaGraphNode_t* after, size_t count,
                          cudaMemAllocNodeParams* parameters) {
  Graph* graph = GraphStore::Get().Find(handle);
  if (graph == nullptr || parameters == nullptr || parameters->bytesize == 0) {
    return cudaErrorInvalidValue;
  }
  const uint64_t address = runtime.AllocateGraphMemory(parameters->bytesize);
  if (address == 0) return cudaErrorMemoryAllocation;
  parameters->dptr = reinterpret_cast<void*>(address);
  GraphNode* node = nullptr;
  const cudaError_t error =
      AddNode(out, handle, after, count,
              AllocateWork{.pointer = parameters->dptr, .size = parameters->bytesize}, &node);
  if (error != cudaSuccess) {
    runtime.FreeGraphMemory(parameters->dptr);
    return error;
  }
  graph->memory->pointers.push_back(parameters->dptr);
  node->allocation = *parameters;
  return cudaSuccess;
}

// The bodies are empty graphs that the program fills.
cudaError_t AddConditional(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                           size_t count, cudaConditionalNodeParams* parameters) {
  const unsigned int size = parameters->size;
  switch (parameters->type) {
    case cudaGraphCondTypeIf:
      if (size != 1 && size != 2) return cudaErrorInvalidValue;
      break;
    case cudaGraphCondTypeWhile:
      if (size != 1) return cudaErrorInvalidValue;
      break;
    case cudaGraphCondTypeSwitch:
      if (size == 0) return cudaErrorInvalidValue;
      break;
    default:
      return cudaErrorInvalidValue;
  }
  if (GraphStore::Get().Find(graph) == nullptr || !Conditions::Get().Take(parameters->handle)) {
    return cudaErrorInvalidValue;
  }
  GraphNode* node = nullptr;
  const cudaError_t error = AddNode(out, graph, after, count, NoWork{}, &node);
  if (error != cudaSuccess) return error;
  node->type = cudaGraphNodeTypeConditional;
  node->condition = {.handle = parameters->handle, .type = parameters->type};
  for (unsigned int i = 0; i < size; ++i) {
    node->bodies.push_back(std::make_unique<Graph>());
    node->body_handles.push_back(reinterpret_cast<cudaGraph_t>(node->bodies.back().get()));
  }
  parameters->phGraph_out = node->body_handles.data();
  return cudaSuccess;
}

}  // namespace

namespace kernelsmith::cudart {

cudaError_t AddNode(cudaGraphNode_t* out, cudaGraph_t handle, const cudaGraphNode_t* after,
                    size_t count, Work work, GraphNode** made) {
  GraphStore& store = GraphStore::Get();
  Graph* graph = store.Find(handle);
  if (out == nullptr || graph == nullptr || (count != 0 && after == nullptr)) {
    return cudaErrorInvalidValue;
  }
  std::vector<GraphNode*> dependencies;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* node = store.FindNode(after[i]);
    if (node == nullptr || node->graph != graph) return cudaErrorInvalidValue;
    dependencies.push_back(node);
  }
  const cudaGraphNodeType type = NodeTypeOf(work);
  GraphNode* node = graph->Add(type, std::move(work), dependencies);
  *out = HandleOf(node);
  if (made != nullptr) *made = node;
  return cudaSuccess;
}

cudaError_t WorkOf(Runtime& runtime, const cudaKernelNodeParams& p, Work* work) {
  if (p.extra != nullptr) return cudaErrorNotSupported;
  KernelWork kernel;
  const cudaError_t error = MakeKernelWork(
      runtime, p.func, {.grid = p.gridDim, .block = p.blockDim, .dynamic_shared = p.sharedMemBytes},
      p.kernelParams, &kernel);
  if (error == cudaSuccess) *work = std::move(kernel);
  return error;
}

cudaError_t WorkOf(Runtime& runtime, const cudaMemcpy3DParms& p, Work* work) {
  CopyWork copy;
  cudaError_t error = CopyFromParameters(p, &copy);
  if (error == cudaSuccess) error = CheckCopy(runtime, copy);
  if (error == cudaSuccess) *work = copy;
  return error;
}

cudaError_t WorkOf(Runtime& runtime, const cudaMemsetParams& p, Work* work) {
  FillWork fill;
  cudaError_t error = FillFromParameters(p, &fill);
  if (error == cudaSuccess) error = CheckFill(runtime, fill);
  if (error == cudaSuccess) *work = fill;
  return error;
}

cudaError_t WorkOf(Runtime&, const cudaHostNodeParams& p, Work* work) {
  if (p.fn == nullptr) return cudaErrorInvalidValue;
  *work = HostWork{.function = p.fn, .user_data = p.userData};
  return cudaSuccess;
}

cudaError_t WorkOf(Runtime& runtime, const CopyWork& copy, Work* work) {
  const cudaError_t error = CheckCopy(runtime, copy);
  if (error == cudaSuccess) *work = copy;
  return error;
}

cudaError_t SymbolCopy(Runtime& runtime, bool to_symbol, const void* symbol, void* memory,
                       size_t count, size_t offset, cudaMemcpyKind kind, Work* work) {
  void* address = nullptr;
  const cudaError_t error = FindSymbol(runtime, symbol, count, offset, &address);
  if (error != cudaSuccess) return error;
  return WorkOf(runtime,
                to_symbol ? LinearCopy(address, memory, count, kind)
                          : LinearCopy(memory, address, count, kind),
                work);
}

cudaError_t WorkOf(Runtime& runtime, const cudaGraphNodeParams& p, Work* work) {
  switch (p.type) {
    case cudaGraphNodeTypeKernel: {
      cudaKernelNodeParams kernel{};
      kernel.func = p.kernel.func;
      kernel.gridDim = p.kernel.gridDim;
      kernel.blockDim = p.kernel.blockDim;
      kernel.sharedMemBytes = p.kernel.sharedMemBytes;
      kernel.kernelParams = p.kernel.kernelParams;
      kernel.extra = p.kernel.extra;
      return WorkOf(runtime, kernel, work);
    }
    case cudaGraphNodeTypeMemcpy:
      return WorkOf(runtime, p.memcpy.copyParams, work);
    case cudaGraphNodeTypeMemset: {
      cudaMemsetParams fill{};
      fill.dst = p.memset.dst;
      fill.pitch = p.memset.pitch;
      fill.value = p.memset.value;
      fill.elementSize = p.memset.elementSize;
      fill.width = p.memset.width;
      fill.height = p.memset.height;
      return WorkOf(runtime, fill, work);
    }
    case cudaGraphNodeTypeHost:
      return WorkOf(runtime, cudaHostNodeParams{p.host.fn, p.host.userData}, work);
    case cudaGraphNodeTypeEmpty:
      *work = NoWork{};
      return cudaSuccess;
    case cudaGraphNodeTypeEventRecord:
      *work = RecordWork{.event = p.eventRecord.event};
      return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
      *work = WaitWork{.event = p.eventWait.event};
      return cudaSuccess;
    case cudaGraphNodeTypeMemFree:
      *work = FreeWork{p.free.dptr};
      return cudaSuccess;
    default:
      return cudaErrorNotSupported;
  }
}

}  // namespace kernelsmith::cudart

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return CallOnGraphs([&](Runtime&, GraphStore& store) {
    if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
    *graph = store.Adopt(std::make_unique<Graph>());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return CallOnGraphs([&](Runtime&, GraphStore& store) {
    return store.Destroy(graph) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return CallOnGraphs([&](Runtime&, GraphStore& store) {
    std::unique_ptr<Graph> made = CloneOf(graph);
    if (clone == nullptr || made == nullptr) return cudaErrorInvalidValue;
    *clone = store.Adopt(std::move(made));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* out, cudaGraphNode_t original,
                                     cudaGraph_t clone) {
  return CallOnGraphs([&](Runtime&, GraphStore& store) {
    const Graph* graph = store.Find(clone);
    if (out == nullptr || graph == nullptr) return cudaErrorInvalidValue;
    for (const auto& node : graph->nodes) {
      if (node->original != reinterpret_cast<GraphNode*>(original)) continue;
      *out = HandleOf(node.get());
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

// -- nodes ----------------------------------------------------------------------------------------

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* parameters) {
  return AddParameters(out, graph, after, count, parameters);
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  return AddParameters(out, graph, after, count, parameters);
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* parameters) {
  return AddParameters(out, graph, after, count, parameters);
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                 const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* parameters) {
  return AddParameters(out, graph, after, count, parameters);
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* out, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, size_t count, void* dst,
                                     const void* src, size_t bytes, cudaMemcpyKind kind) {
  const CopyWork copy = LinearCopy(dst, src, bytes, kind);
  return AddParameters(out, graph, after, count, &copy);
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* out, cudaGraph_t graph,
                                           const cudaGraphNode_t* after, size_t count,
                                           const void* symbol, const void* src, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore&) {
    Work work;
    const cudaError_t error =
        SymbolCopy(runtime, true, symbol, const_cast<void*>(src), bytes, offset, kind, &work);
    return error == cudaSuccess ? AddNode(out, graph, after, count, std::move(work)) : error;
  });
}
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* out, cudaGraph_t graph,
                                             const cudaGraphNode_t* after, size_t count, void* dst,
                                             const void* symbol, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore&) {
    Work work;
    const cudaError_t error = SymbolCopy(runtime, false, symbol, dst, bytes, offset, kind, &work);
    return error == cudaSuccess ? AddNode(out, graph, after, count, std::move(work)) : error;
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, size_t count) {
  return CallOnGraphs(
      [&](Runtime&, GraphStore&) { return AddNode(out, graph, after, count, NoWork{}); });
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                        const cudaGraphNode_t* after, size_t count,
                                        cudaEvent_t event) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore&) {
    if (runtime.FindEvent(event) == nullptr) return cudaErrorInvalidResourceHandle;
    return AddNode(out, graph, after, count, RecordWork{.event = event});
  });
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                      const cudaGraphNode_t* after, size_t count,
                                      cudaEvent_t event) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore&) {
    if (runtime.FindEvent(event) == nullptr) return cudaErrorInvalidResourceHandle;
    return AddNode(out, graph, after, count, WaitWork{.event = event});
  });
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                    const cudaGraphNode_t* after, size_t count, void* pointer) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore&) {
    if (!runtime.FlagsOf(reinterpret_cast<uint64_t>(pointer))) return cudaErrorInvalidValue;
    return AddNode(out, graph, after, count, FreeWork{pointer});
  });
}
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, size_t count,
                                     cudaMemAllocNodeParams* parameters) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore&) {
    return AddAllocation(runtime, out, graph, after, count, parameters);
  });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                       const cudaGraphNode_t* after, size_t count,
                                       cudaGraph_t child) {
  return CallOnGraphs(
      [&](Runtime&, GraphStore&) { return AddChild(out, graph, after, count, child); });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                             const cudaGraphEdgeData*, size_t count,
                             cudaGraphNodeParams* parameters) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore&) {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    if (parameters->type == cudaGraphNodeTypeGraph) {
      return AddChild(out, graph, after, count, parameters->graph.graph);
    }
    if (parameters->type == cudaGraphNodeTypeMemAlloc) {
      cudaMemAllocNodeParams plain{};
      plain.poolProps = parameters->alloc.poolProps;
      plain.bytesize = parameters->alloc.bytesize;
      const cudaError_t error = AddAllocation(runtime, out, graph, after, count, &plain);
      parameters->alloc.dptr = plain.dptr;
      return error;
    }
    if (parameters->type == cudaGraphNodeTypeConditional) {
      return AddConditional(out, graph, after, count, &parameters->conditional);
    }
    Work work;
    const cudaError_t error = WorkOf(runtime, *parameters, &work);
    return error == cudaSuccess ? AddNode(out, graph, after, count, std::move(work)) : error;
  });
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                             unsigned int value, unsigned int flags) {
  return CallOnGraph(graph, [&](Runtime&, Graph&) {
    if (handle == nullptr || (flags & ~cudaGraphCondAssignDefault) != 0) {
      return cudaErrorInvalidValue;
    }
    *handle = Conditions::Get().Create(value, (flags & cudaGraphCondAssignDefault) != 0);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return CallOnNode(handle, [](Runtime&, GraphNode& node) {
    node.graph->Remove(&node);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    if (type == nullptr) return cudaErrorInvalidValue;
    *type = node.type;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t handle, cudaGraph_t* graph) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    if (graph == nullptr || node.child == nullptr) return cudaErrorInvalidValue;
    *graph = reinterpret_cast<cudaGraph_t>(node.child.get());
    return cudaSuccess;
  });
}

// -- edges ----------------------------------------------------------------------------------------

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     size_t count) {
  return ForEachEdge(graph, from, to, count, &Graph::Connect);
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                        size_t count) {
  return ForEachEdge(graph, from, to, count, &Graph::Disconnect);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  return CallOnGraph(handle, [&](Runtime&, Graph& graph) {
    std::vector<GraphNode*> all;
    for (const auto& node : graph.nodes) all.push_back(node.get());
    return List(all, nodes, count);
  });
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  return CallOnGraph(handle, [&](Runtime&, Graph& graph) {
    std::vector<GraphNode*> roots;
    for (const auto& node : graph.nodes) {
      if (node->dependencies.empty()) roots.push_back(node.get());
    }
    return List(roots, nodes, count);
  });
}
cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* data, size_t* count) {
  return CallOnGraph(handle, [&](Runtime&, Graph& graph) {
    std::vector<GraphNode*> sources;
    std::vector<GraphNode*> targets;
    for (const auto& node : graph.nodes) {
      for (GraphNode* dependency : node->dependencies) {
        sources.push_back(dependency);
        targets.push_back(node.get());
      }
    }
    if (count == nullptr || (from == nullptr) != (to == nullptr)) return cudaErrorInvalidValue;
    if (data != nullptr) std::memset(data, 0, *count * sizeof(*data));
    size_t again = *count;
    List(sources, from, count);
    return List(targets, to, &again);
  });
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle, cudaGraphNode_t* nodes,
                                         cudaGraphEdgeData* data, size_t* count) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    if (data != nullptr && count != nullptr) std::memset(data, 0, *count * sizeof(*data));
    return List(node.dependencies, nodes, count);
  });
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle, cudaGraphNode_t* nodes,
                                           cudaGraphEdgeData* data, size_t* count) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    if (data != nullptr && count != nullptr) std::memset(data, 0, *count * sizeof(*data));
    return List(node.dependents, nodes, count);
  });
}

}  // extern "C"
