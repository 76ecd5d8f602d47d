// Reading JSON that others wrote: errors are diagnostics with a place, never exceptions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kernelsmith {

// Comments are allowed: hand-written configurations have them.
Result<nlohmann::json> ParseJson(std::string_view text, const std::string& file);

}  // namespace kernelsmith
