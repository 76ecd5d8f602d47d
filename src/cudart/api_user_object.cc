// User objects: things of the program that live as long as a graph needs them.
#include "cudart/graph_api.h"

using namespace kernelsmith::cudart;

namespace {

template <typename Body>
cudaError_t CallOnObject(cudaUserObject_t handle, unsigned int count, const Body& body) {
  return CallOnGraphs([&](Runtime&, GraphStore& store) {
    UserObject* object = store.FindUserObject(handle);
    return object == nullptr || count == 0 ? cudaErrorInvalidValue : body(store, *object);
  });
}

}  // namespace

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data, cudaHostFn_t destroy,
                                 unsigned int references, unsigned int flags) {
  return CallOnGraphs([&](Runtime&, GraphStore& store) {
    if (object == nullptr || destroy == nullptr || references == 0 ||
        flags != cudaUserObjectNoDestructorSync) {
      return cudaErrorInvalidValue;
    }
    *object = reinterpret_cast<cudaUserObject_t>(
        store.AddUserObject({.destroy = destroy, .data = data, .references = references}));
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t handle, unsigned int count) {
  return CallOnObject(handle, count, [&](GraphStore&, UserObject& object) {
    object.references += count;
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t handle, unsigned int count) {
  return CallOnObject(handle, count, [&](GraphStore& store, UserObject& object) {
    store.Release(&object, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                      unsigned int count, unsigned int flags) {
  return CallOnObject(handle, count, [&](GraphStore& store, UserObject& object) {
    Graph* graph = store.Find(graph_handle);
    if (graph == nullptr) return cudaErrorInvalidValue;
    if (flags != cudaGraphUserObjectMove) object.references += count;
    graph->retained->counts[&object] += count;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                       unsigned int count) {
  return CallOnObject(handle, count, [&](GraphStore& store, UserObject& object) {
    Graph* graph = store.Find(graph_handle);
    if (graph == nullptr) return cudaErrorInvalidValue;
    auto& counts = graph->retained->counts;
    if (!counts.contains(&object) || counts[&object] < count) return cudaErrorInvalidValue;
    if ((counts[&object] -= count) == 0) counts.erase(&object);
    store.Release(&object, count);
    return cudaSuccess;
  });
}
