// Calls the candidate's function, twice, and tells what it returned.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/tracer/light_runtime.h"

namespace kernelsmith::tracer {

// Makes the arguments that the request describes; `read` gives the next bytes of it.
bool ReadArguments(const nlohmann::json& described, const std::function<bool(void*, size_t)>& read,
                   std::vector<light::Value>* arguments);

// Both phases, and the result or a finding.
void CallCandidate(const nlohmann::json& request, std::vector<light::Value>& arguments);

}  // namespace kernelsmith::tracer
