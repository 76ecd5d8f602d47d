// A task to a CUDA file for its whole family of shapes: the graphs of several configurations,
// compiled as one (src/codegen), and verified (src/verify) before anybody gets it.
#pragma once

#include <filesystem>
#include <string>

#include "codegen/codegen.h"
#include "support/progress.h"
#include "support/result.h"
#include "tasks/task.h"
#include "verify/verify.h"

namespace kernelsmith {

struct TranslateOptions {
  TaskDirection direction = TaskDirection::kForward;
  std::string dtype = "task";
  // Configurations that sizes are fitted to: more tell apart what is equal by chance.
  size_t configurations = 8;
};

// What a task compiles to; `unsupported` names the operator or the argument that can't be
// translated. One model gives any number of candidates: codegen::EmitCandidate(model, schedule).
Result<codegen::Model> ModelOf(TaskStore& tasks, const Task& task, const TranslateOptions& options);

// module.py: loads forward.cu and backward.cu from its own folder and makes one function of them,
// with gradients if both are given.
std::string PythonModule(const Task& task, const codegen::Model* forward,
                         const codegen::Model* backward);

}  // namespace kernelsmith
