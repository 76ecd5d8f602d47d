#include "compile/source_style.h"

#include <fmt/format.h>

#include <cctype>
#include <regex>
#include <vector>

namespace kernelsmith {
namespace {

// Behind `position`, the text between the parenthesis that opens there and its partner.
std::string Parenthesised(const std::string& text, size_t position) {
  const size_t open = text.find('(', position);
  if (open == std::string::npos) return {};
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return {};
}

struct Launcher {
  std::string name;
  std::string parameters;
};

// extern "C" functions that run on the host, in the order they stand in the source. Strings are
// blanked, so extern "C" reads extern "".
std::vector<Launcher> FindLaunchers(const std::string& code) {
  std::vector<Launcher> launchers;
  size_t from = 0;
  while (true) {
    const size_t at = code.find("extern", from);
    if (at == std::string::npos) return launchers;
    from = at + 6;
    size_t next = code.find_first_not_of(" \t\r\n", from);
    if (next == std::string::npos || code.compare(next, 2, "\"\"") != 0) continue;
    next = code.find_first_not_of(" \t\r\n", next + 2);
    if (next == std::string::npos) return launchers;
    size_t end = code.find_first_of("({;", next);
    if (code[next] == '{') {
      // extern "C" { ... }: its functions, one after the other.
      int depth = 0;
      size_t close = next;
      for (; close < code.size(); ++close) {
        if (code[close] == '{') ++depth;
        if (code[close] == '}' && --depth == 0) break;
      }
      const std::string block = code.substr(next + 1, close - next - 1);
      int level = 0;
      size_t begin = 0;
      for (size_t i = 0; i < block.size(); ++i) {
        if (level == 0 && block[i] == '(') {
          const std::string head = block.substr(begin, i - begin);
          const size_t last = head.find_last_not_of(" \t\r\n");
          const size_t word =
              last == std::string::npos ? last : head.find_last_of(" \t\r\n*&", last);
          if (word != std::string::npos && head.find("__global__") == std::string::npos) {
            launchers.push_back({head.substr(word + 1, last - word), Parenthesised(block, i)});
          }
          while (i < block.size() && block[i] != '{' && block[i] != ';') ++i;
          if (i < block.size() && block[i] == '{') ++level;
          begin = i + 1;
          continue;
        }
        if (block[i] == '{') ++level;
        if (block[i] == '}' && --level == 0) begin = i + 1;
      }
      from = close;
      continue;
    }
    if (end == std::string::npos || code[end] != '(') continue;
    const std::string head = code.substr(next, end - next);
    if (head.find("__global__") != std::string::npos) continue;
    const size_t last = head.find_last_not_of(" \t\r\n");
    const size_t word = head.find_last_of(" \t\r\n*&", last);
    if (last == std::string::npos || word == std::string::npos) continue;
    launchers.push_back({head.substr(word + 1, last - word), Parenthesised(code, end)});
  }
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    if (c == '"' || c == '\\') c = ' ';
  }
  return text;
}

// Functions of the file's own scope that return tensors and are no helpers (static, inline).
std::vector<std::string> FindTensorFunctions(const std::string& code) {
  static const std::regex kDefinition(
      R"re((?:^|\n)(?:(?:torch|at)::)?(?:Tensor|std::vector<(?:(?:torch|at)::)?Tensor>|std::tuple<[^;{}()]*>)\s+(\w+)\s*\([^;{}]*\)\s*\{)re");
  std::vector<std::string> names;
  for (std::sregex_iterator it(code.begin(), code.end(), kDefinition), end; it != end; ++it) {
    names.push_back((*it)[1].str());
  }
  return names;
}

}  // namespace

namespace {

// Comments and what stands in strings are spaces; everything keeps its place.
std::string Blanked(std::string_view text) {
  std::string code(text);
  enum class In { kCode, kLine, kBlock, kString, kChar, kRaw } in = In::kCode;
  std::string raw_end;
  for (size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    const char next = i + 1 < code.size() ? code[i + 1] : '\0';
    switch (in) {
      case In::kCode:
        if (c == '/' && next == '/') {
          in = In::kLine;
          code[i] = ' ';
        } else if (c == '/' && next == '*') {
          in = In::kBlock;
          code[i] = code[i + 1] = ' ';
          ++i;
        } else if (c == '"' && i > 0 && code[i - 1] == 'R') {
          const size_t open = code.find('(', i);
          if (open == std::string::npos) return code;
          raw_end = ")" + std::string(text.substr(i + 1, open - i - 1)) + "\"";
          in = In::kRaw;
        } else if (c == '"') {
          in = In::kString;
        } else if (c == '\'' &&
                   !(i > 0 && std::isxdigit(static_cast<unsigned char>(code[i - 1])))) {
          in = In::kChar;  // and no digit separator
        }
        break;
      case In::kLine:
        if (c == '\n') {
          in = In::kCode;
        } else {
          code[i] = ' ';
        }
        break;
      case In::kBlock:
        if (c == '*' && next == '/') {
          code[i] = code[i + 1] = ' ';
          ++i;
          in = In::kCode;
        } else if (c != '\n') {
          code[i] = ' ';
        }
        break;
      case In::kString:
      case In::kChar:
        if (c == '\\') {
          code[i] = ' ';
          if (i + 1 < code.size() && code[i + 1] != '\n') code[++i] = ' ';
        } else if (c == (in == In::kString ? '"' : '\'') || c == '\n') {
          in = In::kCode;
        } else {
          code[i] = ' ';
        }
        break;
      case In::kRaw:
        if (code.compare(i, raw_end.size(), raw_end) == 0) {
          for (size_t end = i + raw_end.size() - 1; i < end; ++i) code[i] = ' ';
          in = In::kCode;
        } else if (c != '\n') {
          code[i] = ' ';
        }
        break;
    }
  }
  return code;
}

// The name of a header may stand in quotes: it is looked for in the text itself, and counts where
// the code has an #include.
bool IncludesTorch(std::string_view text, std::string_view blanked) {
  static const std::regex kTorch(R"re(#\s*include\s*[<"](torch|ATen|c10)/)re");
  const std::string whole(text);
  for (std::sregex_iterator it(whole.begin(), whole.end(), kTorch), end; it != end; ++it) {
    if (blanked[static_cast<size_t>(it->position())] == '#') return true;
  }
  return false;
}

}  // namespace

std::string BlankComments(std::string_view text) {
  // Blanked strings are empty strings.
  static const std::regex kBlank(R"re("[ ]+")re");
  return std::regex_replace(Blanked(text), kBlank, "\"\"");
}

Result<SourceStyle> StyleOf(std::string_view text, const std::string& file) {
  const std::string code = BlankComments(text);
  const bool registers = code.find("PYBIND11_MODULE") != std::string::npos ||
                         code.find("TORCH_LIBRARY") != std::string::npos;
  if (registers) return SourceStyle{CandidateStyle::kTorch, ""};

  if (IncludesTorch(text, Blanked(text))) {
    std::string suffix = "\nPYBIND11_MODULE(candidate, m) {\n";
    bool any = false;
    for (const char* name : {"forward", "backward"}) {
      // A definition or declaration, not a call: a type stands before it.
      const std::regex definition(fmt::format(R"re([A-Za-z0-9_>&*]\s+{}\s*\()re", name));
      if (!std::regex_search(code, definition)) continue;
      suffix += fmt::format("  m.def(\"{0}\", &{0});\n", name);
      any = true;
    }
    if (any) return SourceStyle{CandidateStyle::kTorch, suffix + "}\n"};
    // The cuda_sources of a load_inline pair: one function under its own name.
    const std::vector<std::string> functions = FindTensorFunctions(code);
    if (functions.size() == 1) {
      return SourceStyle{CandidateStyle::kTorch,
                         suffix + fmt::format("  m.def(\"{0}\", &{0});\n}}\n", functions[0])};
    }
    return Error(ErrorKind::kInvalidInput,
                 Diagnostic{.where = {.file = file},
                            .message = "no PYBIND11_MODULE, no TORCH_LIBRARY and no function named "
                                       "forward: nothing to call"});
  }

  const std::vector<Launcher> launchers = FindLaunchers(code);
  if (launchers.empty()) {
    return Error(ErrorKind::kInvalidInput,
                 Diagnostic{.where = {.file = file},
                            .message = "nothing to call: expected a torch extension "
                                       "(PYBIND11_MODULE) or an extern \"C\" launcher"});
  }
  std::string suffix = "\n#include <kernelsmith/light/launcher.h>\n";
  for (const Launcher& launcher : launchers) {
    suffix += fmt::format("KS_LAUNCHER({}, \"{}\")\n", launcher.name, OneLine(launcher.parameters));
  }
  return SourceStyle{CandidateStyle::kLauncher, suffix};
}

}  // namespace kernelsmith
