#include "compile/conditionals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "compile/pp_tokens.h"

namespace kernelsmith {
namespace {

using Kind = PpToken::Kind;

struct Reason {
  std::string_view name;
  const char* why;
};
// What is another value in another build of the same source, and what no kernel needs.
constexpr std::array kUnstable = {
    Reason{"__TIME__", "is the time of the build"},
    Reason{"__DATE__", "is the time of the build"},
    Reason{"__TIMESTAMP__", "is the time of the file"},
    Reason{"__BASE_FILE__", "is a path of the machine that builds it"},
    Reason{"__COUNTER__", "counts what headers do, and PyTorch's do other things than ours"},
    Reason{"__INCLUDE_LEVEL__", "depends on how it is built"},
    Reason{"__has_include_next", "asks for headers of the machine that builds it"},
    Reason{"include_next", "asks for headers of the machine that builds it"},
    Reason{"__has_embed", "asks for files of the machine that builds it"},
};

// Names that are ours, and none of PyTorch's.
bool IsOurs(const std::string& name) {
  return name.starts_with("KS_") || name.starts_with("KERNELSMITH") || name.starts_with("ks_") ||
         name == "kernelsmith";
}

bool LeavesFolder(const std::string& header) {
  const std::filesystem::path path = header;
  return path.is_absolute() || (!path.empty() && *path.lexically_normal().begin() == "..");
}

}  // namespace

std::optional<Diagnostic> DependsOnPlace(std::string_view text, const std::string& file) {
  const std::vector<PpToken> tokens = PpTokens(text);
  const auto refuse = [&](const PpToken& token, std::string why) {
    return Diagnostic{
        .where = {.file = file, .line = token.line},
        .message = fmt::format("{} {}: the candidate can be another program for its user",
                               token.text, why),
        .source_line = std::string(LineOf(text, token.line))};
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    const PpToken& token = tokens[i];
    if (token.kind == Kind::kHeaderName && token.text.size() > 2) {
      const std::string name = token.text.substr(1, token.text.size() - 2);
      if (LeavesFolder(name)) return refuse(token, "is a path of this machine");
      if (name.starts_with("kernelsmith/")) return refuse(token, "is a header of the judge");
    }
    if (token.kind != Kind::kIdentifier) continue;
    for (const Reason& reason : kUnstable) {
      if (token.text == reason.name) return refuse(token, reason.why);
    }
    if (IsOurs(token.text)) return refuse(token, "looks like a name of the judge's own headers");
    if (token.text == "embed" && i > 0 && tokens[i - 1].Is("#")) {
      return refuse(token, "reads files of the machine that builds it");
    }
    // Users choose this name; it may only name the module.
    if (token.text == "TORCH_EXTENSION_NAME" &&
        !(i >= 2 && tokens[i - 1].Is("(") &&
          (tokens[i - 2].Is("PYBIND11_MODULE") ||
           tokens[i - 2].text.starts_with("TORCH_LIBRARY")))) {
      return refuse(token, "is the user's choice");
    }
  }
  return std::nullopt;
}

std::vector<Conditional> ConditionalsOf(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kWords = {
      "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"};
  std::vector<Conditional> found;
  const std::vector<PpToken> tokens = PpTokens(text);
  bool line_start = true;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool first = line_start;
    line_start = tokens[i].kind == Kind::kEndOfLine;
    if (!first || !tokens[i].Is("#")) continue;
    const std::string& word = tokens[i + 1].text;
    if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) continue;
    size_t end = i + 1;
    while (tokens[end].kind != Kind::kEndOfLine) ++end;
    found.push_back({.first_line = tokens[i].line,
                     .last_line = tokens[end].line,
                     .asks = word != "else" && word != "endif",
                     .elif = word.starts_with("elif")});
  }
  return found;
}

std::string Marked(std::string_view text, const std::string& mark) {
  const std::vector<Conditional> conditionals = ConditionalsOf(text);
  std::string marked;
  size_t next = 0;
  size_t at = 0;
  for (int line = 1; at < text.size(); ++line) {
    size_t end = text.find('\n', at);
    end = end == std::string_view::npos ? text.size() : end + 1;
    marked += text.substr(at, end - at);
    at = end;
    if (next < conditionals.size() && conditionals[next].last_line == line) {
      if (marked.back() != '\n') marked += '\n';
      marked += fmt::format("{}{}\n#line {}\n", mark, next, line + 1);
      ++next;
    }
  }
  return marked;
}

MarkCounts CountMarks(std::string_view preprocessed, const std::string& prefix) {
  MarkCounts counts;
  size_t at = 0;
  while ((at = preprocessed.find(prefix, at)) != std::string_view::npos) {
    size_t end = at + prefix.size();
    while (end < preprocessed.size() &&
           (std::isalnum(static_cast<unsigned char>(preprocessed[end])) != 0 ||
            preprocessed[end] == '_')) {
      ++end;
    }
    ++counts[std::string(preprocessed.substr(at, end - at))];
    at = end;
  }
  return counts;
}

std::string Decided(std::string_view text, const std::map<size_t, bool>& decisions) {
  const std::vector<Conditional> conditionals = ConditionalsOf(text);
  std::map<int, std::pair<int, std::string>> replaced;  // by first line: last line, text
  for (const auto& [number, holds] : decisions) {
    const Conditional& conditional = conditionals[number];
    replaced[conditional.first_line] = {
        conditional.last_line,
        fmt::format("#{} {}", conditional.elif ? "elif" : "if", holds ? 1 : 0)};
  }
  std::string decided;
  size_t at = 0;
  int until = 0;
  for (int line = 1; at < text.size(); ++line) {
    size_t end = text.find('\n', at);
    end = end == std::string_view::npos ? text.size() : end + 1;
    if (const auto found = replaced.find(line); found != replaced.end()) {
      decided += found->second.second + "\n";
      until = found->second.first;
    } else if (line <= until) {
      decided += "\n";
    } else {
      decided += text.substr(at, end - at);
    }
    at = end;
  }
  return decided;
}

}  // namespace kernelsmith
