// Which of several structures a call belongs to.
#pragma once

#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "support/result.h"
#include "tasks/task.h"

namespace kernelsmith {

// For each group of calls a C++ condition over the function's arguments that holds for its calls
// and not for those of later groups; that of the last is empty. `unsupported` where nothing simple
// tells them apart.
Result<std::vector<std::string>> ConditionsOf(
    const std::vector<std::vector<const TaskGraph*>>& groups,
    const std::vector<codegen::HostArgument>& arguments);

}  // namespace kernelsmith
