#include "mutate/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace kernelsmith::mutate {
namespace {

using nlohmann::json;

void Count(Matrix& matrix, bool right, const std::string& said) {
  const bool refuted = said == "refuted" || said == "no";
  const bool passed = said == "verified" || said == "passed" || said == "yes";
  uint64_t& cell = right ? (refuted  ? matrix.right_refuted
                            : passed ? matrix.right_passed
                                     : matrix.right_other)
                         : (refuted  ? matrix.wrong_refuted
                            : passed ? matrix.wrong_passed
                                     : matrix.wrong_other);
  ++cell;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

json Share(const std::optional<double>& share) { return share ? json(*share) : json(); }

json ToJson(const Matrix& matrix) {
  return {{"wrong",
           {{"refuted", matrix.wrong_refuted},
            {"passed", matrix.wrong_passed},
            {"other", matrix.wrong_other}}},
          {"right",
           {{"refuted", matrix.right_refuted},
            {"passed", matrix.right_passed},
            {"other", matrix.right_other}}},
          {"recall", Share(matrix.Recall())},
          {"precision", Share(matrix.Precision())}};
}

std::string Percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.4f}", *share) : std::string("-");
}

std::string Row(const std::string& name, const Matrix& m) {
  return fmt::format("{:<24} {:>7} {:>7} {:>7}   {:>7} {:>7} {:>7}   {:>7} {:>9}\n", name,
                     m.wrong_refuted, m.wrong_passed, m.wrong_other, m.right_refuted,
                     m.right_passed, m.right_other, Percent(m.Recall()), Percent(m.Precision()));
}

// The share of this stage among all wrong kernels that were refuted.
std::optional<double> ShareOf(const Summary& summary, const Summary::Stage& stage) {
  if (summary.verifier.wrong_refuted == 0) return std::nullopt;
  return static_cast<double>(stage.matrix.wrong_refuted) /
         static_cast<double>(summary.verifier.wrong_refuted);
}

double VerdictsAnHour(const Summary& summary) {
  return summary.seconds > 0 ? static_cast<double>(summary.verdicts) * 3600 / summary.seconds : 0;
}

// A diff in one line.
std::string OneLine(const std::string& diff) {
  std::string text;
  for (const char c : diff) {
    if (c == '\n') {
      text += "  ";
    } else if (c != ' ' || (!text.empty() && text.back() != ' ')) {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::optional<double> Matrix::Recall() const {
  const uint64_t all = wrong_refuted + wrong_passed + wrong_other;
  if (all == 0) return std::nullopt;
  return static_cast<double>(wrong_refuted) / static_cast<double>(all);
}

std::optional<double> Matrix::Precision() const {
  const uint64_t all = wrong_refuted + right_refuted;
  if (all == 0) return std::nullopt;
  return static_cast<double>(wrong_refuted) / static_cast<double>(all);
}

json ToJson(const Judged& judged) {
  json stages = json::array();
  for (const auto& [name, outcome] : judged.stages) stages.push_back({name, outcome});
  return {{"kernel", judged.kernel},
          {"mutant", judged.mutant},
          {"operator", judged.operator_name},
          {"diff", judged.diff},
          {"key", judged.key},
          {"outcome", judged.outcome},
          {"stage", judged.stage},
          {"reason", judged.reason},
          {"stages", std::move(stages)},
          {"outside", judged.outside},
          {"seconds", judged.seconds},
          {"algebra", judged.algebra},
          {"processor_seconds", judged.processor_seconds}};
}

Result<Judged> ParseJudged(const std::string& line) {
  const json row = json::parse(line, nullptr, false);
  try {
    Judged judged;
    judged.kernel = row.at("kernel");
    judged.mutant = row.at("mutant");
    judged.operator_name = row.at("operator");
    judged.diff = row.at("diff");
    judged.key = row.at("key");
    judged.outcome = row.at("outcome");
    judged.stage = row.at("stage");
    judged.reason = row.at("reason");
    for (const json& stage : row.at("stages")) judged.stages.emplace_back(stage.at(0), stage.at(1));
    judged.outside = row.at("outside").get<std::map<std::string, std::string>>();
    judged.seconds = row.at("seconds");
    judged.algebra = row.value("algebra", "");
    judged.processor_seconds = row.value("processor_seconds", 0.0);
    return judged;
  } catch (const json::exception& error) {
    return InvalidInput(fmt::format("not a line of a results file: {}", error.what()));
  }
}

Summary Summarise(const std::vector<Judged>& all,
                  const std::map<std::string, std::string>& reasons) {
  Summary summary;
  std::set<std::string> kernels, tasks;
  std::vector<std::string> stage_order;
  std::map<std::string, Matrix> stages;
  std::vector<double> verified_seconds, refuted_seconds;
  std::vector<double> verified_processor, refuted_processor;
  for (const Judged& each : all) {
    kernels.insert(each.kernel);
    tasks.insert(each.kernel.substr(0, each.kernel.find('/')));
    if (!each.right()) {
      ++summary.made;
      if (each.outcome == "identical") ++summary.identical;
      if (each.outcome == "uncompilable") ++summary.uncompilable;
    }
    if (!each.judged()) continue;
    summary.seconds += each.seconds;
    ++summary.verdicts;
    if (each.outcome == "verified") {
      verified_seconds.push_back(each.seconds);
      verified_processor.push_back(each.processor_seconds);
    }
    if (each.outcome == "refuted") {
      refuted_seconds.push_back(each.seconds);
      refuted_processor.push_back(each.processor_seconds);
    }
    if (each.right()) {
      ++summary.algebra_asked;
      if (each.algebra == "equal") ++summary.algebra_equal;
    }
    const auto reason = reasons.find(each.kernel + " " + each.mutant);
    const bool equivalent = !each.right() && reason != reasons.end();
    if (!each.right() && each.outcome == "verified") {
      summary.passed.push_back({each, equivalent ? reason->second : ""});
    } else if (!each.right() && each.outcome != "refuted") {
      summary.undecided.push_back(each);
    } else if (each.right() && each.outcome != "verified") {
      summary.not_passed.push_back(each);
    }
    if (equivalent) {
      // A right kernel, as it turned out. Refuting it would be a mistake, so that it counts there.
      ++summary.equivalent;
      if (each.outcome != "refuted") continue;
    }
    const bool right = each.right() || equivalent;
    Count(summary.verifier, right, each.outcome);
    if (!each.right()) Count(summary.operators[each.operator_name], right, each.outcome);
    for (const auto& [name, outcome] : each.stages) {
      if (outcome == "skipped") continue;
      if (!stages.contains(name)) stage_order.push_back(name);
      Count(stages[name], right, outcome);
    }
    for (const auto& [name, answer] : each.outside) Count(summary.outside[name], right, answer);
  }
  for (const std::string& name : stage_order) {
    summary.stages.push_back({name, stages[name]});
  }
  summary.kernels = kernels.size();
  summary.tasks = tasks.size();
  summary.median_verified = Median(std::move(verified_seconds));
  summary.median_refuted = Median(std::move(refuted_seconds));
  summary.processor_verified = Median(std::move(verified_processor));
  summary.processor_refuted = Median(std::move(refuted_processor));
  return summary;
}

json ToJson(const Summary& summary) {
  json stages = json::array();
  for (const Summary::Stage& stage : summary.stages) {
    json row = ToJson(stage.matrix);
    row["name"] = stage.name;
    row["share"] = Share(ShareOf(summary, stage));
    stages.push_back(std::move(row));
  }
  json outside = json::object(), operators = json::object();
  for (const auto& [name, matrix] : summary.outside) outside[name] = ToJson(matrix);
  for (const auto& [name, matrix] : summary.operators) operators[name] = ToJson(matrix);
  json passed = json::array();
  for (const Summary::Passed& each : summary.passed) {
    json row = ToJson(each.judged);
    row["equivalent"] = each.reason;
    passed.push_back(std::move(row));
  }
  json undecided = json::array(), not_passed = json::array();
  for (const Judged& each : summary.undecided) undecided.push_back(ToJson(each));
  for (const Judged& each : summary.not_passed) not_passed.push_back(ToJson(each));
  return {
      {"kernels", summary.kernels},
      {"tasks", summary.tasks},
      {"mutants",
       {{"made", summary.made},
        {"identical", summary.identical},
        {"uncompilable", summary.uncompilable},
        {"equivalent", summary.equivalent}}},
      {"verifier", ToJson(summary.verifier)},
      {"stages", std::move(stages)},
      {"outside", std::move(outside)},
      {"operators", std::move(operators)},
      {"called_right", std::move(passed)},
      {"undecided", std::move(undecided)},
      {"right_not_verified", std::move(not_passed)},
      {"seconds",
       {{"median_verified", summary.median_verified},
        {"median_refuted", summary.median_refuted},
        {"processor_verified", summary.processor_verified},
        {"processor_refuted", summary.processor_refuted}}},
      {"verdicts_an_hour", VerdictsAnHour(summary)},
      {"algebra", {{"right_kernels", summary.algebra_asked}, {"equal", summary.algebra_equal}}}};
}

std::string ToText(const Summary& summary) {
  std::string text = fmt::format(
      "{} right kernels over {} tasks; {} mutants made, {} with the same PTX, {} that don't "
      "compile, "
      "{} right after all\n\n",
      summary.kernels, summary.tasks, summary.made, summary.identical, summary.uncompilable,
      summary.equivalent);
  text += fmt::format("{:<24} {:^23}   {:^23}\n", "", "wrong kernels", "right kernels");
  text += fmt::format("{:<24} {:>7} {:>7} {:>7}   {:>7} {:>7} {:>7}   {:>7} {:>9}\n", "", "refuted",
                      "passed", "other", "refuted", "passed", "other", "recall", "precision");
  text += Row("kernelsmith", summary.verifier);
  for (const Summary::Stage& stage : summary.stages) text += Row("  " + stage.name, stage.matrix);
  for (const auto& [name, matrix] : summary.outside) text += Row(name, matrix);
  text += "Stages: of those that came so far. Refuted by:";
  for (const Summary::Stage& stage : summary.stages) {
    if (stage.matrix.wrong_refuted == 0) continue;
    text += fmt::format(" {} {:.1f} %", stage.name, 100 * *ShareOf(summary, stage));
  }
  text += "\n\nBy operator:\n";
  for (const auto& [name, matrix] : summary.operators) text += Row("  " + name, matrix);
  text += fmt::format(
      "\nMedian time to a verdict: {:.2f} s verified, {:.2f} s refuted; of processor time {:.2f} s "
      "and {:.2f} s.\n{:.0f} verdicts an hour, one after the other.\n",
      summary.median_verified, summary.median_refuted, summary.processor_verified,
      summary.processor_refuted, VerdictsAnHour(summary));
  text += fmt::format("The algebra proves {} of {} right kernels equal to their tasks.\n",
                      summary.algebra_equal, summary.algebra_asked);
  if (!summary.passed.empty()) text += "\nMutants called right:\n";
  for (const Summary::Passed& each : summary.passed) {
    text += fmt::format("  {} {}  {}\n    {}\n", each.judged.kernel, each.judged.mutant,
                        OneLine(each.judged.diff),
                        each.reason.empty() ? "MISSED" : "right: " + each.reason);
  }
  if (!summary.undecided.empty()) text += "\nMutants without a yes or no:\n";
  for (const Judged& each : summary.undecided) {
    text += fmt::format("  {} {}  {}\n    {}: {}\n", each.kernel, each.mutant, OneLine(each.diff),
                        each.outcome, each.reason);
  }
  if (!summary.not_passed.empty()) text += "\nRight kernels that were not verified:\n";
  for (const Judged& each : summary.not_passed) {
    text += fmt::format("  {}  {}: {}\n", each.kernel, each.outcome, each.reason);
  }
  return text;
}

}  // namespace kernelsmith::mutate
