// Reading and changing the parameters of a graph's nodes, in the graph and in its executable form.
#include <cstring>

#include "cudart/copy.h"
#include "cudart/graph_api.h"

using namespace kernelsmith::cudart;
namespace vgpu = kernelsmith::vgpu;

namespace {

// Replaces the work of a node, which must stay of the same kind.
cudaError_t SetWork(GraphNode& node, Work work) {
  if (node.work.index() != work.index()) return cudaErrorInvalidValue;
  node.work = std::move(work);
  return cudaSuccess;
}

template <typename Parameters>
cudaError_t SetParameters(cudaGraphNode_t handle, const Parameters* parameters) {
  return CallOnNode(handle, [&](Runtime& runtime, GraphNode& node) {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    Work work;
    const cudaError_t error = WorkOf(runtime, *parameters, &work);
    return error == cudaSuccess ? SetWork(node, std::move(work)) : error;
  });
}

// The same in an executable graph: a new program with one step changed.
cudaError_t SetStep(GraphExec& exec, cudaGraphNode_t node, Work work) {
  auto program = std::make_shared<GraphProgram>(*exec.program);
  for (GraphProgram::Step& step : program->steps) {
    if (step.node != reinterpret_cast<GraphNode*>(node)) continue;
    if (step.work.index() != work.index()) return cudaErrorInvalidValue;
    step.work = std::move(work);
    exec.program = std::move(program);
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

template <typename Parameters>
cudaError_t SetStepParameters(cudaGraphExec_t handle, cudaGraphNode_t node,
                              const Parameters* parameters) {
  return CallOnExec(handle, [&](Runtime& runtime, GraphExec& exec) {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    Work work;
    const cudaError_t error = WorkOf(runtime, *parameters, &work);
    return error == cudaSuccess ? SetStep(exec, node, std::move(work)) : error;
  });
}

// `body(work)` for a node that holds work of that kind.
template <typename Kind, typename Body>
cudaError_t Get(cudaGraphNode_t handle, const Body& body) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    const Kind* work = std::get_if<Kind>(&node.work);
    return work == nullptr ? cudaErrorInvalidValue : body(*work);
  });
}

}  // namespace

extern "C" {

// -- kernels --------------------------------------------------------------------------------------

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams* out) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    auto* work = std::get_if<KernelWork>(&node.work);
    if (work == nullptr || out == nullptr) return cudaErrorInvalidValue;
    const vgpu::EntryInfo* info = work->kernel->module->loaded()->FindEntry(work->kernel->name);
    node.argument_pointers.clear();
    for (const vgpu::ParameterInfo& parameter : info->parameters) {
      node.argument_pointers.push_back(work->parameters.data() + parameter.offset);
    }
    *out = {};
    out->func = const_cast<void*>(work->kernel->host_function != nullptr
                                      ? work->kernel->host_function
                                      : static_cast<const void*>(work->kernel));
    out->gridDim = {work->grid.x, work->grid.y, work->grid.z};
    out->blockDim = {work->block.x, work->block.y, work->block.z};
    out->sharedMemBytes = work->dynamic_shared;
    out->kernelParams = node.argument_pointers.data();
    return cudaSuccess;
  });
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams* parameters) {
  return SetParameters(node, parameters);
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return SetStepParameters(exec, node, parameters);
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t handle, cudaLaunchAttributeID id,
                                            const cudaLaunchAttributeValue* value) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    auto* work = std::get_if<KernelWork>(&node.work);
    if (work == nullptr || value == nullptr) return cudaErrorInvalidValue;
    node.attributes[id] = *value;
    if (id == cudaLaunchAttributeCooperative) work->cooperative = value->cooperative != 0;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t handle, cudaLaunchAttributeID id,
                                            cudaLaunchAttributeValue* value) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    if (node.type != cudaGraphNodeTypeKernel || value == nullptr) return cudaErrorInvalidValue;
    std::memset(value, 0, sizeof(*value));
    const auto found = node.attributes.find(id);
    if (found != node.attributes.end()) *value = found->second;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t dst, cudaGraphNode_t src) {
  return CallOnNode(dst, [&](Runtime&, GraphNode& to) {
    const GraphNode* from = GraphStore::Get().FindNode(src);
    if (from == nullptr) return cudaErrorInvalidValue;
    to.attributes = from->attributes;
    return cudaSuccess;
  });
}

// -- copies ---------------------------------------------------------------------------------------

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* out) {
  return Get<CopyWork>(node, [&](const CopyWork& work) {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = ParametersOf(work);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const cudaMemcpy3DParms* parameters) {
  return SetParameters(node, parameters);
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  return SetStepParameters(exec, node, parameters);
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* dst, const void* src,
                                           size_t count, cudaMemcpyKind kind) {
  const CopyWork copy = LinearCopy(dst, src, count, kind);
  return SetParameters(node, &copy);
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               void* dst, const void* src, size_t count,
                                               cudaMemcpyKind kind) {
  const CopyWork copy = LinearCopy(dst, src, count, kind);
  return SetStepParameters(exec, node, &copy);
}
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t handle, const void* symbol,
                                                 const void* src, size_t count, size_t offset,
                                                 cudaMemcpyKind kind) {
  return CallOnNode(handle, [&](Runtime& runtime, GraphNode& node) {
    Work work;
    const cudaError_t error =
        SymbolCopy(runtime, true, symbol, const_cast<void*>(src), count, offset, kind, &work);
    return error == cudaSuccess ? SetWork(node, std::move(work)) : error;
  });
}
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t handle, void* dst,
                                                   const void* symbol, size_t count, size_t offset,
                                                   cudaMemcpyKind kind) {
  return CallOnNode(handle, [&](Runtime& runtime, GraphNode& node) {
    Work work;
    const cudaError_t error = SymbolCopy(runtime, false, symbol, dst, count, offset, kind, &work);
    return error == cudaSuccess ? SetWork(node, std::move(work)) : error;
  });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t handle, cudaGraphNode_t node,
                                                     const void* symbol, const void* src,
                                                     size_t count, size_t offset,
                                                     cudaMemcpyKind kind) {
  return CallOnExec(handle, [&](Runtime& runtime, GraphExec& exec) {
    Work work;
    const cudaError_t error =
        SymbolCopy(runtime, true, symbol, const_cast<void*>(src), count, offset, kind, &work);
    return error == cudaSuccess ? SetStep(exec, node, std::move(work)) : error;
  });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t handle, cudaGraphNode_t node,
                                                       void* dst, const void* symbol, size_t count,
                                                       size_t offset, cudaMemcpyKind kind) {
  return CallOnExec(handle, [&](Runtime& runtime, GraphExec& exec) {
    Work work;
    const cudaError_t error = SymbolCopy(runtime, false, symbol, dst, count, offset, kind, &work);
    return error == cudaSuccess ? SetStep(exec, node, std::move(work)) : error;
  });
}

// -- fills ----------------------------------------------------------------------------------------

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* out) {
  return Get<FillWork>(node, [&](const FillWork& work) {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = ParametersOf(work);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return SetParameters(node, parameters);
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  return SetStepParameters(exec, node, parameters);
}

// -- host functions -------------------------------------------------------------------------------

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* out) {
  return Get<HostWork>(node, [&](const HostWork& work) {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = {work.function, work.user_data};
    return cudaSuccess;
  });
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  return SetParameters(node, parameters);
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* parameters) {
  return SetStepParameters(exec, node, parameters);
}

// -- events ---------------------------------------------------------------------------------------

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* out) {
  return Get<RecordWork>(node, [&](const RecordWork& work) {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = work.event;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t handle, cudaEvent_t event) {
  return CallOnNode(
      handle, [&](Runtime&, GraphNode& node) { return SetWork(node, RecordWork{.event = event}); });
}
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t handle, cudaGraphNode_t node,
                                                 cudaEvent_t event) {
  return CallOnExec(handle, [&](Runtime&, GraphExec& exec) {
    return SetStep(exec, node, RecordWork{.event = event});
  });
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* out) {
  return Get<WaitWork>(node, [&](const WaitWork& work) {
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = work.event;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t handle, cudaEvent_t event) {
  return CallOnNode(
      handle, [&](Runtime&, GraphNode& node) { return SetWork(node, WaitWork{.event = event}); });
}
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t handle, cudaGraphNode_t node,
                                               cudaEvent_t event) {
  return CallOnExec(handle, [&](Runtime&, GraphExec& exec) {
    return SetStep(exec, node, WaitWork{.event = event});
  });
}

// -- memory ---------------------------------------------------------------------------------------

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t handle, cudaMemAllocNodeParams* out) {
  return CallOnNode(handle, [&](Runtime&, GraphNode& node) {
    if (node.type != cudaGraphNodeTypeMemAlloc || out == nullptr) return cudaErrorInvalidValue;
    *out = node.allocation;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* out) {
  return Get<FreeWork>(node, [&](const FreeWork& work) {
    if (out == nullptr) return cudaErrorInvalidValue;
    std::memcpy(out, &work.pointer, sizeof(void*));
    return cudaSuccess;
  });
}

// -- any kind -------------------------------------------------------------------------------------

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  return SetParameters(node, parameters);
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  return SetStepParameters(exec, node, parameters);
}

}  // extern "C"
