// Plain CUDA candidates: an extern "C" launcher gets pointers and sizes instead of tensors.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/host/light_runtime.h"

namespace kernelsmith::host {

// The launcher's parameters matched with the task's arguments and results; throws if they can't be.
std::function<light::Value()> BindLauncher(const nlohmann::json& request,
                                           std::vector<light::Value>& arguments);

}  // namespace kernelsmith::host
