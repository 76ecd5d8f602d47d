#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <system_error>

#include "support/cache.h"
#include "support/hash.h"
#include "support/json.h"
#include "tasks/signature.h"
#include "tasks/task.h"
#include "tasks/worker.h"
#include "tensor/safetensors.h"

namespace kernelsmith {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Part of every key: raise it when the meaning of cached files changes.
constexpr const char* kCacheVersion = "1";
constexpr const char* kManifest = "manifest.json";

// PyTorch answers one at a time: stores may be asked from several threads.
std::mutex& AskMutex() {
  static std::mutex mutex;
  return mutex;
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Python without comments and without what stands in its strings, which often are sources too.
std::string WithoutStrings(const std::string& source) {
  std::string code;
  for (size_t at = 0; at < source.size();) {
    const std::string_view rest = std::string_view(source).substr(at);
    const char c = rest[0];
    if (rest.starts_with("\"\"\"") || rest.starts_with("'''")) {
      const size_t end = source.find(rest.substr(0, 3), at + 3);
      code += "\"\"";
      at = end == std::string::npos ? source.size() : end + 3;
    } else if (c == '#') {
      at = std::min(source.find('\n', at), source.size());
    } else if (c == '"' || c == '\'') {
      size_t end = at + 1;
      while (end < source.size() && source[end] != c && source[end] != '\n') {
        end += source[end] == '\\' ? 2 : 1;
      }
      code += "\"\"";
      // A line end that closes an unfinished string is still one.
      at = end < source.size() && source[end] == c ? end + 1 : std::min(end, source.size());
    } else {
      code += c;
      ++at;
    }
  }
  return code;
}

// A file of the suite defines these two at the start of a line; a model defines the others.
bool LooksLikeSuite(const std::string& source) {
  const std::string text = "\n" + WithoutStrings(source);
  return Contains(text, "\ndef arguments(") && Contains(text, "\ndef forward(");
}
bool LooksLikeModel(const std::string& source) {
  const std::string text = "\n" + WithoutStrings(source);
  return Contains(text, "\nclass Model") && Contains(text, "\ndef get_inputs(");
}

std::string Docstring(const std::string& source) {
  const size_t start = source.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || source.compare(start, 3, "\"\"\"") != 0) return {};
  const size_t end = source.find("\"\"\"", start + 3);
  if (end == std::string::npos) return {};
  return source.substr(start + 3, end - start - 3);
}

Error At(const fs::path& path, std::string message) {
  return Error(ErrorKind::kInvalidInput,
               Diagnostic{.where = {path.string()}, .message = std::move(message)});
}

}  // namespace

const char* Name(TaskFormat format) {
  switch (format) {
    case TaskFormat::kModel:
      return "model";
    case TaskFormat::kRobustKbench:
      return "robust_kbench";
    case TaskFormat::kSuite:
      return "suite";
  }
  return "";
}

const char* Name(TaskDirection direction) {
  return direction == TaskDirection::kForward ? "forward" : "backward";
}

TaskStore::TaskStore(TaskStoreOptions options, FileSystem& files)
    : options_(std::move(options)), files_(files) {}
TaskStore::~TaskStore() = default;

Result<Task> TaskStore::Glance(const fs::path& given) const {
  std::error_code ignored;
  const fs::path path = fs::absolute(given, ignored).lexically_normal();
  Task task;
  task.path = path;
  task.name = path.stem().string();
  if (fs::is_directory(path, ignored)) {
    task.path = path.has_filename() ? path : path.parent_path();
    task.name = task.path.filename().string();
    task.format = TaskFormat::kRobustKbench;
    task.dtypes = {"task", "float32", "float16", "bfloat16"};
    for (const TaskDirection direction : {TaskDirection::kForward, TaskDirection::kBackward}) {
      const std::string side = Name(direction);
      if (!files_.Exists(task.path / ("func_" + side + ".py"))) continue;
      fs::path config = task.path / ("config_" + side + ".json");
      if (!files_.Exists(config)) {
        return At(config, "no such file: every func_*.py needs its configurations");
      }
      KS_TRY(const std::string text, files_.Read(config));
      KS_TRY(std::vector<TaskConfiguration> parsed,
             ParseRobustConfigurations(text, config.string()));
      task.directions.push_back(direction);
      (direction == TaskDirection::kForward ? task.forward_configurations
                                            : task.backward_configurations) = std::move(parsed);
    }
    if (task.directions.empty()) {
      // A folder with one model file is how some collections keep a task.
      for (const char* name : {"model.py", "task.py", "reference.py"}) {
        if (files_.Exists(task.path / name)) return Glance(task.path / name);
      }
      return At(task.path,
                "not a task: the folder has neither func_forward.py, func_backward.py "
                "nor model.py");
    }
    if (task.directions.size() == 1 && task.directions[0] == TaskDirection::kForward) {
      // The forward file defines a backward too: gradients of fn's arguments.
      task.directions.push_back(TaskDirection::kBackward);
      task.backward_configurations = task.forward_configurations;
    }
    return task;
  }
  KS_TRY(const std::string source, files_.Read(path));
  task.summary = Docstring(source);
  task.directions = {TaskDirection::kForward, TaskDirection::kBackward};
  if (LooksLikeSuite(source)) {
    task.format = TaskFormat::kSuite;
    return task;
  }
  if (path.extension() != ".py") return At(path, "not a task: expected a .py file or a folder");
  if (path.stem() == "model") task.name = path.parent_path().filename().string();
  task.format = TaskFormat::kModel;
  task.dtypes = {"task", "float32", "float16", "bfloat16"};
  task.forward_configurations = {{.name = "default", .group = "default"}};
  task.backward_configurations = task.forward_configurations;
  return task;
}

Result<std::vector<fs::path>> TaskStore::List(const fs::path& folder) const {
  const fs::path root = folder.empty() ? options_.suite : folder;
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    return At(root, folder.empty() ? "our suite is not there; reinstall kernelsmith"
                                   : "no such folder: public task collections are not part of "
                                     "kernelsmith, --from names a copy of yours");
  }
  std::vector<fs::path> found;
  auto walk =
      fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    const fs::path path = walk->path();
    const std::string name = path.filename().string();
    std::error_code ignored;
    if (walk->is_directory(ignored)) {
      if (name.starts_with(".") || name == "__pycache__") {
        walk.disable_recursion_pending();
      } else if (fs::exists(path / "func_forward.py", ignored) ||
                 fs::exists(path / "func_backward.py", ignored)) {
        found.push_back(path);
        walk.disable_recursion_pending();
      }
      continue;
    }
    if (path.extension() != ".py" || name.starts_with("_")) continue;
    const Result<std::string> source = files_.Read(path);
    if (!source.ok()) continue;
    if (LooksLikeSuite(*source) || LooksLikeModel(*source)) {
      found.push_back(path);
    }
  }
  if (error) return At(root, "can't read: " + error.message());
  std::sort(found.begin(), found.end());
  return found;
}

Result<Task> TaskStore::Load(const std::string& path_or_name, const std::string& mode) {
  fs::path path = path_or_name;
  if (!files_.Exists(path) && path_or_name.find('/') == std::string::npos) {
    const fs::path named = options_.suite / (path_or_name + ".py");
    if (!files_.Exists(named)) {
      return InvalidInput(fmt::format(
          "no task '{}': not a file, not a folder, not a name that `kernelsmith tasks list` shows",
          path_or_name));
    }
    path = named;
  }
  KS_TRY(Task task, Glance(path));
  task.mode = mode;
  if (mode != "task") task.name += "_" + mode;
  if (task.format != TaskFormat::kSuite) return task;
  KS_TRY(const Answer answer, Ask(task, {{"op", "describe"}}));
  const json& result = answer.result;
  task.summary = result.value("summary", task.summary);
  task.dtypes = result.value("dtypes", std::vector<std::string>{"float32"});
  task.directions.clear();
  for (const std::string& name : result.value("directions", std::vector<std::string>{})) {
    task.directions.push_back(name == "backward" ? TaskDirection::kBackward
                                                 : TaskDirection::kForward);
  }
  for (const json& entry : result.value("configurations", json::array())) {
    TaskConfiguration configuration;
    configuration.group = entry.value("group", "");
    configuration.values = {{"input", entry.value("input", json::object())}};
    configuration.name = ConfigurationName(configuration.values);
    task.forward_configurations.push_back(configuration);
  }
  task.backward_configurations = task.forward_configurations;
  return task;
}

json TaskStore::Body(const Task& task, const TaskRequest& request, const char* op) const {
  return {{"op", op},
          {"direction", Name(request.direction)},
          {"configuration", request.configuration.values},
          {"dtype", request.dtype},
          {"mode", task.mode}};
}

Result<std::string> TaskStore::BridgeHash() {
  if (!bridge_hash_.empty()) return bridge_hash_;
  std::vector<fs::path> sources;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.bridge / "kernelsmith_bridge", error)) {
    if (entry.path().extension() == ".py") sources.push_back(entry.path());
  }
  if (sources.empty()) {
    return MissingTool(
        fmt::format("the PyTorch bridge is not there: {}", options_.bridge.string()));
  }
  std::sort(sources.begin(), sources.end());
  std::string all;
  for (const fs::path& path : sources) {
    KS_TRY(const std::string text, files_.Read(path));
    all += Sha256(text);
  }
  bridge_hash_ = Sha256(all);
  return bridge_hash_;
}

std::optional<TaskStore::Answer> TaskStore::Lookup(const fs::path& folder) const {
  const fs::path manifest_path = folder / kManifest;
  if (!files_.Exists(manifest_path)) return std::nullopt;
  const Result<std::string> text = files_.Read(manifest_path);
  if (!text.ok()) return std::nullopt;
  const Result<json> manifest = ParseJson(*text, manifest_path.string());
  if (!manifest.ok() || !manifest->is_object()) return std::nullopt;
  for (const json& source : manifest->value("sources", json::array())) {
    const Result<std::string> now = files_.Read(source.value("path", ""));
    if (!now.ok() || Sha256(*now) != source.value("sha256", "")) return std::nullopt;
  }
  for (const json& name : manifest->value("files", json::array())) {
    if (!name.is_string() || !files_.Exists(folder / name.get<std::string>())) return std::nullopt;
  }
  return Answer{manifest->value("result", json::object()), folder};
}

Result<TaskStore::Answer> TaskStore::Ask(const Task& task, json body) {
  const std::lock_guard lock(AskMutex());
  body["path"] = task.path.string();
  body["format"] = Name(task.format);
  KS_TRY(const std::string bridge, BridgeHash());
  json key = body;
  if (key.contains("values")) {
    KS_TRY(const std::string values, files_.Read(key["values"].get<std::string>()));
    key["values"] = Sha256(values);
  }
  key["version"] = kCacheVersion;
  key["torch"] = options_.torch_version;
  key["bridge"] = bridge;
  const fs::path folder = options_.cache / "tasks" / Sha256(key.dump()).substr(0, 32);
  // Before it is looked for, so that nobody removes it from now on. A cache that can't be written
  // can still be read.
  if (!options_.cache.empty()) {
    static_cast<void>(Cache(options_.cache).Use(fs::path("tasks") / folder.filename()));
  }
  if (std::optional<Answer> known = Lookup(folder)) {
    ++cached_;
    return *std::move(known);
  }
  KS_RETURN_IF_ERROR(files_.MakeDirectories(folder));
  body["folder"] = folder.string();
  body["stem"] = body["op"];
  if (worker_ == nullptr) worker_ = std::make_unique<TaskWorker>(options_);
  ++asked_;
  KS_TRY(json result, worker_->Ask(std::move(body)));
  json manifest = {{"key", key}, {"result", result}};
  // A robust-kbench folder's configurations are part of the key already.
  for (const json& source : result.value("sources", json::array())) {
    const std::string path = source.get<std::string>();
    KS_TRY(const std::string text, files_.Read(path));
    manifest["sources"].push_back({{"path", path}, {"sha256", Sha256(text)}});
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name != kManifest) manifest["files"].push_back(name);
  }
  KS_RETURN_IF_ERROR(files_.Write(folder / kManifest, manifest.dump(1)));
  return Answer{std::move(result), folder};
}

Result<TaskGraph> TaskStore::Export(const Task& task, const TaskRequest& request) {
  KS_TRY(const Answer answer, Ask(task, Body(task, request, "export")));
  TaskGraph graph;
  graph.file = answer.folder / "export.json";
  KS_TRY(const std::string text, files_.Read(graph.file));
  KS_TRY(const json document, ParseJson(text, graph.file.string()));
  KS_RETURN_IF_ERROR(ReadSignature(document, graph));
  return graph;
}

Result<TaskCase> TaskStore::Evaluate(const Task& task, const TaskRequest& request, uint64_t seed,
                                     const std::optional<fs::path>& values) {
  json body = Body(task, request, "evaluate");
  // JSON numbers of Python have any size, but the seed of torch is a signed 64-bit one.
  body["seed"] = seed >> 1;
  if (values) body["values"] = fs::absolute(*values).string();
  KS_TRY(const Answer answer, Ask(task, std::move(body)));
  TaskCase result;
  result.tensors = answer.folder / "evaluate.safetensors";
  result.exact = answer.folder / "evaluate.f64.safetensors";
  const json results = answer.result.value("results", json::object());
  for (const auto& [name, meta] : results.items()) {
    KS_TRY(TensorSpec spec, ReadTensorSpec(name, meta));
    result.results.push_back(std::move(spec));
  }
  return result;
}

std::vector<std::string> TaskGraph::AllResults() const {
  std::vector<std::string> all = results;
  all.insert(all.end(), mutated.begin(), mutated.end());
  return all;
}

Result<CaseTensors> ReadCase(const TaskCase& sample) {
  KS_TRY(Safetensors values, ReadSafetensors(sample.tensors));
  KS_TRY(Safetensors expected, ReadSafetensors(sample.exact));
  return CaseTensors{std::move(values.tensors), std::move(expected.tensors)};
}

Result<TaskConfiguration> TaskStore::Reduce(const Task& task, const TaskRequest& request,
                                            int64_t work) {
  json body = Body(task, request, "reduce");
  body["work"] = work;
  if (request.configuration.keep_inner) body["keep"] = "inner";
  KS_TRY(const Answer answer, Ask(task, std::move(body)));
  TaskConfiguration reduced;
  reduced.group = request.configuration.group;
  reduced.values = answer.result.value("configuration", json::object());
  reduced.name = ConfigurationName(reduced.values);
  return reduced;
}

Result<DrawnConfigurations> TaskStore::Draw(const Task& task, const TaskRequest& request,
                                            uint64_t seed, const DrawLimits& limits) {
  json body = Body(task, request, "draw");
  body.erase("configuration");
  for (const TaskConfiguration& each : task.Configurations(request.direction)) {
    body["configurations"].push_back(each.values);
  }
  body["seed"] = seed >> 1;
  body["count"] = limits.shapes;
  body["work"] = limits.shape_work;
  body["rows_work"] = limits.rows_work;
  body["scalar_work"] = limits.scalar_work;
  KS_TRY(const Answer answer, Ask(task, std::move(body)));
  const auto drawn = [](const json& values) {
    return TaskConfiguration{
        .name = ConfigurationName(values), .group = kDrawnGroup, .values = values};
  };
  DrawnConfigurations result;
  for (const json& each : answer.result.value("shapes", json::array())) {
    result.shapes.push_back(drawn(each));
  }
  for (const json& each : answer.result.value("many_rows", json::array())) {
    result.many_rows.push_back(drawn(each));
  }
  for (const json& each : answer.result.value("scalars", json::array())) {
    result.scalars.push_back({each.value("names", std::vector<std::string>{}),
                              drawn(each.value("configuration", json::object()))});
  }
  return result;
}

}  // namespace kernelsmith
