// The client of python/kernelsmith_bridge: one process with PyTorch loaded that answers requests.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "support/result.h"
#include "support/subprocess.h"
#include "tasks/task.h"

namespace kernelsmith {

class TaskWorker {
 public:
  explicit TaskWorker(TaskStoreOptions options) : options_(std::move(options)) {}

  // Sends `request` and gives its "result". Starts the worker if there is none, and again (once) if
  // it died since: an answer must never be lost because of an earlier task.
  Result<nlohmann::json> Ask(nlohmann::json request);
  // Processes started so far.
  int starts() const { return starts_; }

 private:
  Status Start();

  TaskStoreOptions options_;
  std::unique_ptr<LineWorker> process_;
  int starts_ = 0;
  int next_id_ = 1;
};

}  // namespace kernelsmith
