#include "llm/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "support/foreign_text.h"

namespace kernelsmith::llm {
namespace {

bool IsName(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+';
  });
}

std::string Trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \n\r\t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \n\r\t") - first + 1);
}

class Renderer {
 public:
  Renderer(const std::string& text, const std::string& file, const PromptValues& values)
      : text_(text), file_(file), values_(values) {}

  Result<Conversation> Run() {
    Conversation result;
    int number = 0;
    for (size_t at = 0; at < text_.size();) {
      ++number;
      const size_t end = std::min(text_.find('\n', at), text_.size());
      const std::string line = text_.substr(at, end - at);
      at = end + 1;
      if (line.starts_with("--- ")) {
        const std::string role = Trim(line.substr(4));
        if (role != "system" && role != "user") {
          return Bad(number, 5, line, "expected '--- system' or '--- user'");
        }
        result.push_back({role == "user" ? Role::kUser : Role::kSystem, ""});
        continue;
      }
      if (result.empty()) {
        if (Trim(line).empty()) continue;
        return Bad(number, 1, line, "expected '--- system' or '--- user' before any text");
      }
      KS_TRY(const std::string filled, Fill(line, number));
      result.back().text += filled + "\n";
    }
    for (Message& each : result) each.text = Trim(each.text);
    if (result.empty() || result.back().role != Role::kUser) {
      return Bad(number, 1, "", "a prompt must end with a '--- user' part");
    }
    for (const auto& [name, value] : values_) {
      if (used_.count(name) == 0) {
        return Bad(0, 0, "", fmt::format("there is no placeholder for the value '{}'", name));
      }
    }
    return result;
  }

 private:
  Result<std::string> Fill(const std::string& line, int number) {
    std::string result;
    for (size_t at = 0;;) {
      const size_t open = line.find("{{", at);
      result += line.substr(at, open == std::string::npos ? open : open - at);
      if (open == std::string::npos) return result;
      const int column = static_cast<int>(open) + 1;
      const size_t close = line.find("}}", open);
      if (close == std::string::npos)
        return Bad(number, column, line, "expected '}}' in this line");
      const std::string inside = line.substr(open + 2, close - open - 2);
      const size_t bar = inside.find('|');
      const std::string name = inside.substr(0, bar);
      if (!IsName(name) || (bar != std::string::npos && !IsName(inside.substr(bar + 1)))) {
        return Bad(number, column, line, "expected {{name}} or {{name|language}}");
      }
      const auto found = values_.find(name);
      if (found == values_.end()) {
        return Bad(number, column, line, fmt::format("there is no value for '{}'", name));
      }
      used_.insert(name);
      result +=
          bar == std::string::npos ? found->second : Fenced(found->second, inside.substr(bar + 1));
      at = close + 2;
    }
  }

  Error Bad(int line, int column, const std::string& source, std::string message) const {
    return Error(ErrorKind::kInvalidInput, Diagnostic{.where = {file_, line, column},
                                                      .message = std::move(message),
                                                      .source_line = source});
  }

  const std::string& text_;
  const std::string& file_;
  const PromptValues& values_;
  std::set<std::string> used_;
};

}  // namespace

std::string Fenced(const std::string& text, const std::string& language) {
  // Models read what people do not see.
  const std::string value = CleanForeignText(text, kMostFencedBytes);
  size_t longest = 0, run = 0;
  for (const char c : value) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<size_t>(3, longest + 1), '`');
  return fence + language + "\n" + value + (value.ends_with('\n') ? "" : "\n") + fence;
}

Result<Conversation> RenderPrompt(const std::string& text, const std::string& file,
                                  const PromptValues& values) {
  return Renderer(text, file, values).Run();
}

Result<Conversation> Prompts::Render(const std::string& name, const PromptValues& values) const {
  const std::filesystem::path path = folder_ / (name + ".md");
  KS_TRY(const std::string text, files_.Read(path));
  return RenderPrompt(text, path.string(), values);
}

}  // namespace kernelsmith::llm
