// `kernelsmith tasks check`: runs the task filter (tasks/filter.h) and prints what it found.
#pragma once

#include "cli/session.h"
#include "tasks/task.h"

namespace kernelsmith {

struct CheckOptions {
  std::string direction;
  std::string group;
  std::string dtype;
  std::string mode;
  int64_t work = 0;
  bool skip_missing = false;  // leave out tasks without this direction, without a word
};

// The configuration of `group`, which may also be a configuration's name.
Result<TaskRequest> MakeRequest(const Task& task, const std::string& direction,
                                const std::string& group, const std::string& dtype);

Result<ExitCode> CheckTasks(Session& session, TaskStore& store,
                            const std::vector<std::string>& names, const CheckOptions& options);

}  // namespace kernelsmith
