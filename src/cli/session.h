// What every subcommand gets: the options that all of them share, and the outside world.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "cli/program_words.h"
#include "support/clock.h"
#include "support/exit_code.h"
#include "support/file_system.h"
#include "support/progress.h"
#include "support/result.h"
#include "support/settings.h"
#include "support/subprocess.h"
#include "support/tool_finder.h"

namespace kernelsmith {

struct Session {
  // Options of every command.
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string color = "auto";  // auto, always, never
  std::optional<uint64_t> seed_option;
  std::string engine;  // empty: as the environment says

  // Of the environment; RunApplication puts options of the command line in.
  Settings settings = {};
  Status settings_problems = {};  // values in the environment that make no sense

  // See session_cache.h.
  bool cache_is_prepared = false;
  std::filesystem::path own_cache;  // in place of a cache that can't be written

  // Of commands that run programs: which they are, and what the command line has for the one it
  // names.
  std::map<std::string, ProgramForm> program_commands;
  ProgramWords program;

  // The outside world; tests put fakes here.
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal;
  bool err_is_terminal;
  const Clock& clock;
  FileSystem& files;
  ProcessRunner& processes;
  ToolFinder& tools;

  // Set by the subcommand that the command line names, run after parsing. An Error is printed by
  // the caller, in one way for all commands.
  std::function<Result<ExitCode>()> action;

  bool ColorOut() const { return color == "always" || (color == "auto" && out_is_terminal); }
  bool ColorErr() const { return color == "always" || (color == "auto" && err_is_terminal); }

  // The seed of this run: --seed, or one drawn once that the report must show.
  uint64_t Seed();

  // A bar, plain lines or nothing, as the terminal and --quiet ask for. With --json too: progress
  // goes to standard error.
  std::unique_ptr<Progress> MakeProgress();

  // The answer of a command under --json: one document on standard output.
  void PrintJson(const nlohmann::json& document);

  // Colours `text` (an SGR code such as "32") if standard output takes colours.
  std::string Paint(const char* code, const std::string& text) const;
};

}  // namespace kernelsmith
