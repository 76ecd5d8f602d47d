// Findings as JSON, SARIF and text, and the file by which a checked program sends its findings to
// `kernelsmith sanitize`: one JSON document a line, written as soon as there is something to say,
// so that a program that is killed has said it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/finding.h"
#include "support/result.h"

namespace kernelsmith::checkers {

// As docs of `kernelsmith sanitize` say: kind, severity, space, file, line, ...
nlohmann::json ToJson(const Finding& finding);
// {"findings": [...], "errors": n, "warnings": n}
nlohmann::json ReportJson(const std::vector<Finding>& findings);
// What a SARIF report says of the program that made it.
struct SarifTool {
  std::string version;
  std::string home;  // URI of the folder that has docs/findings.md; empty: rules have no link
};
nlohmann::json ReportSarif(const std::vector<Finding>& findings, const SarifTool& tool);

struct TextOptions {
  bool color = false;
  // The lines of a source file; empty when it can't be read. Without it no excerpts.
  std::function<std::vector<std::string>(const std::string& file)> lines;
};
std::string ReportText(const std::vector<Finding>& findings, const TextOptions& options);

// One line of the file: a finding, or new counts.
std::string EncodeFinding(const Finding& finding);
std::string EncodeCounts(const std::vector<Finding>& findings);
Result<std::vector<Finding>> DecodeReport(std::string_view text);

// The line of a report that says that a kernel was launched: without one, no finding means nothing.
inline constexpr std::string_view kLaunchedLine = "{\"launched\":true}\n";

// Fills in file, line and function of places in host code: `symbolize` gets a module and offsets in
// it and returns for each the chain of inlined frames, innermost first.
struct HostLine {
  std::string function;
  SourceLocation source;
};
using Symbolize = std::function<std::vector<std::vector<HostLine>>(
    const std::string& module, const std::vector<uint64_t>& offsets)>;
void ResolveHostPlaces(std::vector<Finding>& findings, const Symbolize& symbolize);

}  // namespace kernelsmith::checkers
