// The PTX side of `kernelsmith ops`.
#pragma once

#include <string>

#include "cli/session.h"
#include "support/exit_code.h"
#include "support/result.h"

namespace kernelsmith {

// Every form of the instruction table whose instruction's name contains `filter`, with its state.
Result<ExitCode> ListInstructions(Session& session, const std::string& filter);

// How much of a frequency file (data of mnemonics and the files they occur in) can be run.
Result<ExitCode> PrintCoverage(Session& session, const std::string& path);

}  // namespace kernelsmith
