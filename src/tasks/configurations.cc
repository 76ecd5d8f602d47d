#include "tasks/configurations.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/check.h"
#include "support/json.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

std::string ValueText(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string text;
    for (const json& item : value) text += (text.empty() ? "" : "x") + ValueText(item);
    return text;
  }
  return value.dump();
}

// The list `key`, each entry an object. Missing lists mean one empty entry: the original demands
// all of them, but hand-written files leave out what they do not need.
Result<std::vector<json>> List(const json& document, const std::string& key,
                               const std::string& file) {
  const auto found = document.find(key);
  if (found == document.end()) return std::vector<json>{};
  std::vector<json> entries;
  if (found->is_object()) {
    entries.push_back(*found);
    return entries;
  }
  if (!found->is_array()) {
    return Error(ErrorKind::kInvalidInput,
                 Diagnostic{.where = {file}, .message = fmt::format("{} must be a list", key)});
  }
  for (const json& entry : *found) {
    if (!entry.is_object()) {
      return Error(
          ErrorKind::kInvalidInput,
          Diagnostic{.where = {file},
                     .message = fmt::format("{} must hold objects, found {}", key, entry.dump())});
    }
    entries.push_back(entry);
  }
  return entries;
}

constexpr size_t kMostConfigurations = 10'000;

}  // namespace

std::string ConfigurationName(const json& values) {
  std::vector<std::string> parts;
  for (const char* side : {"input", "init", "sizes", "scalars"}) {
    const auto found = values.find(side);
    if (found == values.end() || !found->is_object()) continue;
    for (const auto& [key, value] : found->items()) {
      const std::string part = std::string(side) == "sizes"
                                   ? fmt::format("{}->{}", key, ValueText(value))
                                   : fmt::format("{}={}", key, ValueText(value));
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    }
  }
  if (parts.empty()) return "default";
  return fmt::format("{}", fmt::join(parts, " "));
}

Result<std::vector<TaskConfiguration>> ParseRobustConfigurations(const std::string& text,
                                                                 const std::string& file) {
  KS_TRY(const json document, ParseJson(text, file));
  if (!document.is_object()) {
    return Error(ErrorKind::kInvalidInput,
                 Diagnostic{.where = {file, 1, 1}, .message = "expected a JSON object"});
  }
  std::vector<TaskConfiguration> result;
  bool any_list = false;
  for (const std::string group : {"single", "multi"}) {
    bool present = false;
    std::vector<json> lists[3];
    const char* const names[3] = {"init", "input", "shared"};
    for (int i = 0; i < 3; ++i) {
      const std::string key = fmt::format("{}_{}_configs", group, names[i]);
      KS_TRY(lists[i], List(document, key, file));
      present |= document.contains(key);
      if (lists[i].empty()) lists[i].push_back(json::object());
    }
    any_list |= present;
    if (!present) continue;
    if (lists[0].size() * lists[1].size() * lists[2].size() > kMostConfigurations) {
      return Error(
          ErrorKind::kInvalidInput,
          Diagnostic{.where = {file},
                     .message = fmt::format("{} x {} x {} configurations are too many",
                                            lists[0].size(), lists[1].size(), lists[2].size())});
    }
    for (const json& init : lists[0]) {
      for (const json& input : lists[1]) {
        for (const json& shared : lists[2]) {
          TaskConfiguration configuration;
          configuration.group = group;
          json init_values = init, input_values = input;
          init_values.update(shared);
          input_values.update(shared);
          configuration.values = {{"input", input_values}, {"init", init_values}};
          configuration.name = ConfigurationName(configuration.values);
          const bool known = std::any_of(result.begin(), result.end(), [&](const auto& other) {
            return other.values == configuration.values;
          });
          if (!known) result.push_back(std::move(configuration));
        }
      }
    }
  }
  if (!any_list) {
    return Error(ErrorKind::kInvalidInput,
                 Diagnostic{.where = {file},
                            .message = "no configurations: expected single_input_configs, "
                                       "single_init_configs or single_shared_configs"});
  }
  return result;
}

const TaskConfiguration* Task::Find(TaskDirection direction, const std::string& group) const {
  const std::vector<TaskConfiguration>& all = Configurations(direction);
  for (const TaskConfiguration& configuration : all) {
    if (configuration.group == group) return &configuration;
  }
  return all.empty() ? nullptr : &all.front();
}

Result<TaskConfiguration> FindConfiguration(const Task& task, TaskDirection direction,
                                            const std::string& group, const std::string& name) {
  const TaskConfiguration* first = task.Find(direction, group);
  if (first == nullptr) {
    return InvalidInput(
        fmt::format("task '{}' has no {} configuration", task.name, Name(direction)));
  }
  if (name.empty()) return *first;
  std::string known;
  for (const TaskConfiguration& each : task.Configurations(direction)) {
    if (each.name == name) return each;
    known += (known.empty() ? "" : "; ") + each.name;
  }
  return InvalidInput(
      fmt::format("task '{}' has no configuration '{}'; it has {}", task.name, name, known));
}

}  // namespace kernelsmith
