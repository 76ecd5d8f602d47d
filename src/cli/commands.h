// The subcommands, one file each; commands.def is the table of them.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/session.h"

namespace kernelsmith {

#define KS_COMMAND(heading, add) void add(CLI::App& app, Session& session);
#include "cli/commands.def"
#undef KS_COMMAND

// Adds all of them, in the order of the table.
void AddCommands(CLI::App& app, Session& session);

}  // namespace kernelsmith
