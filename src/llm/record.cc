#include "llm/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "support/hash.h"

namespace kernelsmith::llm {
namespace {

using nlohmann::json;

json ToJson(const Conversation& conversation) {
  json result = json::array();
  for (const Message& each : conversation) {
    result.push_back({{"role", Name(each.role)}, {"text", each.text}});
  }
  return result;
}

std::string Dump(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

json ToJson(const Answer& answer) {
  json result = {{"text", answer.text},
                 {"input_tokens", answer.input_tokens},
                 {"output_tokens", answer.output_tokens},
                 {"tokens_estimated", answer.tokens_estimated},
                 {"stop_reason", Name(answer.stop_reason)},
                 {"attempts", answer.attempts}};
  if (answer.cost) result["cost"] = *answer.cost;
  return result;
}

// Throws json::exception where the document is of another form.
Answer AnswerOf(const json& document) {
  Answer answer{.text = document.at("text").get<std::string>(),
                .input_tokens = document.at("input_tokens").get<int64_t>(),
                .output_tokens = document.at("output_tokens").get<int64_t>(),
                .tokens_estimated = document.at("tokens_estimated").get<bool>()};
  answer.stop_reason =
      StopReasonOf(document.at("stop_reason").get<std::string>()).value_or(StopReason::kOther);
  answer.attempts = document.at("attempts").get<int>();
  if (document.contains("cost")) answer.cost = document.at("cost").get<double>();
  return answer;
}

// One write of a whole line at the end of the file: several processes may record into one file, and
// one that is killed leaves at most its own last line broken.
Status AppendLine(const std::filesystem::path& file, const std::string& line) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return InvalidInput(fmt::format("can't write {}: {}", file.string(), std::strerror(errno)));
  }
  const ssize_t written = write(descriptor, line.data(), line.size());
  const int error = errno;
  close(descriptor);
  if (written == static_cast<ssize_t>(line.size())) return {};
  return InvalidInput(fmt::format("can't write {}: {}", file.string(),
                                  written < 0 ? std::strerror(error) : "the disk is full"));
}

}  // namespace

std::string RequestHash(const Conversation& conversation, const AskOptions& options) {
  json document = {{"conversation", ToJson(conversation)},
                   {"max_output_tokens", options.max_output_tokens}};
  if (options.temperature) document["temperature"] = *options.temperature;
  return Sha256(Dump(document)).substr(0, 32);
}

Result<Answer> RecordingModel::Ask(const Conversation& conversation, const AskOptions& options) {
  KS_TRY(Answer answer, model_->Ask(conversation, options));
  const json line = {{"request", RequestHash(conversation, options)},
                     {"conversation", ToJson(conversation)},
                     {"answer", ToJson(answer)}};
  KS_RETURN_IF_ERROR(AppendLine(file_, Dump(line) + "\n"));
  return answer;
}

Result<std::unique_ptr<LanguageModel>> ReplayModel::Open(const FileSystem& files,
                                                         const std::filesystem::path& file) {
  KS_TRY(const std::string text, files.Read(file));
  auto model = std::make_unique<ReplayModel>();
  model->file_ = file;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    ++number;
    const size_t end = text.find('\n', at);
    // A last line without its end comes from a run that was killed.
    if (end == std::string::npos) break;
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    try {
      const json document = json::parse(line);
      model->recorded_[document.at("request").get<std::string>()].answers.push_back(
          AnswerOf(document.at("answer")));
    } catch (const json::exception&) {
      return Error(ErrorKind::kInvalidInput,
                   Diagnostic{.where = {file.string(), number, 1},
                              .message = "expected a recorded question and answer as JSON"});
    }
  }
  return std::unique_ptr<LanguageModel>(std::move(model));
}

Result<Answer> ReplayModel::Ask(const Conversation& conversation, const AskOptions& options) {
  if (options.stop.stop_requested()) return TimedOut("cancelled");
  const std::string hash = RequestHash(conversation, options);
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    const auto found = recorded_.find(hash);
    if (found == recorded_.end()) {
      return InvalidInput(fmt::format("{} has no answer to question {}", file_.string(), hash));
    }
    Recorded& recorded = found->second;
    if (recorded.next == recorded.answers.size()) {
      return InvalidInput(fmt::format("{} has {} answers to question {}, and it is asked once more",
                                      file_.string(), recorded.answers.size(), hash));
    }
    answer = recorded.answers[recorded.next++];
  }
  if (options.on_text && !answer.text.empty()) options.on_text(answer.text, false);
  return answer;
}

}  // namespace kernelsmith::llm
