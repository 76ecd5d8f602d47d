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

struct GraphNode {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Graph* graph = nullptr;
  Work work;
  std::vector<GraphNode*> dependencies;
  std::vector<GraphNode*> dependents;
  std::unique_ptr<Graph> child;         // cudaGraphNodeTypeGraph
  const GraphNode* original = nullptr;  // in a clone: the node it was made from
  cudaMemAllocNodeParams allocation{};  // cudaGraphNodeTypeMemAlloc
  std::map<int, cudaLaunchAttributeValue> attributes;
};

struct Graph {
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
};

// What an instantiated graph runs, one step after the other.
struct GraphProgram {
  struct Step {
    const GraphNode* node = nullptr;  // identity only: the graph may be gone
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    Work work;
    std::shared_ptr<const GraphProgram> child;
    std::vector<size_t> after;  // steps; for comparing with an updated graph
    bool enabled = true;
  };
  std::vector<Step> steps;
};

struct GraphExec {
  // Replaced, never changed: launches that still run keep the old one.
  std::shared_ptr<const GraphProgram> program;
  unsigned long long flags = 0;
  std::vector<void*> owned_allocations;  // by allocation nodes; freed with the executable graph
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

 private:
  std::map<const void*, std::unique_ptr<Graph>> graphs_;
  std::map<const void*, std::unique_ptr<GraphExec>> execs_;
};

// cudaErrorInvalidValue for a cycle.
cudaError_t Instantiate(const Graph& graph, std::unique_ptr<GraphExec>* exec);
std::shared_ptr<const GraphProgram> MakeProgram(const Graph& graph);

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
