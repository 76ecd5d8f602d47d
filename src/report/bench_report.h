// The answers of `kernelsmith bench` in every form.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure/bench.h"

namespace kernelsmith {

// A table with every shape, and what it comes to.
std::string BenchText(const std::vector<BenchResult>& results, bool color);
// One line a shape; candidates without a time have one line without times.
std::string BenchCsv(const std::vector<BenchResult>& results);
std::string BenchHtml(const std::vector<BenchResult>& results);
nlohmann::json BenchJson(const std::vector<BenchResult>& results);

}  // namespace kernelsmith
