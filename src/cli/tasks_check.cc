#include "cli/tasks_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tasks/configurations.h"
#include "tasks/filter.h"
#include "verify/tolerance.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// What the filter evaluates in symbols in about a second.
constexpr int64_t kFilterWork = 4'000'000;

double EpsilonOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return std::ldexp(1.0, -11);
    case DType::kBfloat16:
      return std::ldexp(1.0, -8);
    case DType::kFloat32:
      return std::ldexp(1.0, -24);
    default:
      return std::ldexp(1.0, -53);
  }
}

double SmallestOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return std::ldexp(1.0, -24);
    case DType::kBfloat16:
      return std::ldexp(1.0, -133);
    case DType::kFloat32:
      return std::numeric_limits<float>::denorm_min();
    default:
      return std::numeric_limits<double>::denorm_min();
  }
}

// The verifier's own tolerance; integers must be equal.
bool Accepts(const OutputUnderTest& output) {
  if (!IsFloat(output.dtype)) {
    return std::equal(output.got.begin(), output.got.end(), output.torch.begin(),
                      output.torch.end());
  }
  OutputReference reference;
  reference.exact = output.exact;
  reference.torch = output.torch;
  reference.magnitude = output.magnitude;
  reference.row = output.shape.empty() ? 0 : static_cast<size_t>(output.shape.back());
  reference.epsilon = EpsilonOf(output.dtype);
  reference.smallest = SmallestOf(output.dtype);
  return CompareNumbers(output.got, reference).passed();
}

struct Row {
  std::string name;
  std::string configuration;
  std::string state;  // strong, weak, redundant, or the kind of the error
  std::string error;
  TaskReport report;
};

Result<Row> CheckOne(TaskStore& store, const std::string& name, const CheckOptions& options,
                     uint64_t seed) {
  KS_TRY(const Task task, store.Load(name, options.which.mode));
  const TaskDirection direction = options.which.direction.value();
  if (options.skip_missing && std::find(task.directions.begin(), task.directions.end(),
                                        direction) == task.directions.end()) {
    return Row{.name = task.name, .state = "skipped"};
  }
  KS_TRY(TaskRequest request, MakeRequest(task, options.which));
  const int64_t work = options.which.work > 0 ? options.which.work : kFilterWork;
  // At full size the algebra of a real network would take days.
  KS_TRY(request.configuration, store.Reduce(task, request, work));
  KS_TRY(const TaskGraph graph, store.Export(task, request));
  KS_TRY(const TaskCase first, store.Evaluate(task, request, seed));
  KS_TRY(const TaskCase second, store.Evaluate(task, request, seed + 2));
  KS_TRY(const CaseTensors sample, ReadCase(first));
  KS_TRY(const CaseTensors other, ReadCase(second));
  KS_TRY(TaskReport report, FilterTask(graph, sample, other, Accepts, seed));
  Row row;
  row.name = task.name;
  row.configuration = request.configuration.name;
  row.state = report.weak() ? "weak" : report.redundant() ? "redundant" : "strong";
  row.report = std::move(report);
  return row;
}

json RowJson(const Row& row) {
  json result = {{"task", row.name}, {"configuration", row.configuration}, {"state", row.state}};
  if (!row.error.empty()) {
    result["error"] = row.error;
    return result;
  }
  json controls = json::array(), findings = json::array(), scales = json::array();
  for (const NegativeControl& control : row.report.controls) {
    controls.push_back({{"name", control.name}, {"refuted", control.refuted}});
  }
  for (const TaskFinding& finding : row.report.findings) {
    findings.push_back({{"kind", Name(finding.kind)}, {"message", finding.message}});
  }
  for (const OutputScale& scale : row.report.scales) {
    scales.push_back({{"name", scale.name},
                      {"rms", scale.rms},
                      {"smallest", scale.smallest},
                      {"largest", scale.largest},
                      {"change_between_seeds", scale.change}});
  }
  result["controls"] = controls;
  result["findings"] = findings;
  result["scales"] = scales;
  result["depends_on"] = row.report.depends_on;
  result["not_needed"] = row.report.not_needed;
  result["inconclusive"] = row.report.inconclusive;
  if (!row.report.algebra_missing.empty()) result["algebra"] = row.report.algebra_missing;
  return result;
}

void PrintRow(Session& session, const Row& row, bool details) {
  const char* const color = row.state == "strong"      ? "32"
                            : row.state == "weak"      ? "31"
                            : row.state == "redundant" ? "33"
                                                       : "35";
  if (row.state == "skipped") return;
  session.out << fmt::format("{}  {}  {}\n", session.Paint(color, fmt::format("{:<11}", row.state)),
                             row.name, row.configuration);
  if (!row.error.empty()) {
    session.out << "             " << EscapeForTerminal(row.error) << "\n";
    return;
  }
  for (const TaskFinding& finding : row.report.findings) {
    session.out << "             " << EscapeForTerminal(finding.message) << "\n";
  }
  if (!row.report.algebra_missing.empty()) {
    session.out << "             no algebra: " << row.report.algebra_missing << "\n";
  }
  if (!row.report.inconclusive.empty()) {
    session.out << fmt::format("             not shown: whether results depend on {}\n",
                               fmt::join(row.report.inconclusive, ", "));
  }
  if (!details) return;
  for (const NegativeControl& control : row.report.controls) {
    session.out << fmt::format("             {:<8} {}\n", control.refuted ? "refuted" : "passes",
                               control.name);
  }
  session.out << fmt::format("             depends on {}\n",
                             fmt::join(row.report.depends_on, ", "));
  if (!row.report.not_needed.empty()) {
    session.out << fmt::format("             does not need {}\n",
                               fmt::join(row.report.not_needed, ", "));
  }
  for (const OutputScale& scale : row.report.scales) {
    session.out << fmt::format("             {}: rms {:.3g}, from {:.3g} to {:.3g}\n", scale.name,
                               scale.rms, scale.smallest, scale.largest);
  }
}

const char* ErrorState(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kTimeout:
      return "limit";
    case ErrorKind::kMissingTool:
      return "missing";
    default:
      return "error";
  }
}

}  // namespace

Result<TaskRequest> MakeRequest(const Task& task, const CaseOptions& options) {
  TaskRequest request{
      .direction = options.direction.value(), .configuration = {}, .dtype = options.dtype};
  if (std::find(task.directions.begin(), task.directions.end(), request.direction) ==
      task.directions.end()) {
    return InvalidInput(fmt::format("the task {} has no {}", task.name, Name(request.direction)));
  }
  KS_TRY(request.configuration, FindConfiguration(task, request.direction, options.shape.group,
                                                  options.shape.configuration));
  return request;
}

Result<ExitCode> CheckTasks(Session& session, TaskStore& store,
                            const std::vector<std::string>& names, const CheckOptions& options) {
  // The same draw each time unless a seed is given: the filter is about the task, not about luck.
  const uint64_t seed = session.seed_option.value_or(1) * 4;
  std::map<std::string, int> counts;
  json rows = json::array();
  for (const std::string& name : names) {
    Result<Row> checked = CheckOne(store, name, options, seed);
    if (!checked.ok() && names.size() == 1) return checked.error();
    Row row;
    if (checked.ok()) {
      row = *std::move(checked);
    } else {
      row.name = std::filesystem::path(name).stem().string();
      row.state = ErrorState(checked.error().kind());
      row.error = checked.error().message();
    }
    ++counts[row.state];
    if (session.json) {
      rows.push_back(RowJson(row));
    } else {
      PrintRow(session, row, session.verbose || names.size() == 1);
      session.out.flush();
    }
  }
  if (session.json) {
    session.PrintJson({{"direction", Name(options.which.direction.value())},
                       {"counts", counts},
                       {"tasks", rows}});
  } else if (names.size() > 1) {
    std::vector<std::string> parts;
    for (const auto& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, state));
    session.out << fmt::format("\n{} tasks: {}\n", names.size(), fmt::join(parts, ", "));
  }
  if (counts.contains("weak")) return kExitRefuted;
  const bool all_known =
      counts["strong"] + counts["redundant"] + counts["skipped"] == static_cast<int>(names.size());
  return all_known ? kExitOk : kExitInconclusive;
}

}  // namespace kernelsmith
