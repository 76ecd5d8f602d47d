// The report of an optimisation: one HTML file that needs no other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

struct OptimizePage {
  struct Row {
    std::string name;
    std::string before;
    std::string after;
  };
  struct Point {
    std::string name;  // "best"
    double flops = 0;
    double dram_bytes = 0;
    double device_seconds = 0;
  };
  std::string task;
  std::string direction;
  std::string dtype;
  std::string configuration;
  const GpuModel* gpu = &DefaultGpuModel();
  uint64_t seed = 0;
  double eager_seconds = 0;
  double floor_seconds = 0;
  std::vector<ArchivedCandidate> candidates;  // in the order of their numbers
  int64_t first = 0;                          // numbers
  int64_t best = 0;
  std::vector<int64_t> lineage;  // numbers of the best's ancestors and its own
  std::vector<std::string> reasons;
  std::vector<Row> counters;
  std::string changes;
  std::vector<Point> roofline;
  std::string confirmed;  // what was done to be sure of the best
  std::string ended_by;
  double seconds = 0;
};

std::string OptimizeHtml(const OptimizePage& page);

// The plots alone: <svg> elements.
std::string ProgressPlot(const OptimizePage& page);
std::string LineagePlot(const OptimizePage& page);
std::string RooflinePlot(const OptimizePage& page);

}  // namespace kernelsmith
