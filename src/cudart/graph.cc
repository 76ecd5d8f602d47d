#include "cudart/graph.h"

#include <algorithm>

namespace kernelsmith::cudart {

// -- graphs ---------------------------------------------------------------------------------------

GraphNode* Graph::Add(cudaGraphNodeType type, Work work,
                      const std::vector<GraphNode*>& dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->type = type;
  node->graph = this;
  node->work = std::move(work);
  for (GraphNode* dependency : dependencies) Connect(dependency, node.get());
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

bool Graph::Connect(GraphNode* from, GraphNode* to) {
  if (from == to ||
      std::find(to->dependencies.begin(), to->dependencies.end(), from) != to->dependencies.end()) {
    return false;
  }
  to->dependencies.push_back(from);
  from->dependents.push_back(to);
  return true;
}

bool Graph::Disconnect(GraphNode* from, GraphNode* to) {
  if (std::erase(to->dependencies, from) == 0) return false;
  std::erase(from->dependents, to);
  return true;
}

void Graph::Remove(GraphNode* node) {
  for (GraphNode* other : node->dependencies) std::erase(other->dependents, node);
  for (GraphNode* other : node->dependents) std::erase(other->dependencies, node);
  std::erase_if(nodes, [node](const auto& own) { return own.get() == node; });
}

std::vector<GraphNode*> Graph::Sorted() const {
  std::unordered_map<const GraphNode*, size_t> position;
  std::unordered_map<const GraphNode*, size_t> missing;
  std::set<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    position[nodes[i].get()] = i;
    missing[nodes[i].get()] = nodes[i]->dependencies.size();
    if (nodes[i]->dependencies.empty()) ready.insert(i);
  }
  std::vector<GraphNode*> sorted;
  while (!ready.empty()) {
    GraphNode* node = nodes[*ready.begin()].get();
    ready.erase(ready.begin());
    sorted.push_back(node);
    for (const GraphNode* next : node->dependents) {
      if (--missing[next] == 0) ready.insert(position[next]);
    }
  }
  if (sorted.size() != nodes.size()) sorted.clear();
  return sorted;
}

std::unique_ptr<Graph> Graph::Clone() const {
  auto clone = std::make_unique<Graph>();
  clone->memory = memory;
  clone->retained = std::make_unique<UserReferences>(*retained);
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : nodes) {
    GraphNode* copy = clone->Add(node->type, node->work, {});
    copy->original = node.get();
    copy->allocation = node->allocation;
    copy->attributes = node->attributes;
    if (node->child != nullptr) copy->child = node->child->Clone();
    copy->condition = node->condition;
    for (const auto& body : node->bodies) {
      copy->bodies.push_back(body->Clone());
      copy->body_handles.push_back(reinterpret_cast<cudaGraph_t>(copy->bodies.back().get()));
    }
    copies[node.get()] = copy;
  }
  for (const auto& node : nodes) {
    for (const GraphNode* dependency : node->dependencies) {
      Connect(copies[dependency], copies[node.get()]);
    }
  }
  return clone;
}

void Graph::CollectMemory(std::vector<std::shared_ptr<GraphMemory>>* all) const {
  all->push_back(memory);
  for (const auto& node : nodes) {
    ForEachGraphIn(*node, [&](const Graph& graph) { graph.CollectMemory(all); });
  }
}

UserReferences::UserReferences(const UserReferences& other) : counts(other.counts) {
  for (const auto& [object, count] : counts) object->references += count;
}

UserReferences::~UserReferences() {
  for (const auto& [object, count] : counts) GraphStore::Get().Release(object, count);
}

GraphMemory::~GraphMemory() {
  for (void* pointer : pointers) Runtime::Get().FreeGraphMemory(pointer);
}

// -- handles --------------------------------------------------------------------------------------

GraphStore& GraphStore::Get() {
  static GraphStore* const store = new GraphStore;
  return *store;
}

cudaGraph_t GraphStore::Adopt(std::unique_ptr<Graph> graph) {
  auto* handle = reinterpret_cast<cudaGraph_t>(graph.get());
  graphs_.emplace(handle, std::move(graph));
  return handle;
}

namespace {

Graph* FindIn(Graph* graph, const void* handle) {
  if (graph == handle) return graph;
  Graph* found = nullptr;
  for (const auto& node : graph->nodes) {
    ForEachGraphIn(*node, [&](Graph& inner) {
      if (found == nullptr) found = FindIn(&inner, handle);
    });
  }
  return found;
}

GraphNode* FindNodeIn(Graph* graph, const void* handle) {
  GraphNode* found = nullptr;
  for (const auto& node : graph->nodes) {
    if (node.get() == handle) return node.get();
    ForEachGraphIn(*node, [&](Graph& inner) {
      if (found == nullptr) found = FindNodeIn(&inner, handle);
    });
  }
  return found;
}

}  // namespace

Graph* GraphStore::Find(cudaGraph_t handle) {
  if (const auto found = graphs_.find(handle); found != graphs_.end()) return found->second.get();
  for (const auto& [key, graph] : graphs_) {
    if (Graph* found = FindIn(graph.get(), handle)) return found;
  }
  // A graph that a capture is still building: cudaStreamGetCaptureInfo hands it out.
  for (const auto& capture : Runtime::Get().captures()) {
    if (Graph* found = FindIn(capture->graph, handle)) return found;
  }
  return nullptr;
}

bool GraphStore::Destroy(cudaGraph_t handle) { return graphs_.erase(handle) > 0; }

GraphNode* GraphStore::FindNode(cudaGraphNode_t handle) {
  for (const auto& [key, graph] : graphs_) {
    if (GraphNode* found = FindNodeIn(graph.get(), handle)) return found;
  }
  for (const auto& capture : Runtime::Get().captures()) {
    if (GraphNode* found = FindNodeIn(capture->graph, handle)) return found;
  }
  return nullptr;
}

cudaGraphExec_t GraphStore::Adopt(std::unique_ptr<GraphExec> exec) {
  auto* handle = reinterpret_cast<cudaGraphExec_t>(exec.get());
  execs_.emplace(handle, std::move(exec));
  return handle;
}

GraphExec* GraphStore::Find(cudaGraphExec_t handle) {
  const auto found = execs_.find(handle);
  return found == execs_.end() ? nullptr : found->second.get();
}

bool GraphStore::Destroy(cudaGraphExec_t handle) { return execs_.erase(handle) > 0; }

UserObject* GraphStore::AddUserObject(UserObject object) {
  auto owned = std::make_unique<UserObject>(object);
  UserObject* handle = owned.get();
  user_objects_.emplace(handle, std::move(owned));
  return handle;
}

UserObject* GraphStore::FindUserObject(cudaUserObject_t handle) {
  const auto found = user_objects_.find(handle);
  return found == user_objects_.end() ? nullptr : found->second.get();
}

void GraphStore::Release(UserObject* object, unsigned int count) {
  object->references -= std::min(count, object->references);
  if (object->references > 0) return;
  object->destroy(object->data);
  user_objects_.erase(object);
}

// -- conditions -----------------------------------------------------------------------------------

Conditions& Conditions::Get() {
  static Conditions* const conditions = new Conditions;
  return *conditions;
}

cudaGraphConditionalHandle Conditions::Create(unsigned int value, bool each_launch) {
  const std::lock_guard lock(mutex_);
  const cudaGraphConditionalHandle handle = entries_.size() + 1;
  entries_[handle] = {.value = value, .initial = value, .each_launch = each_launch};
  return handle;
}

bool Conditions::Take(cudaGraphConditionalHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(handle);
  return found != entries_.end() && !std::exchange(found->second.taken, true);
}

void Conditions::Set(cudaGraphConditionalHandle handle, unsigned int value) {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(handle); found != entries_.end()) {
    found->second.value = value;
  }
}

unsigned int Conditions::ValueOf(cudaGraphConditionalHandle handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(handle);
  return found == entries_.end() ? 0 : found->second.value;
}

void Conditions::Begin(cudaGraphConditionalHandle handle) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[handle];
  if (entry.each_launch) entry.value = entry.initial;
}

// -- instantiation --------------------------------------------------------------------------------

std::shared_ptr<const GraphProgram> MakeProgram(const Graph& graph) {
  const std::vector<GraphNode*> sorted = graph.Sorted();
  if (sorted.size() != graph.nodes.size()) return nullptr;
  auto program = std::make_shared<GraphProgram>();
  std::unordered_map<const GraphNode*, size_t> step_of;
  for (const GraphNode* node : sorted) {
    GraphProgram::Step step;
    step.node = node;
    step.type = node->type;
    step.work = node->work;
    if (node->child != nullptr) {
      step.child = MakeProgram(*node->child);
      if (step.child == nullptr) return nullptr;
    }
    step.condition = node->condition;
    for (const auto& body : node->bodies) {
      step.bodies.push_back(MakeProgram(*body));
      if (step.bodies.back() == nullptr) return nullptr;
    }
    for (const GraphNode* dependency : node->dependencies) {
      step.after.push_back(step_of.at(dependency));
    }
    std::sort(step.after.begin(), step.after.end());
    step_of[node] = program->steps.size();
    program->steps.push_back(std::move(step));
  }
  return program;
}

namespace {

// Bodies of conditional nodes, and what is in these, have work of the device only.
bool BodiesAreAllowed(const Graph& graph, bool in_body) {
  for (const auto& node : graph.nodes) {
    const bool allowed =
        node->type == cudaGraphNodeTypeKernel || node->type == cudaGraphNodeTypeMemcpy ||
        node->type == cudaGraphNodeTypeMemset || node->type == cudaGraphNodeTypeEmpty ||
        node->type == cudaGraphNodeTypeGraph || node->type == cudaGraphNodeTypeConditional;
    if (in_body && !allowed) return false;
    bool inside = true;
    ForEachGraphIn(*node, [&](const Graph& inner) {
      inside &= BodiesAreAllowed(inner, in_body || !node->bodies.empty());
    });
    if (!inside) return false;
  }
  return true;
}

}  // namespace

cudaError_t Instantiate(const Graph& graph, std::unique_ptr<GraphExec>* exec) {
  if (!BodiesAreAllowed(graph, false)) return cudaErrorNotSupported;
  std::shared_ptr<const GraphProgram> program = MakeProgram(graph);
  if (program == nullptr) return cudaErrorInvalidValue;
  *exec = std::make_unique<GraphExec>();
  (*exec)->program = std::move(program);
  graph.CollectMemory(&(*exec)->memory);
  (*exec)->retained = std::make_unique<UserReferences>(*graph.retained);
  return cudaSuccess;
}

bool SameTopology(const GraphProgram& a, const GraphProgram& b, size_t* different) {
  for (size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
    *different = i;
    if (a.steps[i].type != b.steps[i].type || a.steps[i].after != b.steps[i].after) return false;
    size_t inside = 0;
    if (a.steps[i].child != nullptr &&
        !SameTopology(*a.steps[i].child, *b.steps[i].child, &inside)) {
      return false;
    }
    if (a.steps[i].condition.type != b.steps[i].condition.type ||
        a.steps[i].bodies.size() != b.steps[i].bodies.size()) {
      return false;
    }
    for (size_t k = 0; k < a.steps[i].bodies.size(); ++k) {
      if (!SameTopology(*a.steps[i].bodies[k], *b.steps[i].bodies[k], &inside)) return false;
    }
  }
  *different = std::min(a.steps.size(), b.steps.size());
  return a.steps.size() == b.steps.size();
}

cudaGraphNodeType NodeTypeOf(const Work& work) {
  if (std::holds_alternative<KernelWork>(work)) return cudaGraphNodeTypeKernel;
  if (std::holds_alternative<CopyWork>(work)) return cudaGraphNodeTypeMemcpy;
  if (std::holds_alternative<FillWork>(work)) return cudaGraphNodeTypeMemset;
  if (std::holds_alternative<HostWork>(work)) return cudaGraphNodeTypeHost;
  if (std::holds_alternative<FreeWork>(work)) return cudaGraphNodeTypeMemFree;
  if (std::holds_alternative<AllocateWork>(work)) return cudaGraphNodeTypeMemAlloc;
  if (std::holds_alternative<RecordWork>(work)) return cudaGraphNodeTypeEventRecord;
  if (std::holds_alternative<WaitWork>(work)) return cudaGraphNodeTypeWaitEvent;
  return cudaGraphNodeTypeEmpty;
}

// -- capture --------------------------------------------------------------------------------------

GraphNode* Capture::Add(Stream& stream, cudaGraphNodeType type, Work work) {
  if (const auto* allocation = std::get_if<AllocateWork>(&work)) {
    graph->memory->pointers.push_back(allocation->pointer);
  }
  GraphNode* node = graph->Add(type, std::move(work), stream.capture_tail);
  stream.capture_tail = {node};
  return node;
}

cudaError_t BeginCapture(const std::shared_ptr<Stream>& stream, cudaStreamCaptureMode mode,
                         Graph* into, const std::vector<GraphNode*>& dependencies) {
  if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture != nullptr) return cudaErrorIllegalState;
  static unsigned long long next_id = 1;
  auto capture = std::make_shared<Capture>();
  if (into == nullptr) {
    capture->owned = std::make_unique<Graph>();
    into = capture->owned.get();
  }
  capture->graph = into;
  capture->mode = mode;
  capture->id = next_id++;
  capture->origin = stream;
  capture->thread = std::this_thread::get_id();
  capture->members.push_back(stream);
  stream->capture = capture;
  stream->capture_tail = dependencies;
  Runtime::Get().captures().insert(std::move(capture));
  return cudaSuccess;
}

cudaError_t EndCapture(const std::shared_ptr<Stream>& stream, cudaGraph_t* graph) {
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin.lock() != stream) {
    capture->invalidated = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  // What the other streams did last must lead to what this one waits for.
  std::set<const GraphNode*> reached;
  std::vector<const GraphNode*> todo(stream->capture_tail.begin(), stream->capture_tail.end());
  while (!todo.empty()) {
    const GraphNode* node = todo.back();
    todo.pop_back();
    if (!reached.insert(node).second) continue;
    todo.insert(todo.end(), node->dependencies.begin(), node->dependencies.end());
  }
  bool joined = true;
  for (const std::weak_ptr<Stream>& weak : capture->members) {
    const std::shared_ptr<Stream> member = weak.lock();
    if (member == nullptr || member->capture != capture) continue;
    for (const GraphNode* node : member->capture_tail) joined &= reached.contains(node);
    member->capture = nullptr;
    member->capture_tail.clear();
  }
  Runtime::Get().captures().erase(capture);
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  *graph = capture->owned != nullptr ? GraphStore::Get().Adopt(std::move(capture->owned))
                                     : reinterpret_cast<cudaGraph_t>(capture->graph);
  return cudaSuccess;
}

cudaError_t CheckUnsafeCall() {
  Runtime& runtime = Runtime::Get();
  const std::lock_guard lock(runtime.mutex());
  const cudaStreamCaptureMode own_mode = Runtime::Thread().capture_mode;
  if (own_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (const std::shared_ptr<Capture>& capture : runtime.captures()) {
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    const bool own = capture->thread == std::this_thread::get_id();
    const bool forbids = own || (capture->mode == cudaStreamCaptureModeGlobal &&
                                 own_mode == cudaStreamCaptureModeGlobal);
    if (!forbids) continue;
    capture->invalidated = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  return cudaSuccess;
}

}  // namespace kernelsmith::cudart
