#include "cli/application.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.h"
#include "cli/session_cache.h"
#include "cli/version.h"

namespace kernelsmith {
namespace {

constexpr char kDescription[] =
    R"(kernelsmith: PyTorch in, verified CUDA out. No GPU needed.

  model.py ──► task (graph, configurations) ──► oracle ─────────┐
                 │                                              ▼
  candidate.cu ──► PTX + host part ──► plan ──► device ──► outputs ──► verdict, time)";

constexpr char kFooter[] = R"(
Exit codes:
  0  verified, or done
  1  refuted: shown to be wrong
  2  usage: bad option, unreadable or malformed input
  3  inconclusive, unsupported, a missing tool, a limit reached
  4  internal error)";

// How many letters must be changed, added or removed to make `b` of `a`.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// ", did you mean 'doctor'?" for the nearest known word, if one is near.
std::string Suggestion(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? "" : fmt::format(", did you mean '{}'?", best);
}

// What could stand where the unknown word stands: options of the command and of all commands, and,
// for the first word, the commands.
std::vector<std::string> KnownWords(const CLI::App& app, bool option) {
  std::vector<std::string> known;
  const auto add_options = [&](const CLI::App& from) {
    for (const CLI::Option* each : from.get_options()) {
      for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
    }
  };
  if (option) {
    add_options(app);
    for (const CLI::App* sub : app.get_subcommands()) add_options(*sub);
  } else {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(sub->get_name());
    }
  }
  return known;
}

void PrintError(Session& session, const Error& error) {
  if (session.json) {
    nlohmann::json diagnostics = nlohmann::json::array();
    for (const Diagnostic& each : error.diagnostics()) {
      nlohmann::json row = {{"message", each.message}};
      if (!each.where.file.empty()) row["file"] = each.where.file;
      if (each.where.line > 0) row["line"] = each.where.line;
      if (each.where.column > 0) row["column"] = each.where.column;
      diagnostics.push_back(std::move(row));
    }
    session.PrintJson(
        {{"error",
          {{"exit_code", ExitCodeOf(error.kind())}, {"diagnostics", std::move(diagnostics)}}}});
  }
  // A diagnostic with a place speaks for itself; others are introduced by our name, as usual.
  const bool placed = !error.diagnostics().front().where.file.empty();
  session.err << (placed ? "" : "kernelsmith: ") << error.Format(session.ColorErr()) << '\n';
}

int UsageError(Session& session, const CLI::App& app, const CLI::ParseError& error,
               const std::vector<std::string>& arguments) {
  std::string message = error.what();
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) {
    // CLI11 hands the left-over words back in reverse or in order; the first as typed is wanted.
    const auto first =
        std::find_if(arguments.begin(), arguments.end(), [&](const std::string& word) {
          return std::find(extras.begin(), extras.end(), word) != extras.end();
        });
    const std::string word = first != arguments.end() ? *first : extras.front();
    const bool option = word.starts_with("-");
    const bool command = !option && app.get_subcommands().empty();
    message = fmt::format("unknown {} '{}'{}",
                          option    ? "option"
                          : command ? "command"
                                    : "argument",
                          word, option || command ? Suggestion(word, KnownWords(app, option)) : "");
  } else if (app.get_subcommands().empty() && arguments.empty()) {
    session.out << app.help();
    return kExitUsage;
  }
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::string help = "kernelsmith --help";
  if (!app.get_subcommands().empty()) {
    help = fmt::format("kernelsmith {} --help", app.get_subcommands().front()->get_name());
  }
  PrintError(session, InvalidInput(fmt::format("{} (see {})", message, help)));
  return kExitUsage;
}

// Options that settings stand behind. Programs under `run`, traced candidates and other children
// have a virtual GPU of their own: the choice reaches them by their environment.
void ApplyOptions(Session& session) {
  EngineSettings& engine = session.settings.engine;
  if (!session.engine.empty()) engine.engine = *EngineByName(session.engine);
  engine.verbose |= session.verbose;
  session.processes.SetForAll(VariablesOf(engine));
  session.processes.AllowWithoutLandlock(session.settings.tools.without_landlock);
}

}  // namespace

int RunApplication(const std::vector<std::string>& arguments, Session& session) {
  CLI::App app(kDescription, "kernelsmith");
  app.footer(kFooter);
  app.set_help_all_flag("--help-all", "Print the help of every command and exit");
  app.set_version_flag("--version", std::string("kernelsmith ") + kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", session.json, "Answer with one JSON document on standard output");
  app.add_flag("-q,--quiet", session.quiet, "No progress");
  app.add_flag("-v,--verbose", session.verbose, "Say more about what is done and why");
  app.add_option("--color", session.color, "When to use colours")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  app.add_option("--seed", session.seed_option,
                 "Seed of everything random; default: a fresh one, shown in the report");
  app.add_option("--engine", session.engine,
                 "What runs kernels: auto (compiles those that run long), jit, interpreter")
      ->check(CLI::IsMember({"auto", "jit", "interpreter"}));
  app.add_flag("--parallel-atomics", session.settings.engine.parallel_atomics,
               "Run blocks on all processors even where the order of atomics shows");
  AddCommands(app, session);

  session.program = SplitProgramWords(app, session.program_commands, arguments, IsProgram);
  const std::vector<std::string>& own = session.program.own;
  std::vector<std::string> reversed(own.rbegin(), own.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::Success& request) {  // --help, --help-all, --version
    app.exit(request, session.out, session.err);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return UsageError(session, app, error, own);
  }
  if (!session.settings_problems.ok()) {
    PrintError(session, session.settings_problems.error());
    return kExitUsage;
  }
  ApplyOptions(session);
  const Result<ExitCode> result = session.action();
  LeaveCache(session);
  if (!result.ok()) {
    PrintError(session, result.error());
    return ExitCodeOf(result.error().kind());
  }
  return *result;
}

}  // namespace kernelsmith
