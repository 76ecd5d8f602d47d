#include "runner/text_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <regex>

namespace kernelsmith {
namespace {

struct Directive {
  std::string name;  // "RUN", ..., "|" for a line of an expectation, "" for any other line
  std::string value;
  std::string comment;  // "//" or "#"
};

Directive ReadDirective(std::string_view line) {
  Directive directive;
  directive.comment = line.starts_with("//") ? "//" : line.starts_with("#") ? "#" : "";
  if (directive.comment.empty()) return directive;
  line.remove_prefix(directive.comment.size());
  if (line.starts_with(" ")) line.remove_prefix(1);
  if (line.starts_with("|")) {
    directive.name = "|";
    line.remove_prefix(1);
    if (line.starts_with(" ")) line.remove_prefix(1);
    directive.value = line;
    return directive;
  }
  for (const char* name : {"RUN", "NVCC", "EXIT", "OUT", "ERR", "TIMEOUT"}) {
    const std::string head = std::string(name) + ":";
    if (!line.starts_with(head)) continue;
    directive.name = name;
    line.remove_prefix(head.size());
    while (line.starts_with(" ")) line.remove_prefix(1);
    while (line.ends_with(" ")) line.remove_suffix(1);
    directive.value = line;
    break;
  }
  return directive;
}

std::string QuoteForRegex(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

Result<TextTest> ParseTextTest(std::string_view text, const std::string& file_name) {
  TextTest test;
  std::optional<std::vector<std::string>>* expectation = nullptr;
  int number = 0;
  const auto fail = [&](std::string message, const std::string& line) {
    return Error(ErrorKind::kInvalidInput, Diagnostic{.where = {file_name, number, 1},
                                                      .message = std::move(message),
                                                      .source_line = line});
  };
  for (const std::string& line : SplitLines(text)) {
    ++number;
    const Directive directive = ReadDirective(line);
    if (directive.name == "|") {
      if (expectation == nullptr) return fail("an expected line must follow OUT: or ERR:", line);
      (*expectation)->push_back(directive.value);
      continue;
    }
    expectation = nullptr;
    if (directive.name == "RUN") test.runs.push_back(directive.value);
    if (directive.name == "NVCC") test.nvcc_flags = directive.value;
    if (directive.name == "OUT" || directive.name == "ERR") {
      expectation = directive.name == "OUT" ? &test.out : &test.err;
      if (expectation->has_value()) return fail("a second " + directive.name + ":", line);
      expectation->emplace();
    }
    if (directive.name == "EXIT" || directive.name == "TIMEOUT") {
      int& number_field = directive.name == "EXIT" ? test.exit_code : test.timeout_seconds;
      const char* end = directive.value.data() + directive.value.size();
      if (std::from_chars(directive.value.data(), end, number_field).ptr != end) {
        return fail("expected a number", line);
      }
    }
  }
  if (test.runs.empty()) {
    number = 0;
    return fail("has no RUN: line", "");
  }
  return test;
}

bool LineMatches(const std::string& expected, const std::string& actual) {
  if (expected.find("{{") == std::string::npos) return expected == actual;
  std::string pattern;
  std::string_view rest = expected;
  while (true) {
    const size_t open = rest.find("{{");
    pattern += QuoteForRegex(rest.substr(0, open));
    if (open == std::string_view::npos) break;
    const size_t close = rest.find("}}", open);
    if (close == std::string_view::npos) return false;
    pattern += "(?:" + std::string(rest.substr(open + 2, close - open - 2)) + ")";
    rest.remove_prefix(close + 2);
  }
  return std::regex_match(actual, std::regex(pattern));
}

std::string CompareLines(const std::vector<std::string>& expected,
                         const std::vector<std::string>& actual) {
  constexpr size_t kShown = 12;  // enough to see what is going on
  std::string difference;
  size_t shown = 0;
  for (size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    const bool both = i < expected.size() && i < actual.size();
    if (both && LineMatches(expected[i], actual[i])) continue;
    if (shown++ == kShown) return difference + "  ...\n";
    difference += fmt::format("  line {}:\n", i + 1);
    difference +=
        i < expected.size() ? "    expected: " + expected[i] + "\n" : "    expected: nothing\n";
    difference +=
        i < actual.size() ? "    printed:  " + actual[i] + "\n" : "    printed:  nothing\n";
  }
  return difference;
}

std::string Rebase(std::string_view text, const std::vector<std::string>& out,
                   const std::vector<std::string>& err, int exit_code) {
  const auto block = [](const std::vector<std::string>& lines, const std::vector<std::string>& old,
                        const std::string& comment) {
    std::string written;
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool keep = i < old.size() && LineMatches(old[i], lines[i]);
      const std::string& line = keep ? old[i] : lines[i];
      written += comment + (line.empty() ? " |" : " | " + line) + "\n";
    }
    return written;
  };
  const std::vector<std::string> lines = SplitLines(text);
  std::string rebased;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Directive directive = ReadDirective(lines[i]);
    if (directive.name == "EXIT") {
      rebased += fmt::format("{} EXIT: {}\n", directive.comment, exit_code);
      continue;
    }
    rebased += lines[i] + "\n";
    if (directive.name != "OUT" && directive.name != "ERR") continue;
    std::vector<std::string> old;
    while (i + 1 < lines.size() && ReadDirective(lines[i + 1]).name == "|") {
      old.push_back(ReadDirective(lines[++i]).value);
    }
    rebased += block(directive.name == "OUT" ? out : err, old, directive.comment);
  }
  return rebased;
}

std::string Substitute(std::string_view command, const std::map<std::string, std::string>& values) {
  std::string text;
  while (!command.empty()) {
    if (command[0] != '%') {
      text += command[0];
      command.remove_prefix(1);
      continue;
    }
    command.remove_prefix(1);
    if (command.starts_with('%')) {
      text += '%';
      command.remove_prefix(1);
      continue;
    }
    // The map is sorted, so the last name that fits is the longest.
    const std::pair<const std::string, std::string>* best = nullptr;
    for (const auto& value : values) {
      if (command.starts_with(value.first)) best = &value;
    }
    if (best == nullptr) {
      text += '%';
      continue;
    }
    text += best->second;
    command.remove_prefix(best->first.size());
  }
  return text;
}

}  // namespace kernelsmith
