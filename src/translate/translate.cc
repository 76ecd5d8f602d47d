#include "translate/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "graph/aten_ops.h"
#include "graph/graph.h"
#include "translate/conditions.h"

namespace kernelsmith {
namespace {

using codegen::HostArgument;

// Sizes are fitted to configurations of all groups, the quick ones first.
std::vector<TaskConfiguration> Chosen(const Task& task, const TranslateOptions& options) {
  std::vector<TaskConfiguration> chosen;
  for (const TaskConfiguration& each : task.Configurations(options.direction)) {
    if (chosen.size() < options.configurations) chosen.push_back(each);
  }
  return chosen;
}

// A task with one configuration says nothing about what may vary; smaller shapes of it do.
void AddReduced(TaskStore& tasks, const Task& task, const TranslateOptions& options,
                std::vector<TaskConfiguration>& configurations) {
  const TaskConfiguration first = configurations[0];
  // The largest sizes shrink first: down to little, so that in small tasks the others vary, too.
  for (const int64_t work :
       {int64_t{20'000'000}, int64_t{1'000'000}, int64_t{50'000}, int64_t{3'000}, int64_t{600}}) {
    const auto smaller = tasks.Reduce(
        task, {.direction = options.direction, .configuration = first, .dtype = options.dtype},
        work);
    if (!smaller.ok()) continue;
    const bool known =
        std::any_of(configurations.begin(), configurations.end(),
                    [&](const TaskConfiguration& each) { return each.values == smaller->values; });
    if (!known) configurations.push_back(*smaller);
  }
}

// The first configuration with other values for its float arguments, so that numbers that follow
// from them can be told from constants. Nothing where it has no float arguments.
std::optional<TaskConfiguration> Probe(const TaskConfiguration& first,
                                       const std::vector<TaskArgument>& arguments, double factor) {
  TaskConfiguration probe = first;
  bool changed = false;
  for (const TaskArgument& argument : arguments) {
    if (argument.kind != TaskArgument::Kind::kFloat) continue;
    factor -= 0.013;  // Each argument gets a factor of its own.
    probe.values["input"][argument.name] = argument.number * factor;
    changed = true;
  }
  if (!changed) return std::nullopt;
  probe.name = ConfigurationName(probe.values);
  return probe;
}

struct Exported {
  TaskConfiguration configuration;
  TaskGraph task_graph;
  std::shared_ptr<const Graph> graph;
};

Result<HostArgument::Kind> KindOf(const TaskArgument& argument) {
  switch (argument.kind) {
    case TaskArgument::Kind::kTensor:
      return HostArgument::Kind::kTensor;
    case TaskArgument::Kind::kInt:
      return HostArgument::Kind::kInt;
    case TaskArgument::Kind::kFloat:
      return HostArgument::Kind::kFloat;
    case TaskArgument::Kind::kBool:
      return HostArgument::Kind::kBool;
    case TaskArgument::Kind::kNone:
      return HostArgument::Kind::kNone;
    case TaskArgument::Kind::kString:
      return HostArgument::Kind::kString;
    case TaskArgument::Kind::kList: {
      std::set<TaskArgument::Kind> kinds;
      for (const TaskArgument& item : argument.items) kinds.insert(item.kind);
      if (kinds.size() <= 1) {
        const TaskArgument::Kind kind = kinds.empty() ? TaskArgument::Kind::kInt : *kinds.begin();
        if (kind == TaskArgument::Kind::kTensor) return HostArgument::Kind::kTensorList;
        if (kind == TaskArgument::Kind::kInt) return HostArgument::Kind::kIntList;
        if (kind == TaskArgument::Kind::kFloat) return HostArgument::Kind::kFloatList;
      }
      break;
    }
    default:
      break;
  }
  return Unsupported(
      fmt::format("argument {} is neither a tensor, a number nor a list of them", argument.name));
}

bool IsNumber(HostArgument::Kind kind) {
  return kind == HostArgument::Kind::kInt || kind == HostArgument::Kind::kFloat;
}

Result<HostArgument> HostArgumentOf(const std::deque<Exported>& all, size_t position) {
  HostArgument result;
  result.name = all[0].task_graph.arguments[position].name;
  bool first = true;
  for (const Exported& each : all) {
    const TaskArgument& argument = each.task_graph.arguments[position];
    KS_TRY(const HostArgument::Kind kind, KindOf(argument));
    if (argument.kind == TaskArgument::Kind::kTensor) result.tensors = {argument.text};
    if (kind == HostArgument::Kind::kTensorList) {
      result.tensors.clear();
      for (const TaskArgument& item : argument.items) result.tensors.push_back(item.text);
    }
    if (first || kind == result.kind) {
      result.kind = kind;
    } else if (IsNumber(kind) && IsNumber(result.kind)) {
      result.kind = HostArgument::Kind::kFloat;
    } else if ((kind == HostArgument::Kind::kNone || kind == HostArgument::Kind::kTensor ||
                kind == HostArgument::Kind::kOptionalTensor) &&
               (result.kind == HostArgument::Kind::kNone ||
                result.kind == HostArgument::Kind::kTensor ||
                result.kind == HostArgument::Kind::kOptionalTensor)) {
      result.kind = HostArgument::Kind::kOptionalTensor;
    } else {
      return Unsupported(
          fmt::format("argument {} has another type in another configuration", result.name));
    }
    first = false;
  }
  // One name for the argument and its tensor.
  if (result.kind == HostArgument::Kind::kTensor) result.name = result.tensors[0];
  if (result.kind == HostArgument::Kind::kOptionalTensor) result.name += "_or_none";
  return result;
}

std::vector<codegen::NumberArgument> NumbersOf(const std::vector<const Exported*>& group,
                                               const std::vector<HostArgument>& arguments) {
  std::vector<codegen::NumberArgument> numbers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto add = [&](const std::string& name, bool integer, const auto& get) {
      codegen::NumberArgument number{name, integer, {}};
      for (const Exported* each : group) {
        const TaskArgument& value = get(each->task_graph.arguments[i]);
        number.values.push_back(value.kind == TaskArgument::Kind::kInt
                                    ? static_cast<double>(value.integer)
                                    : value.number);
      }
      numbers.push_back(std::move(number));
    };
    const HostArgument& argument = arguments[i];
    if (IsNumber(argument.kind)) {
      add(argument.name, argument.kind == HostArgument::Kind::kInt,
          [](const TaskArgument& value) -> const TaskArgument& { return value; });
    } else if (argument.kind == HostArgument::Kind::kIntList ||
               argument.kind == HostArgument::Kind::kFloatList) {
      size_t shortest = SIZE_MAX;
      for (const Exported* each : group)
        shortest = std::min(shortest, each->task_graph.arguments[i].items.size());
      for (size_t k = 0; k < shortest; ++k) {
        add(fmt::format("{}[{}]", argument.name, k), argument.kind == HostArgument::Kind::kIntList,
            [k](const TaskArgument& value) -> const TaskArgument& { return value.items[k]; });
      }
    }
  }
  return numbers;
}

// Names that the configurations have for sizes: "batch" with its value in each.
std::map<std::string, std::vector<int64_t>> SizeNames(const std::vector<const Exported*>& group) {
  std::map<std::string, std::vector<int64_t>> names;
  for (const Exported* each : group) {
    for (const char* side : {"input", "init"}) {
      const auto at = each->configuration.values.find(side);
      if (at == each->configuration.values.end() || !at->is_object()) continue;
      for (const auto& [name, value] : at->items()) {
        if (value.is_number_integer()) names[name].push_back(value.get<int64_t>());
      }
    }
  }
  std::erase_if(names, [&](const auto& entry) { return entry.second.size() != group.size(); });
  return names;
}

}  // namespace

Result<codegen::Model> ModelOf(TaskStore& tasks, const Task& task,
                               const TranslateOptions& options) {
  std::vector<TaskConfiguration> configurations = Chosen(task, options);
  if (configurations.empty())
    return InvalidInput("the task has no configurations in this direction");
  if (configurations.size() == 1) AddReduced(tasks, task, options, configurations);
  std::deque<Exported> exported;  // groups point into it
  for (const TaskConfiguration& configuration : configurations) {
    auto graph = tasks.Export(
        task,
        {.direction = options.direction, .configuration = configuration, .dtype = options.dtype});
    if (!graph.ok()) {
      // The first one decides; a reduced shape that does not run tells nothing.
      if (exported.empty()) return std::move(graph).error();
      continue;
    }
    Exported each{configuration, *std::move(graph), {}};
    KS_TRY(Graph read, ReadGraph(each.task_graph.file));
    each.graph = std::make_shared<const Graph>(std::move(read));
    exported.push_back(std::move(each));
  }
  if (task.format == TaskFormat::kSuite) {
    for (const double factor : {0.95, 0.8}) {
      const auto probe = Probe(exported[0].configuration, exported[0].task_graph.arguments, factor);
      if (!probe) break;
      auto graph = tasks.Export(
          task, {.direction = options.direction, .configuration = *probe, .dtype = options.dtype});
      if (!graph.ok()) break;  // made by the task itself, not by its configuration
      Exported each{*probe, *std::move(graph), nullptr};
      KS_TRY(Graph read, ReadGraph(each.task_graph.file));
      each.graph = std::make_shared<const Graph>(std::move(read));
      exported.push_back(std::move(each));
    }
  }
  codegen::Signature signature;
  signature.function = Name(options.direction);
  for (size_t i = 0; i < exported[0].task_graph.arguments.size(); ++i) {
    KS_TRY(HostArgument argument, HostArgumentOf(exported, i));
    signature.arguments.push_back(std::move(argument));
  }
  signature.title = fmt::format(
      "{}, {}{}: made by kernelsmith translate from {}", task.name, signature.function,
      options.dtype == "task" ? "" : ", " + options.dtype, task.path.filename().string());
  // Configurations with the same structure are one variant.
  std::vector<std::vector<const Exported*>> groups;
  for (const Exported& each : exported) {
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return codegen::SameStructure(*group[0]->graph, *each.graph);
    });
    if (at == groups.end()) {
      groups.push_back({&each});
    } else {
      at->push_back(&each);
    }
  }
  std::vector<std::vector<const TaskGraph*>> calls;
  for (const auto& group : groups) {
    calls.emplace_back();
    for (const Exported* each : group) calls.back().push_back(&each->task_graph);
  }
  // An operator that can't be translated is the first thing to say.
  for (const auto& group : groups) {
    for (const Node& node : group[0]->graph->nodes) {
      if (node.kind != NodeKind::kOperator) continue;
      if (!OperatorOf(node.aten).lowered()) {
        return Unsupported(fmt::format("operator {} can't be translated", node.op));
      }
    }
  }
  auto told_apart = ConditionsOf(calls, signature.arguments);
  if (!told_apart.ok()) {
    // One structure for all, that of most configurations; whether it serves the others is for the
    // verifier to say.
    std::swap(groups[0],
              *std::max_element(groups.begin(), groups.end(),
                                [](const auto& a, const auto& b) { return a.size() < b.size(); }));
    groups.resize(1);
    told_apart = std::vector<std::string>{""};
  }
  const std::vector<std::string> conditions = *std::move(told_apart);
  std::vector<codegen::Variant> variants;
  for (size_t i = 0; i < groups.size(); ++i) {
    std::vector<std::shared_ptr<const Graph>> graphs;
    for (const Exported* each : groups[i]) graphs.push_back(each->graph);
    std::vector<std::string> taken;
    for (const HostArgument& argument : signature.arguments) {
      taken.push_back(argument.name);
      taken.insert(taken.end(), argument.tensors.begin(), argument.tensors.end());
    }
    KS_TRY(codegen::Family family,
           codegen::Family::Make(graphs, NumbersOf(groups[i], signature.arguments),
                                 SizeNames(groups[i]), taken));
    variants.push_back({std::move(family), conditions[i], groups[i][0]->task_graph.results});
  }
  return codegen::MakeModel(std::move(variants), std::move(signature));
}

}  // namespace kernelsmith
