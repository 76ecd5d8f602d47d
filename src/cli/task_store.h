// The task store of a command: our suite, the bridge and the cache, as this installation has them.
#pragma once

#include "cli/session.h"
#include "tasks/task.h"

namespace kernelsmith {

// `needs_torch`: false for commands that only look at files, which saves starting Python.
TaskStoreOptions DefaultTaskStoreOptions(Session& session, bool needs_torch = true);

// Where python/, tasks/, prompts/ and docs/ are: where the settings say, beside the installed
// program, or in the sources it was built from.
std::filesystem::path DataFolder(const Session& session);

// The seed of a verification: --seed, or one that nobody can predict. The upper half of the latter
// is kept in the cache folder for a day: PyTorch's own draws depend on it alone (verify/verify.h),
// so they are made once, and a task that was verified before needs no PyTorch, whose start takes
// longer than everything else. What the report prints repeats the run on any machine.
uint64_t VerificationSeed(Session& session);

}  // namespace kernelsmith
