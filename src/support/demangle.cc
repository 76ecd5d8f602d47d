#include "support/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

namespace kernelsmith {
namespace {

void EraseAll(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

// Where the parameters begin: at the parenthesis that the last one closes. Template arguments may
// have parentheses of their own, "scale<(Mode)1>(float*)".
size_t ParametersBegin(const std::string& text) {
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return text.size();
  int open = 0;
  for (size_t at = end + 1; at-- > 0;) {
    if (text[at] == ')') ++open;
    if (text[at] == '(' && --open == 0) return at;
  }
  return text.size();
}

}  // namespace

std::string Demangle(const std::string& symbol) {
  // The demangler takes names of types too: a kernel `extern "C" f` would become "float".
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  char* demangled = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (demangled == nullptr) return symbol;
  std::string text = demangled;
  std::free(demangled);
  return text;
}

std::string KernelName(const std::string& symbol) {
  std::string text = Demangle(symbol);
  if (text == symbol) return symbol;
  EraseAll(text, "(anonymous namespace)::");
  text.resize(ParametersBegin(text));
  return text.starts_with("void ") ? text.substr(5) : text;
}

}  // namespace kernelsmith
