// Which of a task's configurations a request means.
#pragma once

#include <string>

#include "tasks/task.h"

namespace kernelsmith {

// The configuration called `name`; without a name the first one of `group`, or of any group if
// there is none. An error says which there are.
Result<TaskConfiguration> FindConfiguration(const Task& task, TaskDirection direction,
                                            const std::string& group, const std::string& name);

}  // namespace kernelsmith
