// What `estimate` and `profile` have in common: a candidate at one of its task's shapes.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/session.h"
#include "cli/task_options.h"
#include "measure/measured_plan.h"

namespace kernelsmith {

struct MeasuredOptions {
  DirectionChoice direction;
  std::string dtype = "task";
  std::string mode = "task";
  ShapeChoice shape{.group = "timing"};
  bool all_blocks_run = false;
};

// `run_all` says what --run-all is for.
void AddMeasuredOptions(CLI::App* command, MeasuredOptions& options, const std::string& run_all);

struct MeasuredCandidate {
  Task task;
  std::unique_ptr<CandidateCompiler> compiler;  // the plan's candidate needs it
  MeasuredPlan plan;
};
Result<MeasuredCandidate> MakeMeasuredCandidate(Session& session, const std::string& task,
                                                const std::string& candidate,
                                                const MeasuredOptions& options);

}  // namespace kernelsmith
