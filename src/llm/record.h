// Conversations kept in a file, so that a run can be repeated without its model. One line a
// question: {"request": hash, "conversation": [...], "answer": {...}}. Keys are never in it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "llm/llm.h"
#include "support/file_system.h"

namespace kernelsmith::llm {

// What makes two questions the same: the words, the limit and the temperature. The model's name is
// no part of it: a recording stands for whatever model was asked.
std::string RequestHash(const Conversation& conversation, const AskOptions& options);

class RecordingModel : public LanguageModel {
 public:
  RecordingModel(std::unique_ptr<LanguageModel> model, std::filesystem::path file)
      : model_(std::move(model)), file_(std::move(file)) {}

  // An answer that can't be written down is an error: the run could not be repeated.
  Result<Answer> Ask(const Conversation& conversation, const AskOptions& options) override;
  std::string Describe() const override { return model_->Describe(); }

 private:
  std::unique_ptr<LanguageModel> model_;
  std::filesystem::path file_;
};

// Answers from a recording. A question that was asked several times has its answers in their order;
// one that is not there, or once too often, is an error.
class ReplayModel : public LanguageModel {
 public:
  static Result<std::unique_ptr<LanguageModel>> Open(const FileSystem& files,
                                                     const std::filesystem::path& file);

  Result<Answer> Ask(const Conversation& conversation, const AskOptions& options) override;
  std::string Describe() const override { return "replay of " + file_.string(); }

 private:
  struct Recorded {
    std::vector<Answer> answers;
    size_t next = 0;
  };
  std::filesystem::path file_;
  std::mutex mutex_;
  std::map<std::string, Recorded> recorded_;
};

}  // namespace kernelsmith::llm
