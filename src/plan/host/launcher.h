// Plain CUDA candidates: an extern "C" launcher gets pointers and sizes instead of tensors.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/host/light_runtime.h"

namespace kernelsmith::host {

// The launcher's parameters matched with the arguments and results of a set of the request; throws
// if they can't be. The set must outlive what is returned.
std::function<light::Value()> BindLauncher(const nlohmann::json& request, const nlohmann::json& set,
                                           std::vector<light::Value>& arguments);

}  // namespace kernelsmith::host
