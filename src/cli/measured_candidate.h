// What `estimate` and `profile` have in common: a candidate at one of its task's shapes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/session.h"
#include "measure/measured_plan.h"

namespace kernelsmith {

struct MeasuredOptions {
  bool backward = false;
  bool all_blocks_run = false;
  std::string dtype = "task";
  std::string group = "timing";
  std::string configuration;

  TaskDirection direction() const {
    return backward ? TaskDirection::kBackward : TaskDirection::kForward;
  }
};

// `run_all` says what --run-all is for.
void AddMeasuredOptions(CLI::App* command, MeasuredOptions& options, const std::string& run_all);

struct MeasuredCandidate {
  Task task;
  MeasuredPlan plan;
};
Result<MeasuredCandidate> MakeMeasuredCandidate(Session& session, const std::string& task,
                                                const std::string& candidate,
                                                const MeasuredOptions& options);

}  // namespace kernelsmith
