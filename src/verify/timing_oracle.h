// What single elements of the results must be at a shape that candidates are timed at. Inside of
// src/verify only.
#pragma once

#include <memory>
#include <optional>

#include "verify/verification.h"

namespace kernelsmith {

// Values for the arguments of a large shape, and what must come out.
class TimingOracle {
 public:
  struct Point {
    double exact = 0;    // in double, nothing rounded on the way
    double rounded = 0;  // as PyTorch or an ordinary kernel would round it
  };

  virtual ~TimingOracle() = default;
  // Of all arguments.
  virtual const TensorMap& arguments() const = 0;
  // Element `flat` of a result, by its place among TaskGraph::AllResults(). Nothing: it would take
  // more operations than `budget`, from which those that were needed are taken.
  virtual std::optional<Point> At(size_t result, int64_t flat, uint64_t* budget) = 0;
  // All results, where all of them are known; null elsewhere.
  virtual const CaseTensors* Whole() const { return nullptr; }
};

// The cheapest that knows most: the whole task evaluated by src/graph if that is quick, else
// single elements by the loop nests of src/codegen, else the whole task within seconds, by
// PyTorch if need be. `why_not` is told where there is none.
Result<std::unique_ptr<TimingOracle>> MakeTimingOracle(Verification& verification,
                                                       const TaskRequest& request,
                                                       const TaskGraph& task,
                                                       std::shared_ptr<const Graph> graph,
                                                       uint64_t seed, std::string* why_not);

}  // namespace kernelsmith
