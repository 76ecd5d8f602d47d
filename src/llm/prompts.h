// Prompts are files, prompts/NAME.md, so that whoever has another idea changes a text and no code.
//
// A line "--- system" or "--- user" begins a message. {{name}} stands for a value, {{name|cuda}}
// for the value as a fenced block of that language; the fence is longer than any inside, so that a
// value can't end it. Values are put in once: what looks like a placeholder in one stays as it is.
// A placeholder without value, or a value without placeholder, is an error.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "llm/llm.h"
#include "support/file_system.h"

namespace kernelsmith::llm {

// What is longer is cut: no kernel is.
inline constexpr size_t kMostFencedBytes = 256 * 1024;

// `text` as a fenced block that it can't end itself, without what its reader can't see
// (support/foreign_text.h).
std::string Fenced(const std::string& text, const std::string& language);

using PromptValues = std::map<std::string, std::string>;

class Prompts {
 public:
  Prompts(const FileSystem& files, std::filesystem::path folder)
      : files_(files), folder_(std::move(folder)) {}

  Result<Conversation> Render(const std::string& name, const PromptValues& values) const;

 private:
  const FileSystem& files_;
  std::filesystem::path folder_;
};

// The same for a text; `file` is for diagnostics.
Result<Conversation> RenderPrompt(const std::string& text, const std::string& file,
                                  const PromptValues& values);

}  // namespace kernelsmith::llm
