#include "tasks/worker.h"

#include <fmt/format.h>

#include "support/json.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// PyTorch's import on a busy machine; a worker that takes longer is broken.
constexpr std::chrono::seconds kStartTimeout{180};
// The worker itself ends a request in time; this is for a worker that hangs.
constexpr std::chrono::seconds kGrace{20};

ErrorKind KindOf(const std::string& name) {
  if (name == "unsupported") return ErrorKind::kUnsupported;
  if (name == "missing_tool") return ErrorKind::kMissingTool;
  if (name == "timeout") return ErrorKind::kTimeout;
  if (name == "internal") return ErrorKind::kInternal;
  return ErrorKind::kInvalidInput;
}

std::string LastLines(const std::string& text, size_t count) {
  size_t start = text.size();
  while (start > 0 && count > 0) {
    const size_t line_end = text.rfind('\n', start - 1);
    if (line_end == std::string::npos) return text;
    if (line_end + 1 < text.size() || start < text.size()) --count;
    start = line_end;
  }
  return text.substr(start == 0 ? 0 : start + 1);
}

Error ErrorOf(const json& error) {
  std::vector<Diagnostic> diagnostics;
  diagnostics.push_back(
      {.where = {error.value("file", ""), error.value("line", 0), error.value("column", 0)},
       .message = error.value("message", "the task failed")});
  std::string output = error.value("output", "");
  while (!output.empty() && (output.back() == '\n' || output.back() == ' ')) output.pop_back();
  if (!output.empty()) {
    diagnostics.push_back({.severity = Severity::kNote,
                           .message = "the task's output ends with: " + LastLines(output, 3)});
  }
  return Error(KindOf(error.value("kind", "")), std::move(diagnostics));
}

}  // namespace

Status TaskWorker::Start() {
  if (options_.python.empty()) {
    return MissingTool("PyTorch tasks need a Python with torch; `kernelsmith doctor` says more");
  }
  ProcessRequest request;
  request.argv = {options_.python.string(), "-m", "kernelsmith_bridge"};
  request.env["PYTHONPATH"] = options_.bridge.string();
  request.env["PYTHONDONTWRITEBYTECODE"] = "1";
  // The same hash order in every run: a task may iterate over a set.
  request.env["PYTHONHASHSEED"] = "0";
  // No GPU is used, and looking for one takes time.
  request.env["CUDA_VISIBLE_DEVICES"] = "";
  KS_TRY(process_, LineWorker::Start(request));
  ++starts_;
  const Result<std::string> hello = process_->Ask(R"({"op":"versions"})", kStartTimeout);
  if (!hello.ok()) {
    std::string reason = process_->error_output();
    while (!reason.empty() && reason.back() == '\n') reason.pop_back();
    process_.reset();
    return Error(ErrorKind::kMissingTool,
                 fmt::format("the PyTorch bridge does not start: {}",
                             reason.empty() ? hello.error().message() : LastLines(reason, 1)));
  }
  return {};
}

Result<json> TaskWorker::Ask(json request) {
  const int id = next_id_++;
  request["id"] = id;
  request["seconds"] = static_cast<double>(options_.timeout.count()) / 1000;
  request["gib"] = options_.memory_gib;
  request["threads"] = options_.threads;
  const std::string line = request.dump(-1, ' ', true, json::error_handler_t::replace);
  for (int attempt = 0;; ++attempt) {
    if (process_ == nullptr || !process_->alive()) KS_RETURN_IF_ERROR(Start());
    // The bridge itself ends what takes too long, by a clock that stands while its task has no
    // processor (worker.py: MOST_PATIENCE).
    const Result<std::string> reply = process_->Ask(line, 10 * options_.timeout + kGrace);
    if (!reply.ok()) {
      process_.reset();
      if (attempt == 0 && reply.error().kind() != ErrorKind::kTimeout) continue;
      const std::string file = request.value("path", "");
      return Error(reply.error().kind() == ErrorKind::kTimeout ? ErrorKind::kTimeout
                                                               : ErrorKind::kInvalidInput,
                   Diagnostic{.where = {file},
                              .message = "the task brought the PyTorch bridge down: " +
                                         reply.error().message()});
    }
    KS_TRY(const json answer, ParseJson(*reply, "bridge"));
    if (!answer.is_object() || answer.value("id", 0) != id) {
      process_.reset();
      return InternalError("the PyTorch bridge gave an answer to another question");
    }
    if (answer.value("ok", false) && answer.contains("result")) return answer["result"];
    const auto error = answer.find("error");
    if (error == answer.end() || !error->is_object()) {
      return InternalError("the PyTorch bridge gave an error without a reason");
    }
    return ErrorOf(*error);
  }
}

}  // namespace kernelsmith
