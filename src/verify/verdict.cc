#include "verify/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace kernelsmith {
namespace {

using nlohmann::json;

// JSON has no NaN and no infinity; they are written as strings, so that nothing is lost.
json Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

json ToJson(const Counterexample& example) {
  return {{"configuration", example.configuration},
          {"seed", example.seed},
          {"output", example.output},
          {"index", example.index},
          {"expected", Number(example.expected)},
          {"got", Number(example.got)},
          {"scales", Number(example.scales)},
          {"wrong", example.wrong},
          {"elements", example.elements}};
}

json ToJson(const Finding& finding) {
  json row = {{"kind", finding.kind}, {"message", finding.message}};
  if (!finding.where.file.empty()) {
    row["file"] = finding.where.file;
    if (finding.where.line > 0) row["line"] = finding.where.line;
    if (finding.where.column > 0) row["column"] = finding.where.column;
  }
  if (finding.counterexample) row["counterexample"] = ToJson(*finding.counterexample);
  return row;
}

std::string Place(const SourceLocation& where) {
  if (where.file.empty()) return "";
  return where.line > 0 ? fmt::format("{}:{}: ", where.file, where.line)
                        : fmt::format("{}: ", where.file);
}

}  // namespace

const char* Name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kVerified:
      return "verified";
    case VerdictKind::kRefuted:
      return "refuted";
    case VerdictKind::kInconclusive:
      return "inconclusive";
    case VerdictKind::kUnsupported:
      return "unsupported";
  }
  return "inconclusive";
}

ExitCode ExitCodeOf(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kVerified:
      return kExitOk;
    case VerdictKind::kRefuted:
      return kExitRefuted;
    case VerdictKind::kInconclusive:
    case VerdictKind::kUnsupported:
      return kExitInconclusive;
  }
  return kExitInconclusive;
}

json ToJson(const Verdict& verdict) {
  json findings = json::array();
  for (const Finding& finding : verdict.findings) findings.push_back(ToJson(finding));
  json numbers = json::array();
  for (const NumbersChecked& row : verdict.numbers) {
    numbers.push_back({{"configuration", row.configuration},
                       {"seed", row.seed},
                       {"output", row.output},
                       {"elements", row.elements},
                       {"worst", Number(row.worst)},
                       {"allclose", row.allclose}});
  }
  return {{"verdict", Name(verdict.kind)},
          {"task", verdict.task},
          {"direction", verdict.direction},
          {"dtype", verdict.dtype},
          {"candidate", verdict.candidate},
          {"findings", std::move(findings)},
          {"proof", {{"numbers", std::move(numbers)}}},
          {"kernels", verdict.kernels},
          {"libraries", verdict.libraries},
          {"seed", verdict.seed},
          {"seconds", verdict.seconds}};
}

std::string ToText(const Verdict& verdict, bool color) {
  const char* tint = verdict.kind == VerdictKind::kVerified  ? "\033[1;32m"
                     : verdict.kind == VerdictKind::kRefuted ? "\033[1;31m"
                                                             : "\033[1;33m";
  std::string text = color ? fmt::format("{}{}\033[0m", tint, Name(verdict.kind))
                           : std::string(Name(verdict.kind));
  text += fmt::format("  {} as {} ({}, {})\n", verdict.candidate, verdict.task, verdict.direction,
                      verdict.dtype);
  for (const Finding& finding : verdict.findings) {
    text += fmt::format("  {}{}: {}\n", EscapeForTerminal(Place(finding.where)), finding.kind,
                        EscapeForTerminal(finding.message));
    if (const auto& example = finding.counterexample) {
      text += fmt::format("    {}[{}]: expected {:.9g}, got {:.9g}; {} of {} elements are wrong\n",
                          example->output, fmt::join(example->index, ", "), example->expected,
                          example->got, example->wrong, example->elements);
      text += fmt::format("    with {}, seed {}\n", example->configuration, example->seed);
    }
  }
  if (!verdict.numbers.empty() && verdict.kind == VerdictKind::kVerified) {
    std::set<std::string> configurations;
    uint64_t elements = 0;
    double worst = 0;
    for (const NumbersChecked& row : verdict.numbers) {
      configurations.insert(row.configuration);
      elements += row.elements;
      worst = std::max(worst, row.worst);
    }
    text += fmt::format("  numbers: {} elements over {} configurations, worst error {:.2g} of 16\n",
                        elements, configurations.size(), worst);
    text += "  memory, races and algebra are not checked by this version\n";
  }
  if (!verdict.kernels.empty()) {
    text += fmt::format("  kernels: {}\n",
                        EscapeForTerminal(fmt::format("{}", fmt::join(verdict.kernels, ", "))));
  }
  if (!verdict.libraries.empty()) {
    text += fmt::format("  delegated to libraries: {}\n",
                        EscapeForTerminal(fmt::format("{}", fmt::join(verdict.libraries, ", "))));
  }
  return text + fmt::format("  {:.2f} s, seed {}\n", verdict.seconds, verdict.seed);
}

}  // namespace kernelsmith
