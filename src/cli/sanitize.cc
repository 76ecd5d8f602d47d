// `kernelsmith sanitize PROGRAM`: runs a CUDA program on the virtual GPU with every access,
// synchronisation and API call checked; sanitize_candidate.cc does the same with a candidate. The
// checkers run in the program's process, inside our runtime library; what they find comes back
// through a file, so that a program that crashes has its report too.
#include "cli/sanitize.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "checkers/report.h"
#include "checkers/suite.h"
#include "cli/commands.h"
#include "cli/program.h"
#include "cli/task_store.h"
#include "cli/version.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using checkers::Finding;

// llvm-symbolizer or addr2line: two lines a frame, an empty line between addresses of the former.
std::vector<std::vector<checkers::HostLine>> SymbolizeWith(ProcessRunner& processes,
                                                           const std::string& module,
                                                           const std::vector<uint64_t>& offsets) {
  std::vector<std::string> command{"addr2line", "-f", "-C", "-i", "-a", "-e", module};
  for (const uint64_t offset : offsets) command.push_back(fmt::format("0x{:x}", offset));
  ProcessRequest request;
  request.argv = std::move(command);
  request.timeout = std::chrono::seconds(60);
  const Result<ProcessResult> result = processes.Run(request);
  std::vector<std::vector<checkers::HostLine>> all;
  if (!result.ok()) return all;
  std::istringstream text(result->out);
  std::string line;
  std::string function;
  bool have_function = false;
  while (std::getline(text, line)) {
    if (line.starts_with("0x") && !have_function) {  // -a: the address itself
      all.emplace_back();
      continue;
    }
    if (!have_function) {
      function = line;
      have_function = true;
      continue;
    }
    have_function = false;
    checkers::HostLine place{.function = function == "??" ? "" : function};
    const size_t colon = line.rfind(':');
    if (colon != std::string::npos && !line.starts_with("??")) {
      place.source.file = line.substr(0, colon);
      place.source.line = std::atoi(line.c_str() + colon + 1);
      if (place.source.line == 0) place.source.file.clear();
    }
    if (!all.empty()) all.back().push_back(std::move(place));
  }
  return all;
}

std::vector<std::string> LinesOf(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The folder in which this installation has docs/findings.md, as a URI; empty: it has none.
std::string DocumentationHome(Session& session) {
  const fs::path home = fs::absolute(DataFolder(session));
  if (!session.files.Exists(home / "docs" / "findings.md")) return "";
  std::string uri = "file://";
  for (const char c : home.string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Status WriteReport(Session& session, const SanitizeOptions& options,
                   const std::vector<Finding>& findings, size_t left_off) {
  std::string text;
  if (options.sarif) {
    text =
        checkers::ReportSarif(findings, {.version = KS_VERSION, .home = DocumentationHome(session)})
            .dump(2) +
        "\n";
  } else if (session.json) {
    nlohmann::json report = checkers::ReportJson(findings);
    report["left_off"] = left_off;
    text = report.dump(2) + "\n";
  } else {
    text = checkers::ReportText(
        findings, {.color = options.output.empty() && session.ColorErr(), .lines = LinesOf});
    if (left_off > 0) {
      text += fmt::format("{} more findings are not shown (--max-findings)\n", left_off);
    }
  }
  if (!options.output.empty()) return session.files.Write(options.output, text);
  // The program's own output is on standard output: the text goes beside it.
  std::ostream& out = options.sarif || session.json ? session.out : session.err;
  out << text << std::flush;
  return {};
}

// What the run comes to: the report and the exit code. `otherwise`: the code if there is no error.
Result<ExitCode> Conclude(Session& session, const SanitizeOptions& options,
                          std::vector<Finding> findings, int otherwise) {
  const bool errors = std::any_of(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.severity == Severity::kError; });
  // Errors first, each kind of severity in the order of appearance.
  std::vector<Finding> ordered;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    for (Finding& f : findings) {
      if (f.severity == severity) ordered.push_back(std::move(f));
    }
  }
  findings = std::move(ordered);
  const size_t left_off =
      findings.size() > options.max_findings ? findings.size() - options.max_findings : 0;
  findings.resize(findings.size() - left_off);
  KS_RETURN_IF_ERROR(WriteReport(session, options, findings, left_off));
  return static_cast<ExitCode>(errors ? options.error_exit_code : otherwise);
}

Result<ExitCode> SanitizeProgram(Session& session, const SanitizeOptions& options,
                                 const std::vector<std::string>& command) {
  KS_TRY(const std::vector<std::string> checks, checkers::ParseChecks(options.checks));
  KS_TRY(PreparedProgram program, PrepareProgram(session, command[0]));
  if (!options.gpu.empty()) {
    KS_TRY(const GpuModel* model, FindGpuModel(options.gpu));
    program.environment["KERNELSMITH_GPU"] = model->key;
  }
  if (options.watchdog_seconds) {
    program.environment["KERNELSMITH_WATCHDOG_S"] = std::to_string(*options.watchdog_seconds);
  }
  const ScratchFile file;
  if (file.path().empty()) return InternalError("can't make a file for the report");
  std::string names;
  for (const std::string& check : checks) names += (names.empty() ? "" : ",") + check;
  program.environment["KERNELSMITH_CHECK"] = names;
  if (options.full) program.environment["KERNELSMITH_CHECKS"] = "full";
  program.environment["KERNELSMITH_CHECK_REPORT"] = file.path();
  session.out.flush();
  session.err.flush();
  const bool machine = options.output.empty() && (session.json || options.sarif);
  bool timed_out = false;
  KS_TRY(const int status,
         RunProgram(program, command, machine, options.timeout_seconds, &timed_out));
  KS_TRY(const std::string text, session.files.Read(file.path()));
  KS_TRY(std::vector<Finding> findings, checkers::DecodeReport(text));
  checkers::ResolveHostPlaces(findings,
                              [&](const std::string& module, const std::vector<uint64_t>& offsets) {
                                return SymbolizeWith(session.processes, module, offsets);
                              });
  if (timed_out) {
    session.err << fmt::format("kernelsmith: the program did not end within {} s (--timeout)\n",
                               *options.timeout_seconds);
  } else if (WIFSIGNALED(status)) {
    session.err << fmt::format("kernelsmith: the program was ended by signal {} ({})\n",
                               WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  if (text.find(checkers::kLaunchedLine) == std::string::npos) {
    session.err << "kernelsmith: no kernel was launched, so none was checked\n";
  }
  // 124 is what timeout(1) says.
  const int own = timed_out             ? 124
                  : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                        : WEXITSTATUS(status);
  return Conclude(session, options, std::move(findings), own);
}

Result<ExitCode> Sanitize(Session& session, const SanitizeOptions& options) {
  const std::vector<std::string>& operands = session.program.operands;
  if (operands.empty()) {
    return InvalidInput(
        "sanitize needs a program, e.g. kernelsmith sanitize ./a.out, or a task "
        "and a candidate");
  }
  if (!session.program.candidate) return SanitizeProgram(session, options, operands);
  KS_RETURN_IF_ERROR(CheckCandidateOperands(session));
  KS_TRY(std::vector<Finding> findings,
         SanitizeCandidate(session, options, operands[0], operands[1]));
  return Conclude(session, options, std::move(findings), kExitOk);
}

}  // namespace

void AddSanitize(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "sanitize",
      "Run a CUDA program (built with nvcc -cudart shared), or the plans of a candidate (TASK "
      "CANDIDATE.cu), with everything checked");
  auto options = std::make_shared<SanitizeOptions>();
  std::string footer =
      "kernelsmith sanitize [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
      "kernelsmith sanitize [OPTIONS] TASK CANDIDATE.cu [OPTIONS]\n\nChecks:\n";
  for (const checkers::Check& check : checkers::AllChecks()) {
    footer += fmt::format("  {:10} {}\n", check.name, check.what);
  }
  footer +=
      "\nBuild with -lineinfo to see lines of kernels, with -g for lines of host code. The report\n"
      "goes to standard error; with --json or --sarif to standard output, and the program's own\n"
      "output to standard error. The exit code is that of --error-exitcode if there is an error,\n"
      "else the program's own.";
  command->add_option("--check", options->checks, "Checks to make, e.g. memory,leak (default all)");
  command->add_flag("--full", options->full,
                    "Let the checkers see every access of every kernel, also where a first look "
                    "finds nothing suspicious: the same report, many times slower");
  command->add_flag("--sarif", options->sarif, "Report as SARIF 2.1.0");
  command->add_option("-o,--output", options->output, "File for the report");
  command->add_option("--error-exitcode", options->error_exit_code,
                      "Exit code if there is an error (default 1)");
  command->add_option("--max-findings", options->max_findings, "Findings to show (default 100)");
  AddGpu(*command, options->gpu);
  command->add_option("--watchdog", options->watchdog_seconds,
                      "Seconds after which a kernel that only spins is ended; 0: never");
  command->add_option("--timeout", options->timeout_seconds,
                      "Seconds after which the program is ended (exit code 124); default: never");
  AddDirection(*command, options->direction);
  AddDtype(*command, options->dtype);
  AddMode(*command, options->mode);
  AddShape(*command, options->shape);
  command->footer(footer);
  session.program_commands["sanitize"] = ProgramForm::kProgramOrCandidate;
  command->callback([&session, options] {
    session.action = [&session, options] { return Sanitize(session, *options); };
  });
}

}  // namespace kernelsmith
