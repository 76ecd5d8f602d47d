// The task store of a command: our suite, the bridge and the cache, as this installation has them.
#pragma once

#include "cli/session.h"
#include "tasks/task.h"

namespace kernelsmith {

// `needs_torch`: false for commands that only look at files, which saves starting Python.
TaskStoreOptions DefaultTaskStoreOptions(Session& session, bool needs_torch = true);

// Where python/, tasks/ and prompts/ are: $KERNELSMITH_HOME, beside the installed program, or the
// sources it was built from.
std::filesystem::path DataFolder();

// $XDG_CACHE_HOME/kernelsmith, or ~/.cache/kernelsmith.
std::filesystem::path CacheFolder();

}  // namespace kernelsmith
