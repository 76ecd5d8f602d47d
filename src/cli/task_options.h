// The options that name a task, a candidate, and the pass, type, shape and GPU that a command is
// about. Every command takes them from here, so that they mean and say the same everywhere.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace kernelsmith {

// The task as an operand (`operand`: as --help names it) or, in commands whose operands are others,
// as --task.
CLI::Option* AddTask(CLI::App& command, std::string& task, const std::string& operand = "task");
CLI::Option* AddTaskOption(CLI::App& command, std::string& task);
CLI::Option* AddCandidate(CLI::App& command, std::string& candidate);

// --direction forward|backward, and --backward, which is the same as --direction backward.
struct DirectionChoice {
  std::optional<TaskDirection> given;

  TaskDirection value() const { return given.value_or(TaskDirection::kForward); }
  bool backward() const { return value() == TaskDirection::kBackward; }
  // True unless the command line asks for the other one: for commands that go through many tasks.
  bool Covers(TaskDirection direction) const { return given.value_or(direction) == direction; }
};
// Options that contradict each other are a usage error.
std::vector<CLI::Option*> AddDirection(CLI::App& command, DirectionChoice& choice);
// --forward, which is the same as --direction forward: for commands that do both without it.
CLI::Option* AddForward(CLI::App& command, DirectionChoice& choice);

// --dtype; "task" is the task's own.
CLI::Option* AddDtype(CLI::App& command, std::string& dtype);

// --mode: whether the task's model trains; "task" is as its code leaves it (Task::mode).
CLI::Option* AddMode(CLI::App& command, std::string& mode);

// --group and --configuration: the task's shapes that count.
struct ShapeChoice {
  std::string group;
  std::string configuration;  // the name of one shape; empty: the group decides
};
void AddShape(CLI::App& command, ShapeChoice& choice);
CLI::Option* AddConfiguration(CLI::App& command, std::string& configuration);

// --allow: what may decide in a candidate's kernels (kAllowWords).
CLI::Option* AddAllow(CLI::App& command, std::vector<std::string>& allow);

// --gpu: the key of a GPU model.
CLI::Option* AddGpu(CLI::App& command, std::string& gpu);

}  // namespace kernelsmith
