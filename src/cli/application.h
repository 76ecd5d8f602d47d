// The command line of `kernelsmith`, apart from main() so that tests can run it with fakes.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace kernelsmith {

// Parses `arguments` (without the program's name), runs the command, prints errors in one line, and
// returns the exit code.
int RunApplication(const std::vector<std::string>& arguments, Session& session);

}  // namespace kernelsmith
