// Programs that run with our runtime library: `run` and `sanitize`.
#pragma once

#include <string>

#include "cli/session.h"

namespace kernelsmith {

// Checks that the program can run with our library and sets this process's environment so that a
// program started from now on finds it. The path to execute.
Result<std::string> PrepareProgram(Session& session, const std::string& name);

}  // namespace kernelsmith
