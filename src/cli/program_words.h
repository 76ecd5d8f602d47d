// The command lines of `run`, `sanitize` and `profile`: what stands from the program's name on is
// the program's, whatever it looks like. So it is taken away before our own options are parsed.
//
//   kernelsmith run [OPTIONS] [--] PROGRAM [ARGUMENTS]
//   kernelsmith profile [OPTIONS] TASK [OPTIONS] CANDIDATE.cu [OPTIONS]
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kernelsmith {

// What the words of a command that runs programs may name beside a program.
enum class ProgramForm { kProgram, kProgramOrCandidate };

struct ProgramWords {
  std::vector<std::string> own;       // for the parser: our commands and options
  std::vector<std::string> operands;  // a program with its arguments, or a task and a candidate
  bool candidate = false;
};

// `commands`: those that run programs, by name. Other command lines come back as they are.
// `is_program`: whether a file can be run, so that `sanitize ./a.out kernel.cu` is about a.out.
ProgramWords SplitProgramWords(const CLI::App& app,
                               const std::map<std::string, ProgramForm>& commands,
                               const std::vector<std::string>& arguments,
                               const std::function<bool(const std::string&)>& is_program);

// A regular file that may be executed. Python files are tasks: a script comes behind `--`.
bool IsProgram(const std::string& path);

}  // namespace kernelsmith
