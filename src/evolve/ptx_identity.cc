#include "evolve/ptx_identity.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "tasks/hash.h"

namespace kernelsmith {
namespace {

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// Words (with a leading '.' or '%'), numbers, strings, single other characters; no comments.
std::vector<std::string_view> Tokens(std::string_view text) {
  std::vector<std::string_view> tokens;
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    size_t end = i + 1;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      i = end;
      continue;
    }
    if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (text.substr(i).starts_with("/*")) {
      const size_t close = text.find("*/", i + 2);
      i = close == std::string_view::npos ? text.size() : close + 2;
      continue;
    }
    if (c == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (IsWord(c) || c == '.' || c == '%') {
      while (end < text.size() && IsWord(text[end])) ++end;
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

bool IsName(std::string_view token) {
  return std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '_' ||
         token[0] == '$';
}

// %r12, %rd3, %p1 ...: a letter or more and a number. Special registers with a number are few and
// never declared.
bool IsRegister(std::string_view token) {
  return token.size() > 2 && token[0] == '%' &&
         std::isdigit(static_cast<unsigned char>(token.back())) != 0 &&
         !token.starts_with("%envreg") && !token.starts_with("%pm") &&
         !token.starts_with("%clock") && !token.starts_with("%globaltimer") &&
         !token.starts_with("%reserved");
}

// Without `.loc`, `.file` and debug sections. The first two end at no mark of their own: their
// operands are counted.
std::vector<std::string_view> WithoutLines(const std::vector<std::string_view>& tokens) {
  std::vector<std::string_view> kept;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == ".loc") {
      i += 3;  // file line column
      // , function_name label [+ offset], inlined_at file line column
      while (i + 2 < tokens.size() && tokens[i + 1] == ",") {
        i += 2;
        if (tokens[i] == "function_name") {
          ++i;
          if (i + 2 < tokens.size() && tokens[i + 1] == "+") i += 2;
        } else {
          i += 3;
        }
      }
    } else if (tokens[i] == ".file") {
      i += 2;  // number "name"
      while (i + 2 < tokens.size() && tokens[i + 1] == ",") i += 2;
    } else if (tokens[i] == ".section") {
      while (i < tokens.size() && tokens[i] != "}") ++i;
    } else {
      kept.push_back(tokens[i]);
    }
  }
  return kept;
}

}  // namespace

std::string NormalisedPtx(std::string_view ptx) {
  const std::vector<std::string_view> tokens = WithoutLines(Tokens(ptx));
  // What is defined elsewhere: the names in `.extern ...;`.
  std::set<std::string_view> outside;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] != ".extern") continue;
    for (; i < tokens.size() && tokens[i] != ";"; ++i) {
      if (IsName(tokens[i])) outside.insert(tokens[i]);
    }
  }
  std::map<std::string_view, size_t> names;
  std::string text;
  bool first = true;  // in its statement: a name here is an instruction, or a label
  bool predicate = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view token = tokens[i];
    const bool label = first && i + 1 < tokens.size() && tokens[i + 1] == ":";
    const bool instruction = first && !label && IsName(token);
    const bool ours =
        (IsName(token) && !instruction && !outside.contains(token)) || IsRegister(token);
    if (ours) {
      const size_t number = names.emplace(token, names.size()).first->second;
      // A bijection of names, so that only modules that do the same become the same.
      text += (token[0] == '%' ? "%" : "$") + std::to_string(number);
    } else {
      text += token;
    }
    text += ' ';
    if (token == "@") predicate = true;
    const bool guard = predicate && token[0] == '%';
    first = token == ";" || token == "{" || token == "}" || token == ":" || guard ||
            (first && (token == "@" || token == "!"));
    if (guard) predicate = false;
    if (token == ";" || token == "{" || token == "}") text += '\n';
  }
  return text;
}

std::string CandidateIdentity(std::string_view ptx, std::string_view host) {
  return Sha256(NormalisedPtx(ptx) + '\0' + std::string(host));
}

}  // namespace kernelsmith
