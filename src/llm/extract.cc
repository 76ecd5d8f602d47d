#include "llm/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace kernelsmith::llm {
namespace {

struct Block {
  std::string language;  // lower case
  std::string text;
  bool closed = false;
};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view NextLine(std::string_view text, size_t& at) {
  const size_t end = std::min(text.find('\n', at), text.size());
  std::string_view line = text.substr(at, end - at);
  at = end + 1;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Fenced code blocks as CommonMark has them (4.5): up to three blanks, at least three of ` or ~,
// and a closing fence of the same kind that is no shorter.
std::vector<Block> FencedBlocks(std::string_view text) {
  std::vector<Block> blocks;
  std::optional<Block> open;
  char mark = 0;
  size_t length = 0;
  for (size_t at = 0; at < text.size();) {
    const std::string_view line = NextLine(text, at);
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view rest = line.substr(indent);
    const char first = rest.empty() ? '\0' : rest.front();
    const bool marked = indent <= 3 && (first == '`' || first == '~');
    const size_t run = marked ? std::min(rest.find_first_not_of(first), rest.size()) : 0;
    if (!open) {
      if (run < 3) continue;
      std::string language(rest.substr(run));
      if (first == '`' && language.find('`') != std::string::npos) continue;  // code in a line
      const size_t begin = std::min(language.find_first_not_of(" \t{."), language.size());
      language.erase(0, begin);
      language.resize(std::min(language.find_first_of(" \t:,}"), language.size()));
      for (char& c : language) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      open = Block{.language = std::move(language)};
      mark = first;
      length = run;
    } else if (run >= length && first == mark &&
               rest.find_first_not_of(" \t", run) == std::string_view::npos) {
      open->closed = true;
      blocks.push_back(*std::move(open));
      open.reset();
    } else {
      open->text += line;
      open->text += '\n';
    }
  }
  if (open) blocks.push_back(*std::move(open));
  return blocks;
}

bool IsCuda(const Block& block) {
  static constexpr std::string_view kLanguages[] = {"",  "cuda", "cu",  "cuh", "c++", "cpp",
                                                    "c", "cc",   "cxx", "h",   "hpp"};
  return std::find(std::begin(kLanguages), std::end(kLanguages), block.language) !=
         std::end(kLanguages);
}

// Source text without comments and with empty strings. `whole` is false where a comment, string or
// bracket is still open at the end.
struct Skeleton {
  std::string text;
  bool whole = true;
};

Skeleton SkeletonOf(std::string_view source) {
  Skeleton result;
  std::vector<char> open;
  bool balanced = true;
  const auto skip_to = [&](size_t from, std::string_view end) {
    const size_t found = source.find(end, from);
    if (found != std::string_view::npos) return found + end.size();
    result.whole = false;
    return source.size();
  };
  for (size_t i = 0; i < source.size();) {
    const char c = source[i];
    const char next = i + 1 < source.size() ? source[i + 1] : '\0';
    if (c == '/' && next == '/') {
      i = std::min(source.find('\n', i), source.size());
    } else if (c == '/' && next == '*') {
      i = skip_to(i + 2, "*/");
      result.text += ' ';
    } else if (c == '"' && i > 0 && source[i - 1] == 'R' &&
               source.find('(', i) != std::string_view::npos) {
      const size_t bracket = source.find('(', i);
      const std::string end = ")" + std::string(source.substr(i + 1, bracket - i - 1)) + "\"";
      i = skip_to(bracket, end);
      result.text += "\"\"";
    } else if (c == '"' || (c == '\'' && (i == 0 || !IsWord(source[i - 1])))) {
      size_t end = i + 1;
      while (end < source.size() && source[end] != c && source[end] != '\n') {
        end += source[end] == '\\' ? 2 : 1;
      }
      if (end >= source.size()) result.whole = false;
      result.text += {c, c};
      i = std::min(end + 1, source.size());
    } else {
      if (c == '{' || c == '(' || c == '[') open.push_back(c);
      if (c == '}' || c == ')' || c == ']') {
        const char wanted = c == '}' ? '{' : c == ')' ? '(' : '[';
        if (open.empty() || open.back() != wanted) {
          balanced = false;
        } else {
          open.pop_back();
        }
      }
      result.text += c;
      ++i;
    }
  }
  // Conditional compilation may close a bracket twice: only what stays open tells of half a file.
  if (balanced && !open.empty()) result.whole = false;
  return result;
}

// A definition: the name as a word, its parameters in brackets, and a body.
bool Defines(const std::string& skeleton, std::string_view function) {
  for (size_t at = 0; (at = skeleton.find(function, at)) != std::string::npos; ++at) {
    if (at > 0 && IsWord(skeleton[at - 1])) continue;
    size_t i = at + function.size();
    while (i < skeleton.size() && std::isspace(static_cast<unsigned char>(skeleton[i]))) ++i;
    if (i >= skeleton.size() || skeleton[i] != '(') continue;
    int depth = 0;
    for (; i < skeleton.size(); ++i) {
      if (skeleton[i] == '(') ++depth;
      if (skeleton[i] == ')' && --depth == 0) break;
    }
    // Behind the parameters: noexcept, a return type, or the body at once; a call ends otherwise.
    const size_t end = skeleton.find_first_of("{;,)=.<", std::min(i + 1, skeleton.size()));
    if (end != std::string::npos && skeleton[end] == '{') return true;
  }
  return false;
}

bool LooksLikeCode(const std::string& skeleton) {
  return skeleton.find("__global__") != std::string::npos ||
         skeleton.find("#include") != std::string::npos;
}

// An answer without fences whose first line that is not empty already is source.
bool BeginsAsCode(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  for (const std::string_view each : {"#include", "#define", "#pragma", "//", "/*", "__global__",
                                      "extern \"C\"", "template", "namespace"}) {
    if (text.substr(first).starts_with(each)) return true;
  }
  return false;
}

}  // namespace

const char* Name(Extraction outcome) {
  switch (outcome) {
    case Extraction::kCode:
      return "code";
    case Extraction::kLastOfSeveral:
      return "last_of_several";
    case Extraction::kJoined:
      return "joined";
    case Extraction::kBare:
      return "bare";
    case Extraction::kProse:
      return "prose";
    case Extraction::kCut:
      return "cut";
    case Extraction::kWrongFunction:
      return "wrong_function";
  }
  return "";
}

bool HasCode(Extraction outcome) {
  return outcome == Extraction::kCode || outcome == Extraction::kLastOfSeveral ||
         outcome == Extraction::kJoined || outcome == Extraction::kBare;
}

ExtractedCode ExtractCuda(const Answer& answer, std::string_view function) {
  std::vector<Block> blocks = FencedBlocks(answer.text);
  if (blocks.empty()) {
    const Skeleton skeleton = SkeletonOf(answer.text);
    if (!BeginsAsCode(answer.text) || !LooksLikeCode(skeleton.text)) return {};
    if (!skeleton.whole || answer.stop_reason == StopReason::kLength) return {Extraction::kCut, ""};
    if (!function.empty() && !Defines(skeleton.text, function)) {
      return {Extraction::kWrongFunction, ""};
    }
    return {Extraction::kBare, answer.text};
  }
  std::erase_if(blocks, [](const Block& block) { return !IsCuda(block); });
  if (blocks.empty()) return {};
  // The last block may be open for another reason than the limit: a stream that the server ended.
  const bool cut = !blocks.back().closed;

  std::string joined;
  const Block* chosen = nullptr;
  int files = 0;
  bool any_code = false, any_half = false;
  for (const Block& block : blocks) {
    const Skeleton skeleton = SkeletonOf(block.text);
    const bool code =
        LooksLikeCode(skeleton.text) || (!function.empty() && Defines(skeleton.text, function));
    any_code |= code;
    any_half |= code && !skeleton.whole;
    joined += block.text;
    // A file: whole by itself, with the function, and with kernels or at least includes of its own.
    if (block.closed && skeleton.whole && LooksLikeCode(skeleton.text) &&
        (function.empty() || Defines(skeleton.text, function))) {
      chosen = &block;
      ++files;
    }
  }
  // Also behind a whole file: what was cut is its correction, so the whole one is known to be
  // wrong.
  if (cut) return {Extraction::kCut, ""};
  // Host code in one block and the kernels that it launches in others is one file.
  const bool kernels_inside =
      chosen != nullptr && chosen->text.find("__global__") != std::string::npos;
  const Skeleton whole = SkeletonOf(joined);
  const bool joins = whole.whole && whole.text.find("__global__") != std::string::npos &&
                     (function.empty() || Defines(whole.text, function));
  if (chosen != nullptr && (kernels_inside || !joins || blocks.size() == 1)) {
    return {files > 1 ? Extraction::kLastOfSeveral : Extraction::kCode, chosen->text};
  }
  if (joins && blocks.size() > 1) return {Extraction::kJoined, joined};
  if (any_half) return {Extraction::kCut, ""};
  if (any_code) return {Extraction::kWrongFunction, ""};
  return {};
}

std::string ExtractionTally::Text() const {
  std::string text;
  for (const Extraction each : kAllExtractions) {
    if (Count(each) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Count(each), Name(each));
  }
  return text;
}

}  // namespace kernelsmith::llm
