// Running graphs, and capturing streams into them.
#include <cstring>
#include <fstream>

#include "cudart/graph_api.h"

using namespace kernelsmith::cudart;

namespace {

cudaError_t InstantiateInto(cudaGraphExec_t* out, cudaGraph_t handle, unsigned long long flags) {
  return CallOnGraph(handle, [&](Runtime&, Graph& graph) {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = nullptr;
    if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0) return cudaErrorNotSupported;
    std::unique_ptr<GraphExec> exec;
    const cudaError_t error = Instantiate(graph, &exec);
    if (error != cudaSuccess) return error;
    exec->flags = flags;
    *out = GraphStore::Get().Adopt(std::move(exec));
    return cudaSuccess;
  });
}

const char* TypeName(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel:
      return "kernel";
    case cudaGraphNodeTypeMemcpy:
      return "memcpy";
    case cudaGraphNodeTypeMemset:
      return "memset";
    case cudaGraphNodeTypeHost:
      return "host";
    case cudaGraphNodeTypeGraph:
      return "graph";
    case cudaGraphNodeTypeEmpty:
      return "empty";
    case cudaGraphNodeTypeWaitEvent:
      return "wait event";
    case cudaGraphNodeTypeEventRecord:
      return "record event";
    case cudaGraphNodeTypeMemAlloc:
      return "allocate";
    case cudaGraphNodeTypeMemFree:
      return "free";
    case cudaGraphNodeTypeConditional:
      return "conditional";
    default:
      return "other";
  }
}

}  // namespace

extern "C" {

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return InstantiateInto(exec, graph, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return InstantiateInto(exec, graph, flags);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  if (parameters == nullptr) return SetLast(cudaErrorInvalidValue);
  const cudaError_t error = InstantiateInto(exec, graph, parameters->flags);
  parameters->result_out =
      error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  parameters->errNode_out = nullptr;
  return error;
}
cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                cudaGraphInstantiateParams* parameters) {
  return cudaGraphInstantiateWithParams(exec, graph, parameters);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return CallOnGraphs([&](Runtime&, GraphStore& store) {
    return store.Destroy(exec) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  return CallOnExec(handle, [&](Runtime&, GraphExec& exec) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = exec.flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return CallOnStream(Sees::kKnown, stream_handle, [&](Runtime& runtime, const auto& stream) {
    std::shared_ptr<const GraphProgram> program;
    {
      const std::lock_guard lock(runtime.mutex());
      const GraphExec* exec = GraphStore::Get().Find(handle);
      if (exec == nullptr) return cudaErrorInvalidValue;
      program = exec->program;
      if (stream->capture != nullptr) return cudaErrorStreamCaptureUnsupported;
    }
    return runtime.Submit(stream, GraphWork{std::move(program)}, Runtime::Completion::kEager);
  });
}
cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  return cudaGraphLaunch(exec, PerThread(stream));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t) {
  return CallOnExec(handle, [](Runtime&, GraphExec&) { return cudaSuccess; });
}
cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  return cudaGraphUpload(exec, stream);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph_handle,
                                cudaGraphExecUpdateResultInfo* info) {
  return CallOnExec(handle, [&](Runtime&, GraphExec& exec) {
    const Graph* graph = GraphStore::Get().Find(graph_handle);
    if (graph == nullptr) return cudaErrorInvalidValue;
    if (info != nullptr) *info = {};
    std::shared_ptr<const GraphProgram> program = MakeProgram(*graph);
    if (program == nullptr) return cudaErrorInvalidValue;
    size_t different = 0;
    if (!SameTopology(*exec.program, *program, &different)) {
      if (info != nullptr) {
        const bool both =
            different < exec.program->steps.size() && different < program->steps.size();
        info->result = both && exec.program->steps[different].type != program->steps[different].type
                           ? cudaGraphExecUpdateErrorNodeTypeChanged
                           : cudaGraphExecUpdateErrorTopologyChanged;
        if (both) {
          info->errorNode = reinterpret_cast<cudaGraphNode_t>(
              const_cast<GraphNode*>(program->steps[different].node));
        }
      }
      return cudaErrorGraphExecUpdateFailure;
    }
    // Later calls may name nodes of the graph that the executable was made from: keep those names.
    auto updated = std::make_shared<GraphProgram>(*program);
    for (size_t i = 0; i < updated->steps.size(); ++i) {
      updated->steps[i].node = exec.program->steps[i].node;
      updated->steps[i].enabled = exec.program->steps[i].enabled;
    }
    exec.program = std::move(updated);
    graph->CollectMemory(&exec.memory);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t handle, cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  return CallOnExec(handle, [&](Runtime&, GraphExec& exec) {
    const Graph* graph = GraphStore::Get().Find(child);
    if (graph == nullptr) return cudaErrorInvalidValue;
    auto program = std::make_shared<GraphProgram>(*exec.program);
    for (GraphProgram::Step& step : program->steps) {
      if (step.node != reinterpret_cast<GraphNode*>(node) || step.child == nullptr) continue;
      std::shared_ptr<const GraphProgram> replacement = MakeProgram(*graph);
      size_t different = 0;
      if (replacement == nullptr || !SameTopology(*step.child, *replacement, &different)) {
        return cudaErrorInvalidValue;
      }
      step.child = std::move(replacement);
      exec.program = std::move(program);
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t handle, cudaGraphNode_t node,
                                    unsigned int enabled) {
  return CallOnExec(handle, [&](Runtime&, GraphExec& exec) {
    auto program = std::make_shared<GraphProgram>(*exec.program);
    for (GraphProgram::Step& step : program->steps) {
      if (step.node != reinterpret_cast<GraphNode*>(node)) continue;
      if (step.type != cudaGraphNodeTypeKernel && step.type != cudaGraphNodeTypeMemcpy &&
          step.type != cudaGraphNodeTypeMemset) {
        return cudaErrorInvalidValue;
      }
      step.enabled = enabled != 0;
      exec.program = std::move(program);
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t handle, cudaGraphNode_t node,
                                    unsigned int* enabled) {
  return CallOnExec(handle, [&](Runtime&, GraphExec& exec) {
    if (enabled == nullptr) return cudaErrorInvalidValue;
    for (const GraphProgram::Step& step : exec.program->steps) {
      if (step.node != reinterpret_cast<GraphNode*>(node)) continue;
      *enabled = step.enabled ? 1 : 0;
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t handle, const char* path, unsigned int) {
  return CallOnGraph(handle, [&](Runtime&, Graph& graph) {
    if (path == nullptr) return cudaErrorInvalidValue;
    std::ofstream out(path);
    if (!out) return cudaErrorOperatingSystem;
    out << "digraph graph_1 {\n";
    std::map<const GraphNode*, size_t> number;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const GraphNode* node = graph.nodes[i].get();
      number[node] = i;
      const auto* kernel = std::get_if<KernelWork>(&node->work);
      out << "  node_" << i << " [label=\"" << TypeName(node->type)
          << (kernel != nullptr ? "\\n" + kernel->kernel->name : "") << "\"];\n";
    }
    for (const auto& node : graph.nodes) {
      for (const GraphNode* dependency : node->dependencies) {
        out << "  node_" << number[dependency] << " -> node_" << number[node.get()] << ";\n";
      }
    }
    out << "}\n";
    return out ? cudaSuccess : cudaErrorOperatingSystem;
  });
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return SetLast(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType, void* value) {
  return Call(Sees::kFault, [&](Runtime&) {
    if (device != 0) return cudaErrorInvalidDevice;
    if (value == nullptr) return cudaErrorInvalidValue;
    const uint64_t none = 0;  // graphs have no pool of their own
    std::memcpy(value, &none, sizeof(none));
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType, void* value) {
  if (device != 0) return SetLast(cudaErrorInvalidDevice);
  return SetLast(value == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}

// -- capture --------------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    const std::lock_guard lock(runtime.mutex());
    return BeginCapture(stream, mode, nullptr, {});
  });
}
cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return cudaStreamBeginCapture(PerThread(stream), mode);
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph_handle,
                                          const cudaGraphNode_t* after, const cudaGraphEdgeData*,
                                          size_t count, cudaStreamCaptureMode mode) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    const std::lock_guard lock(runtime.mutex());
    GraphStore& store = GraphStore::Get();
    Graph* graph = store.Find(graph_handle);
    if (graph == nullptr || (count != 0 && after == nullptr)) return cudaErrorInvalidValue;
    std::vector<GraphNode*> dependencies;
    for (size_t i = 0; i < count; ++i) {
      GraphNode* node = store.FindNode(after[i]);
      if (node == nullptr || node->graph != graph) return cudaErrorInvalidValue;
      dependencies.push_back(node);
    }
    return BeginCapture(stream, mode, graph, dependencies);
  });
}
cudaError_t cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t stream, cudaGraph_t graph,
                                               const cudaGraphNode_t* after,
                                               const cudaGraphEdgeData* data, size_t count,
                                               cudaStreamCaptureMode mode) {
  return cudaStreamBeginCaptureToGraph(PerThread(stream), graph, after, data, count, mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    const std::lock_guard lock(runtime.mutex());
    // A graph of the program's own, which it knows already.
    const bool known = stream->capture != nullptr && stream->capture->owned == nullptr;
    cudaGraph_t own = nullptr;
    if (graph == nullptr && !known) return cudaErrorInvalidValue;
    return EndCapture(stream, graph != nullptr ? graph : &own);
  });
}
cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* graph) {
  return cudaStreamEndCapture(PerThread(stream), graph);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** data, size_t* count) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    if (status == nullptr) return cudaErrorInvalidValue;
    const std::lock_guard lock(runtime.mutex());
    const Capture* capture = stream->capture.get();
    if (capture == nullptr) {
      *status = cudaStreamCaptureStatusNone;
      return cudaSuccess;
    }
    *status =
        capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    if (capture->invalidated) return cudaSuccess;
    if (id != nullptr) *id = capture->id;
    if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(capture->graph);
    if (dependencies != nullptr) {
      static_assert(sizeof(GraphNode*) == sizeof(cudaGraphNode_t));
      *dependencies = reinterpret_cast<const cudaGraphNode_t*>(stream->capture_tail.data());
    }
    if (data != nullptr) *data = nullptr;
    if (count != nullptr) *count = stream->capture_tail.size();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                          unsigned long long* id, cudaGraph_t* graph,
                                          const cudaGraphNode_t** dependencies,
                                          const cudaGraphEdgeData** data, size_t* count) {
  return cudaStreamGetCaptureInfo(PerThread(stream), status, id, graph, dependencies, data, count);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamIsCapturing(PerThread(stream), status);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* nodes,
                                                const cudaGraphEdgeData*, size_t count,
                                                unsigned int flags) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    const std::lock_guard lock(runtime.mutex());
    if (stream->capture == nullptr) return cudaErrorIllegalState;
    if (count != 0 && nodes == nullptr) return cudaErrorInvalidValue;
    std::vector<GraphNode*> tail;
    if (flags != cudaStreamSetCaptureDependencies) tail = stream->capture_tail;
    for (size_t i = 0; i < count; ++i) {
      GraphNode* node = GraphStore::Get().FindNode(nodes[i]);
      if (node == nullptr || node->graph != stream->capture->graph) return cudaErrorInvalidValue;
      tail.push_back(node);
    }
    stream->capture_tail = std::move(tail);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                     const cudaGraphEdgeData* data, size_t count,
                                                     unsigned int flags) {
  return cudaStreamUpdateCaptureDependencies(PerThread(stream), nodes, data, count, flags);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr) return SetLast(cudaErrorInvalidValue);
  std::swap(*mode, Runtime::Thread().capture_mode);
  return cudaSuccess;
}

}  // extern "C"
