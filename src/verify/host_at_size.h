// Shapes for timing that are too large to run here: what the host code asks of the GPU there can
// still be seen, as that takes no data. A launch beyond the GPU's limits, a way out for large
// shapes, or a kernel of their own would otherwise go unnoticed.
#pragma once

#include <set>
#include <string>

#include "verify/verification.h"

namespace kernelsmith {

// `judged`: the kernels that ran at other shapes.
Status JudgeHostAt(Verification& verification, const TaskRequest& request, const TaskGraph& task,
                   const std::set<std::string>& judged, StageResult& stage);

}  // namespace kernelsmith
