// What the two forms of `kernelsmith sanitize` share: a program, and the plans of a candidate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkers/finding.h"
#include "cli/session.h"
#include "cli/task_options.h"

namespace kernelsmith {

struct SanitizeOptions {
  std::string checks = "all";
  bool full = false;  // no screen
  bool sarif = false;
  std::string output;
  int error_exit_code = 1;
  size_t max_findings = 100;
  std::string gpu;
  std::optional<int> watchdog_seconds;
  std::optional<int> timeout_seconds;
  // Of a candidate.
  DirectionChoice direction;
  std::string dtype = "task";
  std::string mode = "task";
  ShapeChoice shape{.group = "quick"};
};

// Runs the candidate's plans for all configurations of the group, checked. An error: there is no
// plan, and it says why.
Result<std::vector<checkers::Finding>> SanitizeCandidate(Session& session,
                                                         const SanitizeOptions& options,
                                                         const std::string& task,
                                                         const std::string& candidate);

}  // namespace kernelsmith
