// Why one candidate is faster than another: their counters side by side, and in words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "archive/archive.h"

namespace kernelsmith {

struct Explanation {
  struct Row {
    std::string name;  // "DRAM traffic"
    double before = 0;
    double after = 0;
    std::string before_text;  // "134 MB"
    std::string after_text;
  };
  std::vector<Row> counters;         // the counters of all kernels together
  std::vector<std::string> reasons;  // what matters most first; never empty
};

// Both as the stage `estimate` left them.
Explanation Explain(const ArchivedCandidate& before, const ArchivedCandidate& after);

nlohmann::json ToJson(const Explanation& explanation);

// What a roofline shows of all kernels of a candidate.
struct RooflinePoint {
  double flops = 0;
  double dram_bytes = 0;
  double device_seconds = 0;
};
RooflinePoint RooflineOf(const ArchivedCandidate& candidate);

}  // namespace kernelsmith
