// How well the model of PyTorch's eager mode (measure/eager_model.h) agrees with published H100
// times: its parameters are fitted to every second task, the others say how good they are.
//
//   ks_eager_bench [operators.json] [--tasks]
//
// Exits with 1 if the tasks it was not fitted to are ordered worse than a rank correlation of 0.9,
// or the median error of those that are not mostly launches is above 35 %. `--tasks` lists all of
// them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>

#include "measure/eager_model.h"

namespace kernelsmith {
namespace {

struct Task {
  std::string name;
  double seconds = 0;  // measured
  std::vector<EagerOperator> operators;
};

// Where the fit begins: round numbers, not the ones that are built in.
EagerParameters Start() {
  EagerParameters p;
  p.call_us = p.operator_us = 5;
  p.convolution_us = 10;
  p.pointwise = 0.8;
  for (double EagerParameters::* share :
       {&EagerParameters::reduction, &EagerParameters::softmax, &EagerParameters::pool,
        &EagerParameters::scan, &EagerParameters::norm, &EagerParameters::depthwise,
        &EagerParameters::matmul_memory, &EagerParameters::convolution_memory,
        &EagerParameters::transposed_memory, &EagerParameters::matmul,
        &EagerParameters::convolution_2d, &EagerParameters::convolution_3d,
        &EagerParameters::transposed_2d, &EagerParameters::transposed_3d}) {
    p.*share = 0.5;
  }
  p.norm_row = 0.01;
  p.input_channels = 8;
  p.output_channels = 64;
  return p;
}

double Seconds(const Task& task, const EagerParameters& p) {
  return EstimateEager(task.operators, DefaultGpuModel(), p).seconds;
}

// Mean of |log(estimated / measured)|, each at most 1.5: some tasks were timed in ways that their
// names do not tell.
double Loss(const std::vector<Task>& tasks, const EagerParameters& p) {
  double sum = 0;
  for (const Task& task : tasks) {
    sum += std::min(1.5, std::abs(std::log(Seconds(task, p) / task.seconds)));
  }
  return sum / static_cast<double>(tasks.size());
}

// One parameter after the other, up and down, in ever smaller steps.
EagerParameters Fit(const std::vector<Task>& tasks) {
  EagerParameters best = Start();
  double loss = Loss(tasks, best);
  for (double step = 1.6; step > 1.01;) {
    bool better = false;
    for (const EagerParameter& each : AllEagerParameters()) {
      for (const double factor : {step, 1 / step}) {
        EagerParameters tried = best;
        tried.*each.value = std::min(each.most, tried.*each.value * factor);
        const double now = Loss(tasks, tried);
        if (now >= loss - 1e-6) continue;
        loss = now;
        best = tried;
        better = true;
      }
    }
    if (!better) step = std::sqrt(step);
  }
  return best;
}

std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

// Spearman's rank correlation.
double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = Ranks(a);
  const std::vector<double> y = Ranks(b);
  const double middle = static_cast<double>(a.size() - 1) / 2;
  double product = 0;
  double square = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += (x[i] - middle) * (y[i] - middle);
    square += (x[i] - middle) * (x[i] - middle);
  }
  return product / square;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Quality {
  double correlation = 0;
  double median_error = 0;
};

Quality Report(const char* title, const std::vector<Task>& tasks, const EagerParameters& p) {
  std::vector<double> estimated;
  std::vector<double> measured;
  std::vector<double> errors;
  std::map<std::string_view, std::vector<double>> bias;  // the bias by the class that takes longest
  for (const Task& task : tasks) {
    const EagerEstimate estimate = EstimateEager(task.operators, DefaultGpuModel(), p);
    estimated.push_back(estimate.seconds);
    measured.push_back(task.seconds);
    const double ratio = estimate.seconds / task.seconds;
    if (estimate.LaunchBound()) {
      bias["mostly launches"].push_back(ratio);
      continue;
    }
    errors.push_back(std::abs(ratio - 1));
    const auto longest =
        std::max_element(estimate.steps.begin(), estimate.steps.end(),
                         [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    bias[Name(longest->work.which)].push_back(ratio);
  }
  const Quality quality{RankCorrelation(estimated, measured), Median(errors)};
  fmt::print(
      "{}: {} tasks, rank correlation {:.3f}, median error {:.1f} % ({} tasks that are not "
      "mostly launches)\n",
      title, tasks.size(), quality.correlation, 100 * quality.median_error, errors.size());
  for (const auto& [name, ratios] : bias) {
    fmt::print("  {:24} {:3} tasks, estimated / measured: median {:.2f}\n", name, ratios.size(),
               Median(ratios));
  }
  return quality;
}

int Main(int argc, char** argv) {
  std::string path = KS_SOURCE_DIR "/bench/eager/operators.json";
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--tasks") == 0) {
      list = true;
    } else {
      path = argv[i];
    }
  }
  std::ifstream in(path);
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  if (json.is_discarded()) {
    fmt::print(stderr, "can't read {}\n", path);
    return 2;
  }
  std::vector<Task> halves[2];
  size_t number = 0;
  for (const nlohmann::json& row : json) {
    const auto operators = ParseEager(row.at("operators"));
    if (!operators.ok()) {
      fmt::print(stderr, "{}\n", operators.error().Format());
      return 2;
    }
    halves[number++ % 2].push_back(
        {row.at("name").get<std::string>(), row.at("h100_ms").get<double>() * 1e-3, *operators});
  }
  const EagerParameters fitted = Fit(halves[0]);
  fmt::print("fitted to every second task:\n");
  const EagerParameters built_in;
  for (const EagerParameter& each : AllEagerParameters()) {
    fmt::print("  {:20} {:9.4g}   built in {:9.4g}\n", each.name, fitted.*each.value,
               built_in.*each.value);
  }
  Report("fitted half", halves[0], fitted);
  const Quality quality = Report("other half", halves[1], fitted);
  Report("other half, built-in parameters", halves[1], built_in);
  if (list) {
    for (const std::vector<Task>& half : halves) {
      for (const Task& task : half) {
        const double estimated = Seconds(task, fitted);
        fmt::print("{:80} measured {:10.1f} us, estimated {:10.1f} us, ratio {:.2f}\n", task.name,
                   task.seconds * 1e6, estimated * 1e6, estimated / task.seconds);
      }
    }
  }
  return quality.correlation >= 0.9 && quality.median_error <= 0.35 ? 0 : 1;
}

}  // namespace
}  // namespace kernelsmith

int main(int argc, char** argv) { return kernelsmith::Main(argc, argv); }
