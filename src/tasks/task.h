// Tasks: a PyTorch reference with a family of configurations. This is the door to src/tasks:
//
//   TaskStore store(options);
//   KS_TRY(Task task, store.Load("softmax"));                  // a name of the suite, or a path
//   KS_TRY(TaskGraph graph, store.Export(task, {...}));        // the graph and the call's
//   signature KS_TRY(TaskCase sample, store.Evaluate(task, {...}));      // inputs and PyTorch's
//   results
//
// PyTorch runs in a worker process (python/kernelsmith_bridge) that starts when it is first needed;
// its answers are cached by content, so a second run of the same task needs no Python at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/file_system.h"
#include "support/result.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {

enum class TaskFormat {
  kModel,         // a file with Model and get_inputs; KernelBench's format is this one
  kRobustKbench,  // a folder with func_forward.py, func_backward.py, config_*.json
  kSuite,         // a file with forward and arguments: tasks/README.md
};

enum class TaskDirection { kForward, kBackward };

const char* Name(TaskFormat format);
const char* Name(TaskDirection direction);

// The group of configurations that no task lists.
inline constexpr const char* kDrawnGroup = "drawn";

struct TaskConfiguration {
  std::string name;   // "batch=2 width=64"; "default" for a task without arguments
  std::string group;  // quick, hidden, timing; single, multi for robust-kbench; default; drawn
  // What the bridge calls the task with: {"input": {...}, "init": {...}, "sizes": {...}};
  // "scalars" has values of the call's own numbers by name, whatever the task makes of them.
  nlohmann::json values = nlohmann::json::object();
  // Where it must be reduced: outer sizes first, so that the last axis stays long.
  bool keep_inner = false;
};

struct Task {
  std::string name;            // with "_train" or "_eval" behind it where the mode is given
  std::filesystem::path path;  // absolute
  TaskFormat format = TaskFormat::kModel;
  std::string mode = "task";  // task: as the code leaves it; train or eval: the model is put there
  std::string summary;        // what its author says of it; may be empty
  std::vector<TaskDirection> directions;
  std::vector<std::string> dtypes;  // "task" (as the code makes them) and names of float dtypes
  std::vector<TaskConfiguration> forward_configurations;
  std::vector<TaskConfiguration> backward_configurations;

  const std::vector<TaskConfiguration>& Configurations(TaskDirection direction) const {
    return direction == TaskDirection::kForward ? forward_configurations : backward_configurations;
  }
  // The first configuration of `group`, or of any group if there is none. Null: no configurations.
  const TaskConfiguration* Find(TaskDirection direction, const std::string& group) const;
};

// One argument of a candidate's function.
struct TaskArgument {
  enum class Kind { kTensor, kInt, kFloat, kBool, kNone, kString, kList, kDict, kOpaque };
  std::string name;
  Kind kind = Kind::kNone;
  std::string text;  // the string; the tensor's name; the Python type of an opaque value
  int64_t integer = 0;
  double number = 0;
  bool flag = false;
  std::vector<TaskArgument> items;  // items of a list or dict; names are the keys
};

struct TensorSpec {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements
  int64_t offset = 0;            // elements of its storage in front of the first one
};

// A graph in the format of docs/graph_format.md and the signature of the candidate's function.
struct TaskGraph {
  std::filesystem::path file;
  std::vector<TaskArgument> arguments;  // by position, exactly as the candidate gets them
  std::vector<TensorSpec> tensors;      // every tensor that occurs in `arguments`
  // Names of the expected values (output.0, gradient.weight), in the order the candidate returns
  // them.
  std::vector<std::string> results;
  // Arguments that the reference changes in place: mutated.running_mean.
  std::vector<std::string> mutated;

  // `results`, then `mutated`: all that a candidate gives.
  std::vector<std::string> AllResults() const;
};

// Values of a graph's tensors for one seed, and what PyTorch makes of them. Both files are
// safetensors; tensors are dense there, TensorSpec has the strides.
struct TaskCase {
  std::filesystem::path tensors;  // arguments by name, and the results in the task's dtype
  std::filesystem::path exact;    // the results in float64
  std::vector<TensorSpec> results;
};

struct CaseTensors {
  TensorMap values;    // every tensor of the arguments, and the results in the task's dtype
  TensorMap expected;  // the results in float64 (integers as they are)
};
Result<CaseTensors> ReadCase(const TaskCase& sample);

struct TaskRequest {
  TaskDirection direction = TaskDirection::kForward;
  TaskConfiguration configuration;
  std::string dtype = "task";
};

struct TaskStoreOptions {
  std::filesystem::path python;  // an interpreter with torch; empty: only the cache works
  std::string torch_version;     // part of the cache's key
  std::filesystem::path bridge;  // the folder that holds kernelsmith_bridge
  std::filesystem::path suite;   // our own tasks
  std::filesystem::path cache;   // made when needed
  std::chrono::milliseconds timeout{60'000};  // for a request, without the worker's start
  double memory_gib = 8;                      // memory that a task may allocate
  int threads = 2;
};

// Configurations that a task does not list, drawn from a seed; the task runs with all of them.
struct DrawnConfigurations {
  struct Scalars {
    std::vector<std::string> names;  // of the arguments that have other values than usual
    TaskConfiguration configuration;
  };
  std::vector<TaskConfiguration> shapes;     // sizes of all residues, primes, powers of two
  std::vector<TaskConfiguration> many_rows;  // one or none: more rows than a grid's y can have
  std::vector<Scalars> scalars;              // each scalar alone, then all of them
};

// How much work (as Reduce() counts it) a drawn configuration may be.
struct DrawLimits {
  int shapes = 4;
  int64_t shape_work = 400'000;
  int64_t rows_work = 1'500'000;
  int64_t scalar_work = 20'000;
};

class TaskWorker;

class TaskStore {
 public:
  TaskStore(TaskStoreOptions options, FileSystem& files);
  ~TaskStore();

  // A path, or the name of a task of the suite. `mode`: Task::mode.
  Result<Task> Load(const std::string& path_or_name, const std::string& mode = "task");
  // Paths of the tasks of a collection: files and folders that look like one, sorted. Empty
  // `folder`: our suite. Does not start PyTorch.
  Result<std::vector<std::filesystem::path>> List(const std::filesystem::path& folder) const;
  // What can be said of a task without starting PyTorch: name, format, directions, and the
  // configurations where they do not stand in Python code.
  Result<Task> Glance(const std::filesystem::path& path) const;

  Result<TaskGraph> Export(const Task& task, const TaskRequest& request);
  // `values`: a safetensors file with values to use instead of drawn ones, by tensor name.
  Result<TaskCase> Evaluate(const Task& task, const TaskRequest& request, uint64_t seed,
                            const std::optional<std::filesystem::path>& values = std::nullopt);
  // The same task at smaller shapes: at most `work` multiply-adds and elements in the forward call.
  Result<TaskConfiguration> Reduce(const Task& task, const TaskRequest& request, int64_t work);

  // Other configurations than those of the task's list, the same for the same seed. The request's
  // own configuration does not matter.
  Result<DrawnConfigurations> Draw(const Task& task, const TaskRequest& request, uint64_t seed,
                                   const DrawLimits& limits);

  // How often PyTorch was asked, and how often the cache knew the answer.
  int asked() const { return asked_; }
  int cached() const { return cached_; }

 private:
  // The answer to `body`, from the cache or the worker. `stem` names the files it writes.
  struct Answer {
    nlohmann::json result;
    std::filesystem::path folder;
  };
  Result<Answer> Ask(const Task& task, nlohmann::json body);
  std::optional<Answer> Lookup(const std::filesystem::path& folder) const;
  Result<std::string> BridgeHash();
  nlohmann::json Body(const Task& task, const TaskRequest& request, const char* op) const;

  TaskStoreOptions options_;
  FileSystem& files_;
  std::unique_ptr<TaskWorker> worker_;
  std::string bridge_hash_;
  int asked_ = 0;
  int cached_ = 0;
};

// "batch=2 width=64"; "default" if there is nothing to say.
std::string ConfigurationName(const nlohmann::json& values);

// The configurations of a robust-kbench config file: `single_` lists, then `multi_` lists that are
// not the same again; in each the product init x input x shared, shared values last.
Result<std::vector<TaskConfiguration>> ParseRobustConfigurations(const std::string& text,
                                                                 const std::string& file);

}  // namespace kernelsmith
