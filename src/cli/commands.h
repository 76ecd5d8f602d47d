// The subcommands, one file each. To add one: write src/cli/<name>.cc with an Add function that
// describes its options and sets `session.action` in its callback, declare it here, and put it into
// the table in commands.cc.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/session.h"

namespace kernelsmith {

void AddArchive(CLI::App& app, Session& session);
void AddCompletion(CLI::App& app, Session& session);
void AddDoctor(CLI::App& app, Session& session);
void AddBench(CLI::App& app, Session& session);
void AddCompare(CLI::App& app, Session& session);
void AddTranslate(CLI::App& app, Session& session);
void AddOptimize(CLI::App& app, Session& session);
void AddVerify(CLI::App& app, Session& session);
void AddTasks(CLI::App& app, Session& session);
void AddMutate(CLI::App& app, Session& session);
void AddMutants(CLI::App& app, Session& session);
void AddAskVerifier(CLI::App& app, Session& session);
void AddOps(CLI::App& app, Session& session);
void AddLaunch(CLI::App& app, Session& session);
void AddPlan(CLI::App& app, Session& session);
void AddRun(CLI::App& app, Session& session);
void AddSanitize(CLI::App& app, Session& session);
void AddProfile(CLI::App& app, Session& session);
void AddEstimate(CLI::App& app, Session& session);

// All of them, in the order of the flow.
void AddCommands(CLI::App& app, Session& session);

}  // namespace kernelsmith
