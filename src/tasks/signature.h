// The "call" part of an exported graph: what a candidate's function gets and returns.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tasks/task.h"

namespace kernelsmith {

Status ReadSignature(const nlohmann::json& document, TaskGraph& graph);
Result<TensorSpec> ReadTensorSpec(const std::string& name, const nlohmann::json& meta);

// "x: float32[4, 8], eps: 1e-05" for people.
std::string Describe(const TaskGraph& graph);

}  // namespace kernelsmith
