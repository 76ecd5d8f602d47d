#include "measure/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "measure/estimated_clock.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

Result<BenchShape> TimeShape(const Task& task, const std::shared_ptr<Candidate>& candidate,
                             const TaskConfiguration& configuration, const BenchOptions& options,
                             const BenchTools& tools) {
  const MeasuredCallRequest request{.direction = options.verify.direction,
                                    .dtype = options.verify.dtype,
                                    .group = configuration.group,
                                    .configuration = configuration.name,
                                    .seed = options.verify.seed};
  KS_TRY(std::shared_ptr<const MeasuredCall> call,
         MakeMeasuredCall(task, request, tools.verify.tasks));
  KS_TRY(const MeasuredPlan plan, MakeMeasuredPlan(candidate, std::move(call)));
  KS_TRY(const CandidateEstimate estimate,
         EstimateCandidate(
             plan, tools.verify.device, tools.finder, tools.processes,
             {.gpu = options.gpu, .max_blocks = options.max_blocks, .seed = options.verify.seed}));
  EstimatedClock clock(*options.gpu);
  EstimatedSubject own("candidate", clock, estimate.candidate.seconds);
  EstimatedSubject eager("eager", clock, estimate.eager.seconds);
  KS_TRY(const TimingReport report, TakeTimes(clock, own, {&eager},
                                              {.floor_seconds = estimate.candidate.floor_seconds,
                                               .seed = options.verify.seed}));
  BenchShape shape{.configuration = configuration.name,
                   .eager = report.baselines.empty() ? 0 : report.baselines[0].seconds,
                   .floor = estimate.candidate.floor_seconds,
                   .at_floor = estimate.candidate.at_floor,
                   .launch_bound = estimate.eager.LaunchBound(),
                   .limit = estimate.candidate.limit};
  const std::optional<double> speedup = report.Speedup();
  if (!speedup) {
    return InvalidInput(report.findings.empty() ? "no baseline" : report.findings[0].message);
  }
  shape.candidate = report.candidate.seconds;
  shape.speedup = *speedup;
  return shape;
}

}  // namespace

std::optional<double> BenchResult::Speedup() const {
  if (!verified()) return std::nullopt;
  std::vector<double> speeds;
  for (const BenchShape& shape : shapes) speeds.push_back(shape.speedup);
  return GeometricMean(speeds);  // none if a shape has no time
}

std::vector<TaskConfiguration> TimedConfigurations(const Task& task, TaskDirection direction) {
  const std::vector<TaskConfiguration>& all = task.Configurations(direction);
  std::vector<TaskConfiguration> timed;
  for (const TaskConfiguration& each : all) {
    if (each.group == "timing") timed.push_back(each);
  }
  return timed.empty() ? all : timed;
}

Result<BenchResult> BenchCandidate(const Task& task, const std::shared_ptr<Candidate>& candidate,
                                   const BenchOptions& options, const BenchTools& tools) {
  const Clock::Duration began = tools.verify.clock.Now();
  BenchResult result{.task = task.name,
                     .candidate = candidate->path().string(),
                     .direction = Name(options.verify.direction),
                     .dtype = options.verify.dtype,
                     .gpu = std::string(options.gpu->key)};
  KS_TRY(const Verdict verdict, Verify(task, *candidate, options.verify, tools.verify));
  result.verdict = Name(verdict.kind);
  if (const Finding* deciding = verdict.Deciding()) {
    result.reason = fmt::format("{}: {}", Name(deciding->kind), deciding->message);
  }
  for (const Finding& finding : verdict.findings) {
    if (finding.weight == Weight::kDecides) continue;
    const std::string word = Name(finding.kind);
    if (std::find(result.remarks.begin(), result.remarks.end(), word) == result.remarks.end()) {
      result.remarks.push_back(word);
    }
  }
  if (verdict.kind == VerdictKind::kVerified) {
    const auto timed = TimedConfigurations(task, options.verify.direction);
    tools.verify.progress.Begin("times", timed.size());
    for (size_t i = 0; i < timed.size(); ++i) {
      Result<BenchShape> shape = TimeShape(task, candidate, timed[i], options, tools);
      if (shape.ok()) {
        result.shapes.push_back(*std::move(shape));
      } else {
        result.shapes.push_back(
            {.configuration = timed[i].name, .problem = shape.error().message()});
      }
      tools.verify.progress.Update(i + 1, timed[i].name);
    }
    tools.verify.progress.End();
  }
  result.seconds = std::chrono::duration<double>(tools.verify.clock.Now() - began).count();
  return result;
}

json ToJson(const BenchResult& result) {
  json shapes = json::array();
  for (const BenchShape& shape : result.shapes) {
    json each{{"configuration", shape.configuration}};
    if (!shape.problem.empty()) {
      each["problem"] = shape.problem;
    } else {
      each.update({{"us", shape.candidate * 1e6},
                   {"eager_us", shape.eager * 1e6},
                   {"floor_us", shape.floor * 1e6},
                   {"speedup", shape.speedup},
                   {"at_floor", shape.at_floor},
                   {"launch_bound", shape.launch_bound},
                   {"limit", shape.limit}});
    }
    shapes.push_back(std::move(each));
  }
  const std::optional<double> speedup = result.Speedup();
  return {{"task", result.task},
          {"candidate", result.candidate},
          {"direction", result.direction},
          {"dtype", result.dtype},
          {"verdict", result.verdict},
          {"reason", result.reason},
          {"remarks", result.remarks},
          {"kind", result.kind},
          {"gpu", result.gpu},
          {"shapes", std::move(shapes)},
          {"speedup", speedup ? json(*speedup) : json(nullptr)},
          {"seconds", result.seconds}};
}

std::optional<BenchResult> ParseBenchResult(const json& document) {
  if (!document.is_object() || !document.contains("verdict")) return std::nullopt;
  try {
    BenchResult result{.task = document.at("task"),
                       .candidate = document.at("candidate"),
                       .direction = document.at("direction"),
                       .dtype = document.at("dtype"),
                       .verdict = document.at("verdict"),
                       .reason = document.at("reason"),
                       .remarks = document.at("remarks"),
                       .shapes = {},
                       .kind = document.at("kind"),
                       .gpu = document.at("gpu"),
                       .seconds = document.at("seconds")};
    for (std::string& word : result.remarks) word = CurrentWord(word);
    for (const json& each : document.at("shapes")) {
      BenchShape shape{.configuration = each.at("configuration"),
                       .problem = each.value("problem", "")};
      if (shape.problem.empty()) {
        shape.candidate = each.at("us").get<double>() / 1e6;
        shape.eager = each.at("eager_us").get<double>() / 1e6;
        shape.floor = each.at("floor_us").get<double>() / 1e6;
        shape.speedup = each.at("speedup");
        shape.at_floor = each.at("at_floor");
        shape.launch_bound = each.at("launch_bound");
        shape.limit = each.at("limit");
      }
      result.shapes.push_back(std::move(shape));
    }
    return result;
  } catch (const json::exception&) {  // a line of another version
    return std::nullopt;
  }
}

BenchSummary SummariseBench(const std::vector<BenchResult>& results) {
  BenchSummary summary{.candidates = static_cast<int>(results.size())};
  std::vector<double> speeds;
  std::map<std::tuple<std::string, std::string, std::string>, double> best;
  for (const BenchResult& each : results) {
    summary.verified += each.verified() ? 1 : 0;
    const std::optional<double> speed = each.Speedup();
    if (!speed) continue;
    ++summary.timed;
    speeds.push_back(*speed);
    double& fastest = best[{each.task, each.direction, each.dtype}];
    fastest = std::max(fastest, *speed);
  }
  summary.speedup = GeometricMean(speeds);
  std::vector<double> of_best;
  for (const auto& [group, speed] : best) of_best.push_back(speed);
  summary.best_speedup = GeometricMean(of_best);
  summary.groups = static_cast<int>(of_best.size());
  return summary;
}

}  // namespace kernelsmith
