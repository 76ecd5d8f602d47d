// `kernelsmith tasks check`: runs the task filter (tasks/filter.h) and prints what it found.
#pragma once

#include "cli/session.h"
#include "cli/task_options.h"
#include "tasks/task.h"

namespace kernelsmith {

// The case of a task that a command is about.
struct CaseOptions {
  DirectionChoice direction;
  ShapeChoice shape{.group = "quick"};
  std::string dtype = "task";
  std::string mode = "task";
  int64_t work = 0;  // operations that the forward pass has at most; 0: the shape as it is
};

struct CheckOptions {
  CaseOptions which;
  bool skip_missing = false;  // leave out tasks without this direction, without a word
};

Result<TaskRequest> MakeRequest(const Task& task, const CaseOptions& options);

Result<ExitCode> CheckTasks(Session& session, TaskStore& store,
                            const std::vector<std::string>& names, const CheckOptions& options);

}  // namespace kernelsmith
