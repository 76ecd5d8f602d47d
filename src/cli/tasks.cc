// `kernelsmith tasks`: what there is to solve, what a candidate must do, and whether a task is any
// good.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/task_options.h"
#include "cli/task_store.h"
#include "cli/tasks_check.h"
#include "tasks/signature.h"
#include "tasks/task.h"

namespace kernelsmith {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct Options {
  std::string from;
  std::vector<std::string> names;
  CaseOptions which;
  double seconds = 60;
  double memory = 8;
  std::string file;
};

TaskStoreOptions StoreOptions(Session& session, const Options& options, bool needs_torch) {
  TaskStoreOptions result = DefaultTaskStoreOptions(session, needs_torch);
  result.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  result.memory_gib = options.memory;
  return result;
}

std::string FirstLine(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return {};
  return text.substr(start, text.find('\n', start) - start);
}

std::string DirectionNames(const Task& task) {
  std::vector<std::string> names;
  for (const TaskDirection direction : task.directions) names.push_back(Name(direction));
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<ExitCode> ListTasks(Session& session, const Options& options) {
  TaskStore store(StoreOptions(session, options, false), session.files);
  KS_TRY(const std::vector<fs::path> paths, store.List(options.from));
  json rows = json::array();
  size_t broken = 0;
  for (const fs::path& path : paths) {
    const Result<Task> task = store.Glance(path);
    if (!task.ok()) {
      ++broken;
      rows.push_back({{"name", path.stem().string()},
                      {"path", path.string()},
                      {"error", task.error().message()}});
      continue;
    }
    std::vector<std::string> directions;
    for (const TaskDirection direction : task->directions) directions.push_back(Name(direction));
    rows.push_back({{"name", task->name},
                    {"path", task->path.string()},
                    {"format", Name(task->format)},
                    {"directions", directions},
                    {"summary", FirstLine(task->summary)}});
  }
  if (session.json) {
    session.PrintJson({{"tasks", rows}});
    return kExitOk;
  }
  if (rows.empty()) {
    return InvalidInput(fmt::format("no tasks in {}", options.from));
  }
  size_t width = 0;
  for (const json& row : rows) width = std::max(width, row["name"].get<std::string>().size());
  for (const json& row : rows) {
    const std::string text = row.contains("error")  ? "error: " + row["error"].get<std::string>()
                             : row["summary"] == "" ? row["format"].get<std::string>()
                                                    : row["summary"].get<std::string>();
    session.out << fmt::format("{:<{}}  {}\n", row["name"].get<std::string>(), width,
                               EscapeForTerminal(text));
  }
  session.out << fmt::format("\n{} task{}{}\n", rows.size(), rows.size() == 1 ? "" : "s",
                             broken > 0 ? fmt::format(", {} with errors", broken) : "");
  return kExitOk;
}

// A name stands for a task of the collection if there is one.
std::string Located(const Options& options, const std::string& name) {
  if (options.from.empty() || name.find('/') != std::string::npos) return name;
  for (const fs::path& path :
       {fs::path(options.from) / name, fs::path(options.from) / (name + ".py")}) {
    if (fs::exists(path)) return path.string();
  }
  return name;
}

json ConfigurationJson(const TaskConfiguration& configuration) {
  return {{"name", configuration.name},
          {"group", configuration.group},
          {"values", configuration.values}};
}

Result<ExitCode> ShowTask(Session& session, const Options& options) {
  TaskStore store(StoreOptions(session, options, true), session.files);
  KS_TRY(const Task task, store.Load(Located(options, options.names.front()), options.which.mode));
  KS_TRY(TaskRequest request, MakeRequest(task, options.which));
  if (options.which.work > 0) {
    KS_TRY(request.configuration, store.Reduce(task, request, options.which.work));
  }
  KS_TRY(const TaskGraph graph, store.Export(task, request));
  KS_TRY(const std::string text, session.files.Read(graph.file));
  const json document = json::parse(text, nullptr, false);
  std::map<std::string, int> operators;
  if (document.is_object()) {
    for (const json& node : document.value("nodes", json::array()))
      ++operators[node.value("op", "")];
  }
  if (session.json) {
    json configurations = json::array();
    for (const TaskConfiguration& configuration : task.Configurations(request.direction)) {
      configurations.push_back(ConfigurationJson(configuration));
    }
    session.PrintJson({{"name", task.name},
                       {"path", task.path.string()},
                       {"format", Name(task.format)},
                       {"summary", task.summary},
                       {"dtypes", task.dtypes},
                       {"direction", Name(request.direction)},
                       {"configurations", configurations},
                       {"shown", ConfigurationJson(request.configuration)},
                       {"call", document.value("call", json::object())},
                       {"operators", operators},
                       {"graph", graph.file.string()}});
    return kExitOk;
  }
  session.out << fmt::format("{} ({}, {})\n", task.name, Name(task.format), DirectionNames(task));
  if (!task.summary.empty()) session.out << "  " << FirstLine(task.summary) << "\n";
  session.out << fmt::format("\n{}({})\n", Name(request.direction), Describe(graph));
  session.out << fmt::format("  returns {}\n", fmt::join(graph.results, ", "));
  if (!graph.mutated.empty()) {
    session.out << fmt::format("  changes {}\n", fmt::join(graph.mutated, ", "));
  }
  session.out << fmt::format("\nconfigurations ({} shown: {})\n",
                             task.Configurations(request.direction).size(),
                             request.configuration.name);
  for (const TaskConfiguration& configuration : task.Configurations(request.direction)) {
    session.out << fmt::format("  {:<7} {}\n", configuration.group, configuration.name);
  }
  std::vector<std::string> counts;
  for (const auto& [name, count] : operators) {
    counts.push_back(count == 1 ? name : fmt::format("{} x{}", name, count));
  }
  session.out << fmt::format("\noperators: {}\n", fmt::join(counts, ", "));
  session.out << fmt::format("graph: {}\n", graph.file.string());
  return kExitOk;
}

constexpr const char* kTemplate = R"("""One line that says what the task computes."""

import torch
from suite import normal, sizes


def forward(x, weight):
    """What a candidate has to do: its `forward` gets these arguments by position."""
    return torch.relu(x @ weight)


def arguments(rows, inputs, outputs):
    """The arguments of forward by name. Make floats as float32; the dtype asked for is applied later."""
    return dict(x=normal(rows, inputs), weight=normal(inputs, outputs, scale=inputs**-0.5))


axes = "rows inputs outputs"
quick = sizes(axes, (16, 64, 32))                        # about a second on the virtual GPU
hidden = sizes(axes, (1, 1, 1), (7, 33, 5), (3, 130, 9))  # odd sizes, size 1
timing = sizes(axes, (4096, 4096, 4096))                 # the real shape

# Optional:
# backward = "go x weight"     arguments of `backward`; go is the gradient of the result
# gradients = ["x"]            what backward returns; all floating arguments otherwise
# forward_only = True          there is nothing to differentiate
# dtypes = ["float32"]         float32, float16 and bfloat16 otherwise
)";

Result<ExitCode> NewTask(Session& session, const Options& options) {
  const fs::path path =
      options.names.front() + (options.names.front().ends_with(".py") ? "" : ".py");
  if (session.files.Exists(path)) {
    return InvalidInput(fmt::format("{} is there already", path.string()));
  }
  KS_RETURN_IF_ERROR(session.files.Write(path, kTemplate));
  session.out << fmt::format("wrote {}; `kernelsmith tasks check {}` says whether it is any good\n",
                             path.string(), path.string());
  return kExitOk;
}

void AddChoices(CLI::App& command, Options& options) {
  AddDirection(command, options.which.direction);
  AddShape(command, options.which.shape);
  AddDtype(command, options.which.dtype);
  AddMode(command, options.which.mode);
  command.add_option("--work", options.which.work,
                     "Reduce the shapes until the forward pass has at most this many operations");
  command.add_option("--seconds", options.seconds, "Limit for each step of a task")
      ->check(CLI::Range(0.1, 86400.0));
  command.add_option("--memory", options.memory, "Limit for a task, in GiB")
      ->check(CLI::Range(0.1, 4096.0));
}

}  // namespace

void AddTasks(CLI::App& app, Session& session) {
  CLI::App* tasks = app.add_subcommand("tasks", "List, show, check and make tasks");
  tasks->require_subcommand(1);
  auto options = std::make_shared<Options>();

  CLI::App* list =
      tasks->add_subcommand("list", "The tasks of our suite, or of another collection");
  list->add_option("--from", options->from, "Folder with a copy of a collection");
  list->callback([&session, options] {
    session.action = [&session, options] { return ListTasks(session, *options); };
  });

  CLI::App* show =
      tasks->add_subcommand("show", "Arguments, configurations and operators of a task");
  show->add_option("task", options->names, "Name or path")->required()->expected(1);
  show->add_option("--from", options->from, "Folder with a copy of a collection");
  AddChoices(*show, *options);
  show->callback([&session, options] {
    session.action = [&session, options] { return ShowTask(session, *options); };
  });

  CLI::App* check = tasks->add_subcommand("check", "Whether a wrong kernel could pass a task");
  check->add_option("tasks", options->names, "Names or paths; none: the whole suite or --from");
  check->add_option("--from", options->from, "Folder with a copy of a collection");
  AddChoices(*check, *options);
  check->callback([&session, options] {
    session.action = [&session, options]() -> Result<ExitCode> {
      TaskStore store(StoreOptions(session, *options, true), session.files);
      std::vector<std::string> names;
      for (const std::string& name : options->names) names.push_back(Located(*options, name));
      if (names.empty()) {
        KS_TRY(const std::vector<fs::path> paths, store.List(options->from));
        for (const fs::path& path : paths) names.push_back(path.string());
      }
      return CheckTasks(session, store, names,
                        {.which = options->which, .skip_missing = options->names.empty()});
    };
  });

  CLI::App* make = tasks->add_subcommand("new", "Write a template of a task");
  make->add_option("file", options->names, "The file to write")->required()->expected(1);
  make->callback([&session, options] {
    session.action = [&session, options] { return NewTask(session, *options); };
  });
}

}  // namespace kernelsmith
