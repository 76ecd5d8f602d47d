// What the finished candidates of a run tell about schedules that nobody has tried: a small model
// of their times, so that proposals go where it expects most instead of anywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/schedule.h"

namespace kernelsmith {

// The logarithm of the time is a sum of what each gene's value adds. Fitted to all timed schedules,
// above all to the fast ones: far from them other things decide.
class GeneModel {
 public:
  struct Sample {
    codegen::Schedule schedule;
    double seconds = 0;
  };
  explicit GeneModel(const std::vector<Sample>& samples);

  // How promising: the expected logarithm of the time, less what might be gained by learning more.
  // Lower is better. `genes` has the values that each gene can take; `weights` how much each may
  // matter, from 0 to 1.
  double Promise(const codegen::Schedule& schedule, const std::vector<codegen::Gene>& genes,
                 const std::vector<double>& weights) const;

 private:
  struct Effect {
    double added = 0;   // drawn towards 0 where the samples weigh little
    double weight = 0;  // the weight of the samples with this value
  };
  using Effects = std::map<int64_t, Effect>;
  static double ByNeighbours(const codegen::Gene& gene, const Effects& effects, int64_t value);

  double mean_ = 0;
  std::map<std::string, Effects> genes_;
};

}  // namespace kernelsmith
