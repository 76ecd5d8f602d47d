#include "sizes/parameter_names.h"

#include <cctype>

namespace kernelsmith::sizes {
namespace {

bool InName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// One behind the parenthesis that closes the one at `open`; npos: none does.
size_t Closing(std::string_view code, size_t open) {
  int depth = 0;
  for (size_t at = open; at < code.size(); ++at) {
    if (code[at] == '(') ++depth;
    if (code[at] == ')' && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

// The last name of `const float* __restrict__ x`.
std::string LastName(std::string_view parameter) {
  size_t end = parameter.size();
  while (end > 0 && !InName(parameter[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && InName(parameter[begin - 1])) --begin;
  return std::string(parameter.substr(begin, end - begin));
}

std::vector<std::string> NamesIn(std::string_view list) {
  std::vector<std::string> names;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= list.size(); ++at) {
    const char c = at < list.size() ? list[at] : ',';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || depth > 0) continue;
    names.push_back(LastName(list.substr(begin, at - begin)));
    begin = at + 1;
  }
  return names;
}

}  // namespace

std::map<std::string, std::vector<std::string>> ParameterNames(std::string_view code) {
  std::map<std::string, std::vector<std::string>> names;
  constexpr std::string_view kWord = "__global__";
  for (size_t at = code.find(kWord); at != std::string_view::npos; at = code.find(kWord, at + 1)) {
    // The name is in front of the first parenthesis that belongs to no attribute.
    size_t from = at + kWord.size();
    while (true) {
      const size_t open = code.find_first_of("({;", from);
      if (open == std::string_view::npos || code[open] != '(') break;
      const size_t end = Closing(code, open);
      if (end == std::string_view::npos) break;
      const std::string name = LastName(code.substr(from, open - from));
      if (name.empty() || name.starts_with("__launch") || name.starts_with("__cluster") ||
          name.starts_with("__attribute") || name.starts_with("__maxnreg")) {
        from = end;
        continue;
      }
      names[name] = NamesIn(code.substr(open + 1, end - open - 2));
      break;
    }
  }
  return names;
}

std::string PlainName(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find_first_of("<("));
  const size_t space = kernel.rfind(':');
  return std::string(space == std::string_view::npos ? kernel : kernel.substr(space + 1));
}

}  // namespace kernelsmith::sizes
