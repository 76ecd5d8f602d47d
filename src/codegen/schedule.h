// How a program is made into kernels: the choices, each with a name, the values it may take and one
// that is taken. Every combination gives a right kernel; they differ in speed. Evolution mutates
// these numbers.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith::codegen {

// One choice. "softmax.threads" with {32, 64, ..., 1024}, now 256.
struct Gene {
  std::string name;  // kernel or buffer, a dot, what is chosen
  std::vector<int64_t> values;
  int64_t value = 0;
  std::string kernel = "";  // the one that it shapes; empty: it decides which kernels there are
  bool operator==(const Gene&) const = default;
};

// Values by gene name. What it does not name is as the compiler thinks best.
struct Schedule {
  std::map<std::string, int64_t> genes;

  int64_t Get(const std::string& name, int64_t otherwise) const {
    const auto at = genes.find(name);
    return at == genes.end() ? otherwise : at->second;
  }
};

// {"genes": {"softmax.threads": 256}}
nlohmann::json ToJson(const Schedule& schedule);
Result<Schedule> ParseSchedule(std::string_view text, const std::string& file);

}  // namespace kernelsmith::codegen
