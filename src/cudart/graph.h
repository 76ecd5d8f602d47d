// Graphs: nodes with dependencies, made by hand or by capturing streams, and the programs that they
// are instantiated into. All of this is guarded by Runtime::mutex().
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cudart/runtime.h"
#include "cudart/work.h"

namespace kernelsmith::cudart {

struct Graph;

// Memory that allocation nodes hand out: there from the making of the node until the graph and all
// its executable forms are gone, so that every launch finds it at the same address.
struct GraphMemory {
  ~GraphMemory();
  std::vector<void*> pointers;
};

// Something of the program's that a graph keeps alive.
struct UserObject {
  cudaHostFn_t destroy = nullptr;
  void* data = nullptr;
  unsigned int references = 0;  // references from the program and from graphs
};

// References to user objects that end with their holder. A copy holds as many again.
class UserReferences {
 public:
  UserReferences() = default;
  UserReferences(const UserReferences& other);
  UserReferences& operator=(const UserReferences&) = delete;
  ~UserReferences();

  std::map<UserObject*, unsigned int> counts;
};

// What decides about the bodies of a conditional node.
struct Condition {
  cudaGraphConditionalHandle handle = 0;
  cudaGraphConditionalNodeType type = cudaGraphCondTypeIf;
};

struct GraphNode {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Graph* graph = nullptr;
  Work work;
  std::vector<GraphNode*> dependencies;
  std::vector<GraphNode*> dependents;
  std::unique_ptr<Graph> child;  // cudaGraphNodeTypeGraph
  Condition condition;           // cudaGraphNodeTypeConditional
  std::vector<std::unique_ptr<Graph>> bodies;
  std::vector<cudaGraph_t> body_handles;  // what the program gets a pointer to
  const GraphNode* original = nullptr;    // in a clone: the node it was made from
  cudaMemAllocNodeParams allocation{};    // cudaGraphNodeTypeMemAlloc
  std::map<int, cudaLaunchAttributeValue> attributes;
  std::vector<void*> argument_pointers;  // what cudaGraphKernelNodeGetParams points to
};

struct Graph {
  std::shared_ptr<GraphMemory> memory = std::make_shared<GraphMemory>();
  std::unique_ptr<UserReferences> retained = std::make_unique<UserReferences>();
  std::vector<std::unique_ptr<GraphNode>> nodes;  // in the order they were added

  GraphNode* Add(cudaGraphNodeType type, Work work, const std::vector<GraphNode*>& dependencies);
  // False if the edge exists already or leads from a node to itself.
  static bool Connect(GraphNode* from, GraphNode* to);
  static bool Disconnect(GraphNode* from, GraphNode* to);
  void Remove(GraphNode* node);
  // Every node after its dependencies, otherwise in the order they were added. Empty if there is a
  // cycle.
  std::vector<GraphNode*> Sorted() const;
  std::unique_ptr<Graph> Clone() const;
  // Adds the memory of this graph and of the graphs in its nodes.
  void CollectMemory(std::vector<std::shared_ptr<GraphMemory>>* all) const;
};

// Calls visit(graph) for each graph that is part of the node.
template <typename Visit>
void ForEachGraphIn(const GraphNode& node, const Visit& visit) {
  if (node.child != nullptr) visit(*node.child);
  for (const std::unique_ptr<Graph>& body : node.bodies) visit(*body);
}

// The values of conditional handles; kernels set them. Thread-safe.
class Conditions {
 public:
  static Conditions& Get();

  cudaGraphConditionalHandle Create(unsigned int value, bool each_launch);
  // False unless there is such a handle without a node; now it has one.
  bool Take(cudaGraphConditionalHandle handle);
  void Set(cudaGraphConditionalHandle handle, unsigned int value);
  unsigned int ValueOf(cudaGraphConditionalHandle handle) const;
  // At the begin of a launch: the default, if the handle was made so.
  void Begin(cudaGraphConditionalHandle handle);

 private:
  struct Entry {
    unsigned int value = 0;
    unsigned int initial = 0;
    bool each_launch = false;
    bool taken = false;
  };
  mutable std::mutex mutex_;
  std::map<cudaGraphConditionalHandle, Entry> entries_;
};

// What an instantiated graph runs, one step after the other.
struct GraphProgram {
  struct Step {
    const GraphNode* node = nullptr;  // identity only: the graph may be gone
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    Work work;
    std::shared_ptr<const GraphProgram> child;
    Condition condition;
    std::vector<std::shared_ptr<const GraphProgram>> bodies;
    std::vector<size_t> after;  // steps; for comparing with an updated graph
    bool enabled = true;
  };
  std::vector<Step> steps;
};

struct GraphExec {
  // Replaced, never changed: launches that still run keep the old one.
  std::shared_ptr<const GraphProgram> program;
  unsigned long long flags = 0;
  std::vector<std::shared_ptr<GraphMemory>> memory;
  std::unique_ptr<UserReferences> retained;
};

// A capture in progress.
struct Capture {
  Graph* graph = nullptr;
  std::unique_ptr<Graph> owned;  // unless captured into a graph of the program
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  unsigned long long id = 0;
  std::weak_ptr<Stream> origin;
  std::thread::id thread;
  bool invalidated = false;
  std::vector<std::weak_ptr<Stream>> members;

  GraphNode* Add(Stream& stream, cudaGraphNodeType type, Work work);
};

// The graphs that the program has handles of.
class GraphStore {
 public:
  static GraphStore& Get();

  cudaGraph_t Adopt(std::unique_ptr<Graph> graph);
  Graph* Find(cudaGraph_t handle);
  bool Destroy(cudaGraph_t handle);
  GraphNode* FindNode(cudaGraphNode_t handle);

  cudaGraphExec_t Adopt(std::unique_ptr<GraphExec> exec);
  GraphExec* Find(cudaGraphExec_t handle);
  bool Destroy(cudaGraphExec_t handle);

  UserObject* AddUserObject(UserObject object);
  UserObject* FindUserObject(cudaUserObject_t handle);
  // Takes references away; without any, the object's destructor runs.
  void Release(UserObject* object, unsigned int count);

 private:
  std::map<const void*, std::unique_ptr<Graph>> graphs_;
  std::map<const void*, std::unique_ptr<GraphExec>> execs_;
  std::map<const void*, std::unique_ptr<UserObject>> user_objects_;
};

// cudaErrorInvalidValue for a cycle, cudaErrorNotSupported for what bodies of conditional nodes may
// not have in them.
cudaError_t Instantiate(const Graph& graph, std::unique_ptr<GraphExec>* exec);
std::shared_ptr<const GraphProgram> MakeProgram(const Graph& graph);

// True if both run the same kinds of steps in the same order; else *different is a step's number.
bool SameTopology(const GraphProgram& a, const GraphProgram& b, size_t* different);

// The kind of node that work becomes when it is captured.
cudaGraphNodeType NodeTypeOf(const Work& work);

// Capturing. With the runtime's mutex held.
cudaError_t BeginCapture(const std::shared_ptr<Stream>& stream, cudaStreamCaptureMode mode,
                         Graph* into, const std::vector<GraphNode*>& dependencies);
cudaError_t EndCapture(const std::shared_ptr<Stream>& stream, cudaGraph_t* graph);
// cudaErrorStreamCaptureUnsupported if a capture forbids calls like cudaMalloc on this thread; the
// capture is then invalid.
cudaError_t CheckUnsafeCall();

}  // namespace kernelsmith::cudart
