#include "cli/program_words.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace kernelsmith {
namespace {

bool LooksLikeOption(const std::string& word) { return word.size() > 1 && word.starts_with("-"); }

// How many words behind an option belong to it. Unknown options are the parser's to complain about.
size_t ValuesOf(const CLI::App& app, const CLI::App* command, const std::string& word) {
  if (word.find('=') != std::string::npos) return 0;
  const CLI::Option* option = command != nullptr ? command->get_option_no_throw(word) : nullptr;
  if (option == nullptr) option = app.get_option_no_throw(word);
  if (option == nullptr || option->get_items_expected_min() <= 0) return 0;
  return static_cast<size_t>(option->get_items_expected_min());
}

}  // namespace

ProgramWords SplitProgramWords(const CLI::App& app,
                               const std::map<std::string, ProgramForm>& commands,
                               const std::vector<std::string>& arguments,
                               const std::function<bool(const std::string&)>& is_program) {
  const ProgramWords unchanged{.own = arguments};
  ProgramWords words;
  const CLI::App* command = nullptr;
  ProgramForm form = ProgramForm::kProgram;
  size_t program = arguments.size();  // where it would begin
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--" && command != nullptr && words.operands.empty()) {
      words.operands.assign(arguments.begin() + static_cast<ptrdiff_t>(i) + 1, arguments.end());
      return words;
    }
    if (LooksLikeOption(word)) {
      const size_t values = std::min(ValuesOf(app, command, word), arguments.size() - i - 1);
      const auto from = arguments.begin() + static_cast<ptrdiff_t>(i);
      words.own.insert(words.own.end(), from, from + static_cast<ptrdiff_t>(values) + 1);
      i += values;
      continue;
    }
    if (command == nullptr) {
      const auto found = commands.find(word);
      if (found == commands.end()) return unchanged;
      command = app.get_subcommand(word);
      form = found->second;
      words.own.push_back(word);
      continue;
    }
    if (words.operands.empty()) {
      program = i;
      if (form == ProgramForm::kProgram || is_program(word)) break;
    } else if (words.operands.size() == 1) {
      words.candidate = word.ends_with(".cu");
      if (!words.candidate) break;
    }
    words.operands.push_back(word);
  }
  if (command == nullptr) return unchanged;
  if (words.candidate || program == arguments.size()) return words;
  // It is a program: options behind its name are not ours. Those before it stand first in `own`.
  ProgramWords of_program;
  of_program.own.assign(arguments.begin(), arguments.begin() + static_cast<ptrdiff_t>(program));
  of_program.operands.assign(arguments.begin() + static_cast<ptrdiff_t>(program), arguments.end());
  return of_program;
}

bool IsProgram(const std::string& path) {
  std::error_code ignored;
  return !path.ends_with(".py") && ::access(path.c_str(), X_OK) == 0 &&
         std::filesystem::is_regular_file(path, ignored);
}

}  // namespace kernelsmith
