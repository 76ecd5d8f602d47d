// What the files of the graph API share.
#pragma once

#include "cudart/api.h"
#include "cudart/graph.h"
#include "cudart/launch.h"

namespace kernelsmith::cudart {

inline cudaGraphNode_t HandleOf(GraphNode* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

// Bodies run with the runtime's lock held: `body(runtime, store)`.
template <typename Body>
cudaError_t CallOnGraphs(const Body& body) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    const std::lock_guard lock(runtime.mutex());
    return body(runtime, GraphStore::Get());
  });
}

// `body(runtime, graph)`.
template <typename Body>
cudaError_t CallOnGraph(cudaGraph_t handle, const Body& body) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore& store) {
    Graph* graph = store.Find(handle);
    return graph == nullptr ? cudaErrorInvalidValue : body(runtime, *graph);
  });
}

// `body(runtime, node)`.
template <typename Body>
cudaError_t CallOnNode(cudaGraphNode_t handle, const Body& body) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore& store) {
    GraphNode* node = store.FindNode(handle);
    return node == nullptr ? cudaErrorInvalidValue : body(runtime, *node);
  });
}

// `body(runtime, exec)`.
template <typename Body>
cudaError_t CallOnExec(cudaGraphExec_t handle, const Body& body) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore& store) {
    GraphExec* exec = store.Find(handle);
    return exec == nullptr ? cudaErrorInvalidValue : body(runtime, *exec);
  });
}

// The work that a node's parameters describe, checked.
cudaError_t WorkOf(Runtime& runtime, const cudaKernelNodeParams& parameters, Work* work);
cudaError_t WorkOf(Runtime& runtime, const cudaMemcpy3DParms& parameters, Work* work);
cudaError_t WorkOf(Runtime& runtime, const cudaMemsetParams& parameters, Work* work);
cudaError_t WorkOf(Runtime& runtime, const cudaHostNodeParams& parameters, Work* work);
cudaError_t WorkOf(Runtime& runtime, const CopyWork& copy, Work* work);
cudaError_t WorkOf(Runtime& runtime, const cudaGraphNodeParams& parameters, Work* work);
cudaError_t SymbolCopy(Runtime& runtime, bool to_symbol, const void* symbol, void* memory,
                       size_t count, size_t offset, cudaMemcpyKind kind, Work* work);

// With the lock held. `made`, if given, gets the node.
cudaError_t AddNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                    size_t count, Work work, GraphNode** made = nullptr);

template <typename Parameters>
cudaError_t AddParameters(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                          size_t count, const Parameters* parameters) {
  return CallOnGraphs([&](Runtime& runtime, GraphStore&) {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    Work work;
    const cudaError_t error = WorkOf(runtime, *parameters, &work);
    return error == cudaSuccess ? AddNode(out, graph, after, count, std::move(work)) : error;
  });
}

inline cudaError_t ForEachEdge(cudaGraph_t handle, const cudaGraphNode_t* from,
                               const cudaGraphNode_t* to, size_t count,
                               bool (*change)(GraphNode*, GraphNode*)) {
  return CallOnGraph(handle, [&](Runtime&, Graph& graph) {
    GraphStore& store = GraphStore::Get();
    if (count != 0 && (from == nullptr || to == nullptr)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      GraphNode* source = store.FindNode(from[i]);
      GraphNode* target = store.FindNode(to[i]);
      if (source == nullptr || target == nullptr || source->graph != &graph ||
          target->graph != &graph || !change(source, target)) {
        return cudaErrorInvalidValue;
      }
    }
    return cudaSuccess;
  });
}

}  // namespace kernelsmith::cudart
