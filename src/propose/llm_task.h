// What models are told: a task in words, verdicts as complaints, a GPU's limits.
#pragma once

#include <string>
#include <vector>

#include "llm/agent_prompts.h"
#include "support/file_system.h"
#include "tasks/task.h"
#include "verify/verdict.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

// The task's source, as its author wrote it.
Result<std::string> ReferenceOf(const Task& task, TaskDirection direction, const FileSystem& files);

// With the signature at the task's first configuration.
Result<llm::KernelTask> KernelTaskOf(const Task& task, TaskDirection direction,
                                     const std::string& dtype, TaskStore& store,
                                     const FileSystem& files);
// One line an argument and one a result, with C++ types.
std::string SignatureText(const TaskGraph& graph, const std::vector<TensorSpec>& results);

// What a verdict has against a candidate, the deciding findings first. Where the candidate lies is
// not told.
struct Feedback {
  std::vector<llm::Complaint> complaints;
  std::string counterexample;  // in words; empty: none
};
Feedback FeedbackOf(const Verdict& verdict);
// The same of findings as the archive keeps them.
Feedback FeedbackOf(const nlohmann::json& findings, const std::string& stage,
                    const std::string& reason);

std::vector<std::string> LimitsOf(const GpuModel& gpu);

// Ideas for faster kernels, of which a question has some.
const std::vector<std::string>& StrategyHints();

// A conversation as one text, for the archive.
std::string TextOf(const llm::Conversation& conversation);

}  // namespace kernelsmith
