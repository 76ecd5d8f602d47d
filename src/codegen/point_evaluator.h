// Single elements of a graph's results, at sizes at which computing all of them would take too
// long: of a product of 4096 rows and columns an element is 4096 multiplications, of a softmax it
// is its row. The loop nests that kernels are made of (program.h) say what an element needs;
// nothing else is computed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"
#include "tensor/host_tensor.h"

namespace kernelsmith::codegen {

class PointEvaluator {
 public:
  // `results` are names of the graph's outputs. kUnsupported, with its name, for an operator that
  // has no loop nest.
  static Result<std::unique_ptr<PointEvaluator>> Make(std::shared_ptr<const Graph> graph,
                                                      const std::vector<std::string>& results);
  virtual ~PointEvaluator() = default;

  // The values of a placeholder, which must stay as long as they are used.
  virtual void SetArgument(const std::string& name, const HostTensor& values) = 0;

  struct Point {
    double exact = 0;    // in double, nothing rounded on the way
    double rounded = 0;  // every operation rounded to its dtype, as an ordinary kernel would do it
  };
  // Element `flat` (row-major) of a result. Nothing: it would take more operations than `budget`,
  // from which those that were needed are taken.
  virtual std::optional<Point> At(size_t result, int64_t flat, uint64_t* budget) = 0;
};

}  // namespace kernelsmith::codegen
