// Many candidates: each is judged and timed by a process of its own, so that one that crashes or
// hangs is an answer, too. Every answer is written to a results file as it comes: a run that was
// stopped goes on where it was.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "measure/bench.h"
#include "support/clock.h"
#include "support/file_system.h"
#include "support/progress.h"
#include "support/subprocess.h"

namespace kernelsmith {

struct BenchItem {
  std::string task;  // as `kernelsmith bench --task` takes it
  std::filesystem::path candidate;
  std::string name;  // the name that the report shows
  bool backward = false;
  std::string dtype = "task";
};

struct BenchCampaignOptions {
  std::filesystem::path results;     // a file of one JSON a line
  std::vector<std::string> program;  // the first words: {"kernelsmith"}
  std::vector<std::string> options;  // for each, part of what makes an answer the same
  std::string version;               // the program's version: another one may answer otherwise
  int jobs = 1;
  std::chrono::milliseconds timeout{600'000};
  const std::atomic<bool>* stop = nullptr;  // set: nothing new begins
};

struct BenchCampaignOutcome {
  std::vector<BenchResult> results;  // in the order of the items; of those that have one
  size_t missing = 0;                // the run was stopped before these
  size_t known = 0;                  // answers of earlier runs
};

Result<BenchCampaignOutcome> RunBenchCampaign(const std::vector<BenchItem>& items,
                                              const BenchCampaignOptions& options,
                                              FileSystem& files, ProcessRunner& processes,
                                              Progress& progress);

}  // namespace kernelsmith
