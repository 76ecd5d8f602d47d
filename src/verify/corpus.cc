#include "verify/corpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "support/json.h"

namespace kernelsmith {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string TextOf(const json& object, const char* key, const std::string& fallback = "") {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : fallback;
}

bool FlagOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

Result<CorpusCase> ReadCase(const json& entry, int row, const fs::path& folder) {
  CorpusCase result{
      .row = row, .file = TextOf(entry, "file"), .candidate = {}, .task = TextOf(entry, "task")};
  if (result.file.empty() || result.task.empty()) {
    return InvalidInput(fmt::format("{}: a case needs a file and a task", folder.string()));
  }
  result.candidate = (folder / result.file).lexically_normal();
  if (result.task.find('/') != std::string::npos || result.task.ends_with(".py")) {
    result.task = (folder / result.task).lexically_normal().string();
  }
  result.honest = FlagOf(entry, "honest");
  result.backward = FlagOf(entry, "backward");
  result.dtype = TextOf(entry, "dtype", "task");
  if (const std::string word = TextOf(entry, "finding"); !word.empty()) {
    result.finding = FindingKindOf(word);
    if (!result.finding) {
      return InvalidInput(fmt::format("{}: no finding is called '{}'", folder.string(), word));
    }
  }
  if (const auto found = entry.find("verdict"); found != entry.end() && found->is_array()) {
    for (const json& each : *found) {
      if (each.is_string()) result.verdicts.push_back(each.get<std::string>());
    }
  } else {
    result.verdicts.push_back(TextOf(entry, "verdict", result.honest ? "verified" : "refuted"));
  }
  result.policy.no_libraries = FlagOf(entry, "no_libraries");
  result.policy.require_deterministic = FlagOf(entry, "require_deterministic");
  result.policy.precision = TextOf(entry, "precision", "task");
  if (const auto found = entry.find("allow"); found != entry.end() && found->is_array()) {
    for (const json& each : *found) {
      if (each.is_string()) result.policy.allow.push_back(each.get<std::string>());
    }
  }
  if (TextOf(entry, "inputs") == "structured") {
    result.policy.inputs = VerifyPolicy::Inputs::kStructured;
  }
  const std::string shapes = TextOf(entry, "shapes");
  if (shapes == "exact") result.policy.shapes = VerifyPolicy::Shapes::kExact;
  if (shapes == "family") result.policy.shapes = VerifyPolicy::Shapes::kFamily;
  return result;
}

std::string Problem(const CorpusCase& demanded, const Verdict& verdict) {
  const std::string got = Name(verdict.kind);
  if (std::find(demanded.verdicts.begin(), demanded.verdicts.end(), got) ==
      demanded.verdicts.end()) {
    return fmt::format("{} instead of {}", got, fmt::join(demanded.verdicts, " or "));
  }
  if (!demanded.finding) return "";
  std::vector<std::string> kinds;
  for (const Finding& finding : verdict.findings) {
    if (finding.kind == demanded.finding) return "";
    kinds.push_back(Name(finding.kind));
  }
  return fmt::format("no finding {} (found: {})", Name(*demanded.finding),
                     kinds.empty() ? "none" : fmt::format("{}", fmt::join(kinds, ", ")));
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

Result<std::vector<CorpusRow>> ReadCorpus(const fs::path& folder, FileSystem& files,
                                          const std::string& only) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (files.Exists(entry.path() / "row.json")) folders.push_back(entry.path());
  }
  if (error)
    return InvalidInput(fmt::format("can't read {}: {}", folder.string(), error.message()));
  std::sort(folders.begin(), folders.end());
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= only.size();) {
    const size_t comma = std::min(only.find(',', begin), only.size());
    words.push_back(only.substr(begin, comma - begin));
    begin = comma + 1;
  }
  std::vector<CorpusRow> rows;
  for (const fs::path& each : folders) {
    const fs::path file = each / "row.json";
    const auto wanted = [&](const std::string& name) {
      const std::string path = each.filename().string() + "/" + name;
      return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return path.find(word) != std::string::npos;
      });
    };
    KS_TRY(const std::string text, files.Read(file));
    KS_TRY(const json document, ParseJson(text, file.string()));
    if (!document.is_object() || !document.contains("row") ||
        !document["row"].is_number_integer()) {
      return InvalidInput(fmt::format("{}: no number \"row\"", file.string()));
    }
    CorpusRow row{.row = document["row"].get<int>(),
                  .trick = TextOf(document, "trick"),
                  .why = TextOf(document, "why"),
                  .tested_by = TextOf(document, "tested_by"),
                  .pending = TextOf(document, "pending"),
                  .cases = {}};
    if (const auto cases = document.find("cases"); cases != document.end() && cases->is_array()) {
      for (const json& entry : *cases) {
        KS_TRY(CorpusCase next, ReadCase(entry, row.row, each));
        if (wanted(next.file)) row.cases.push_back(std::move(next));
      }
      if (row.cases.empty() && !cases->empty()) continue;
    }
    if (row.cases.empty() && !wanted("")) continue;
    if (row.cases.empty() && row.pending.empty() && row.tested_by.empty()) {
      return InvalidInput(fmt::format("{}: neither cases nor a reason why not", file.string()));
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    return InvalidInput(
        fmt::format("{} has no folder with a row.json{}", folder.string(),
                    only.empty() ? "" : " and a case whose path has '" + only + "'"));
  }
  return rows;
}

Result<std::vector<CorpusResult>> RunCorpus(
    const std::vector<CorpusRow>& rows, const VerifyOptions& options, const VerifyTools& tools,
    const CandidateTools& opener, const std::function<void(const CorpusResult&)>& report) {
  std::vector<CorpusResult> results;
  for (const CorpusRow& row : rows) {
    for (const CorpusCase& each : row.cases) {
      VerifyOptions own = options;
      own.direction = each.backward ? TaskDirection::kBackward : TaskDirection::kForward;
      own.dtype = each.dtype;
      own.policy = each.policy;
      KS_TRY(const Task task, tools.tasks.Load(each.task));
      Result<Verdict> verdict = Verify(task, *OpenCandidate(each.candidate, opener), own, tools);
      CorpusResult result{.corpus_case = each, .verdict = {}, .problem = {}};
      if (verdict.ok()) {
        result.verdict = *std::move(verdict);
        result.problem = Problem(each, result.verdict);
      } else {
        // One case that can't be judged is a failure of that case, not of the others.
        result.problem = verdict.error().message();
      }
      report(result);
      results.push_back(std::move(result));
    }
  }
  return results;
}

std::string ToText(const CorpusResult& result) {
  const Finding* deciding = result.verdict.Deciding();
  return fmt::format("{} {:3} {:44} {:12} {:20} {:6.2f} s{}\n", result.passed() ? "ok  " : "FAIL",
                     result.corpus_case.row,
                     (result.corpus_case.candidate.parent_path().filename() /
                      result.corpus_case.candidate.filename())
                         .string(),
                     Name(result.verdict.kind), deciding == nullptr ? "" : Name(deciding->kind),
                     result.verdict.seconds,
                     result.passed() ? "" : "  " + EscapeForTerminal(result.problem)) +
         (result.passed() || result.verdict.stages.empty() ? "" : ToText(result.verdict, false));
}

std::string Summary(const std::vector<CorpusRow>& rows, const std::vector<CorpusResult>& results) {
  size_t cheats = 0, cheats_right = 0, honest = 0, honest_right = 0;
  double seconds = 0;
  std::vector<double> all;
  std::vector<double> refuted;
  for (const CorpusResult& each : results) {
    (each.corpus_case.honest ? honest : cheats) += 1;
    (each.corpus_case.honest ? honest_right : cheats_right) += each.passed() ? 1 : 0;
    seconds += each.verdict.seconds;
    all.push_back(each.verdict.seconds);
    if (each.verdict.kind == VerdictKind::kRefuted) refuted.push_back(each.verdict.seconds);
  }
  std::vector<int> pending;
  for (const CorpusRow& row : rows) {
    if (!row.pending.empty()) pending.push_back(row.row);
  }
  std::string text = fmt::format("{} of {} cheats and {} of {} honest controls as demanded\n",
                                 cheats_right, cheats, honest_right, honest);
  if (!pending.empty()) text += fmt::format("pending rows: {}\n", fmt::join(pending, ", "));
  return text + fmt::format(
                    "median {:.2f} s a verdict, {:.2f} s a refuted one; {:.0f} verdicts an "
                    "hour\n",
                    Median(all), Median(refuted),
                    seconds > 0 ? static_cast<double>(results.size()) * 3600 / seconds : 0);
}

json ToJson(const std::vector<CorpusRow>& rows, const std::vector<CorpusResult>& results) {
  json list = json::array();
  size_t failed = 0;
  for (const CorpusResult& each : results) {
    failed += each.passed() ? 0 : 1;
    list.push_back({{"row", each.corpus_case.row},
                    {"file", each.corpus_case.candidate.string()},
                    {"honest", each.corpus_case.honest},
                    {"passed", each.passed()},
                    {"problem", each.problem},
                    {"verdict", ToJson(each.verdict)}});
  }
  json pending = json::array();
  for (const CorpusRow& row : rows) {
    if (!row.pending.empty()) pending.push_back({{"row", row.row}, {"why", row.pending}});
  }
  return {{"cases", std::move(list)}, {"failed", failed}, {"pending", std::move(pending)}};
}

}  // namespace kernelsmith
