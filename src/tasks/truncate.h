// Graphs with a reduction cut short, as a kernel that forgets the last tile computes them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kernelsmith {

struct TruncatedGraph {
  std::string name;  // "truncated aten.mm.default (model.py:4)"
  nlohmann::json document;
};

// One graph for each reduction of `document` (docs/graph_format.md) that has something to lose; at
// most `limit`, the largest reductions first.
std::vector<TruncatedGraph> TruncateReductions(const nlohmann::json& document, size_t limit);

}  // namespace kernelsmith
