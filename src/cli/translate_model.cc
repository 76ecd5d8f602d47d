#include "cli/translate_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <stop_token>
#include <thread>

#include "archive/archive.h"
#include "cli/final_build.h"
#include "cli/interrupt.h"
#include "cli/judge_tools.h"
#include "propose/llm_task.h"
#include "propose/llm_translate.h"
#include "translate/translate.h"
#include "verify/verify.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void CollectTensors(const TaskArgument& argument, std::vector<std::string>& names) {
  if (argument.kind == TaskArgument::Kind::kTensor) names.push_back(argument.text);
  for (const TaskArgument& item : argument.items) CollectTensors(item, names);
}

// All that module.py needs of a model: names.
Result<codegen::Model> NamesOf(TaskStore& store, const Task& task, TaskDirection direction,
                               const std::string& dtype) {
  const TaskConfiguration* configuration = task.Find(direction, "quick");
  if (configuration == nullptr) return InvalidInput("no configuration");
  KS_TRY(const TaskGraph graph,
         store.Export(task,
                      {.direction = direction, .configuration = *configuration, .dtype = dtype}));
  codegen::Model model;
  model.signature.function = Name(direction);
  model.signature.results = graph.results;
  for (const TaskArgument& each : graph.arguments) {
    codegen::HostArgument argument{.name = each.name};
    CollectTensors(each, argument.tensors);
    model.signature.arguments.push_back(std::move(argument));
  }
  return model;
}

// The verdict as comments on top of a file that must not be taken for a right one.
std::string Marked(const std::string& source, const Verdict& verdict,
                   const std::optional<RealComparison>& real, const std::string& model) {
  Verdict named = verdict;
  named.candidate = "this file";
  std::istringstream lines(ToText(named, false) + (real ? ToText(*real) : ""));
  std::string text =
      fmt::format("// NOT VERIFIED. The best that {} came to:\n", EscapeForTerminal(model));
  for (std::string line; std::getline(lines, line);) {
    text += "// " + EscapeForTerminal(line) + "\n";
  }
  return text + "\n" + source;
}

ArchivedCandidate Archived(const TranslateAttempt& attempt, const llm::KernelTask& task,
                           const std::string& dtype, const std::string& model) {
  ArchivedCandidate candidate;
  candidate.task = task.name;
  candidate.direction = task.direction;
  candidate.dtype = dtype;
  candidate.proposer = "llm";
  candidate.note = "translation";
  candidate.genes = {{"model", model}, {"answer", llm::Name(attempt.answer.extracted.outcome)}};
  candidate.source = attempt.source;
  candidate.verdict = attempt.verdict_word();
  candidate.prompt = attempt.answer.prompt;
  candidate.answer = attempt.answer.answer;
  candidate.tokens_in = attempt.answer.tokens_in;
  candidate.tokens_out = attempt.answer.tokens_out;
  candidate.dollars = attempt.answer.cost;
  if (!attempt.verdict) {
    candidate.stage = "propose";
    candidate.reason = Problem(attempt.answer.extracted.outcome, task.function);
    return candidate;
  }
  candidate.seconds = attempt.verdict->seconds;
  candidate.findings = ToJson(*attempt.verdict)["findings"];
  if (const Finding* finding = attempt.verdict->Deciding()) {
    candidate.stage = finding->stage;
    candidate.reason = fmt::format("{}: {}", Name(finding->kind), finding->message);
  }
  return candidate;
}

class Command {
 public:
  Command(Session& session, const ModelTranslation& request)
      : session_(session), request_(request), tools_(session) {}

  Result<ExitCode> Run() {
    KS_TRY(opened_, OpenModel(session_, request_.flags));
    KS_TRY(const Task task, tools_.store().Load(request_.task));
    KS_TRY(const llm::KernelTask words,
           KernelTaskOf(task, request_.direction, request_.dtype, tools_.store(), session_.files));
    KS_RETURN_IF_ERROR(tools_.Start());
    if (!request_.archive.empty()) {
      KS_TRY(archive_, Archive::Open(request_.archive));
    }
    folder_ = request_.out.empty() ? fs::path(task.name + "_cuda") : fs::path(request_.out);
    KS_RETURN_IF_ERROR(session_.files.MakeDirectories(folder_));

    const Interrupt interrupt;
    std::stop_source stop;
    TranslateAgentOptions options{.attempts = request_.rounds, .ask = opened_->ask};
    options.ask.stop = stop.get_token();
    // Ctrl-C ends a question at once; a verification is waited for.
    const std::jthread watcher([&stop](const std::stop_token& end) {
      while (!end.stop_requested() && !stop.stop_requested()) {
        if (Interrupt::flag()) stop.request_stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    });
    Status archived;
    KS_TRY(const TranslateAgentReport report,
           TranslateWithModel(
               *opened_->model, *opened_->prompts, words,
               [&](const std::string& source) { return Judge(task, source); }, options,
               [&](const TranslateAttempt& attempt) {
                 Say(attempt);
                 if (archive_ && archived.ok()) {
                   const auto added = archive_->Add(
                       Archived(attempt, words, request_.dtype, opened_->model->Describe()));
                   if (!added.ok()) archived = added.error();
                 }
               }));
    KS_RETURN_IF_ERROR(archived);
    return Hand(task, report);
  }

 private:
  fs::path Place(const char* suffix) const {
    return folder_ / (std::string(Name(request_.direction)) + suffix);
  }

  Result<Verdict> Judge(const Task& task, const std::string& source) {
    KS_RETURN_IF_ERROR(session_.files.Write(Place(".not_verified.cu"), source));
    VerifyOptions verify;
    verify.direction = request_.direction;
    verify.dtype = request_.dtype;
    verify.seed = session_.Seed();
    return Verify(task, *tools_.Open(Place(".not_verified.cu")), verify, tools_.Verification());
  }

  // One line an attempt.
  void Say(const TranslateAttempt& attempt) {
    ++attempts_;
    if (session_.json) return;
    std::string why;
    if (!attempt.verdict) {
      why = Problem(attempt.answer.extracted.outcome, Name(request_.direction));
    } else if (const Finding* finding = attempt.verdict->Deciding()) {
      why = fmt::format("{}: {}", Name(finding->kind), finding->message);
    }
    session_.out << fmt::format("attempt {}: {}{}{}\n", attempts_, attempt.verdict_word(),
                                why.empty() ? "" : "  ", EscapeForTerminal(why))
                 << std::flush;
  }

  Result<ExitCode> Hand(const Task& task, const TranslateAgentReport& report) {
    const TranslateAttempt* best =
        report.best < 0 ? nullptr : &report.attempts[static_cast<size_t>(report.best)];
    fs::path file;
    std::error_code ignored;
    std::optional<RealComparison> real;
    if (report.verified() && request_.final_build) {
      KS_RETURN_IF_ERROR(session_.files.Write(Place(".not_verified.cu"), best->source));
      KS_TRY(real, FinalBuild(session_, Place(".not_verified.cu")));
    }
    // Another program with PyTorch's headers is not what was verified.
    const bool verified = report.verified() && (!real || real->differences.empty());
    if (verified) {
      file = Place(".cu");
      KS_RETURN_IF_ERROR(session_.files.Write(file, best->source));
      fs::remove(Place(".not_verified.cu"), ignored);
      KS_RETURN_IF_ERROR(WriteModule(task));
    } else if (best != nullptr) {
      file = Place(".not_verified.cu");
      KS_RETURN_IF_ERROR(session_.files.Write(
          file, Marked(best->source, *best->verdict, real, opened_->model->Describe())));
    }
    const llm::Spent spent = opened_->budget->spent();
    const bool priced = !request_.flags.prices.empty();
    if (session_.json) {
      json attempts = json::array();
      for (const TranslateAttempt& each : report.attempts) {
        attempts.push_back({{"verdict", each.verdict_word()},
                            {"answer", llm::Name(each.answer.extracted.outcome)},
                            {"questions", each.answer.questions}});
      }
      session_.PrintJson({{"task", task.name},
                          {"direction", Name(request_.direction)},
                          {"model", opened_->model->Describe()},
                          {"verified", verified},
                          {"file", file.empty() ? json(nullptr) : json(file.string())},
                          {"ended_by", report.ended_by},
                          {"attempts", std::move(attempts)},
                          {"answers", report.answers.Text()},
                          {"verdict", best == nullptr ? json(nullptr) : ToJson(*best->verdict)},
                          {"input_tokens", spent.input_tokens},
                          {"output_tokens", spent.output_tokens},
                          {"cost", priced ? json(spent.cost) : json(nullptr)},
                          {"real_headers", real ? ToJson(*real) : json(nullptr)}});
    } else {
      session_.out << fmt::format("{}: {}; answers: {}\n", opened_->model->Describe(),
                                  SpentText(spent, priced), report.answers.Text());
      if (real) session_.out << ToText(*real);
      if (verified) {
        session_.out << fmt::format("verified: {}\n", file.string());
      } else {
        session_.out << fmt::format(
            "not verified (ended by: {}){}\n", EscapeForTerminal(report.ended_by),
            best == nullptr ? "; no file came" : "; the best effort is " + file.string());
      }
    }
    if (verified) return kExitOk;
    return best != nullptr && best->verdict->kind == VerdictKind::kRefuted ? kExitRefuted
                                                                           : kExitInconclusive;
  }

  // With the other direction beside it the module has gradients.
  Status WriteModule(const Task& task) {
    const bool backward = request_.direction == TaskDirection::kBackward;
    KS_TRY(const codegen::Model own,
           NamesOf(tools_.store(), task, request_.direction, request_.dtype));
    const TaskDirection other = backward ? TaskDirection::kForward : TaskDirection::kBackward;
    std::optional<codegen::Model> partner;
    if (session_.files.Exists(folder_ / (std::string(Name(other)) + ".cu"))) {
      KS_TRY(partner, NamesOf(tools_.store(), task, other, request_.dtype));
    }
    const codegen::Model* models[] = {&own, partner ? &*partner : nullptr};
    return session_.files.Write(folder_ / "module.py", PythonModule(task, models[backward ? 1 : 0],
                                                                    models[backward ? 0 : 1]));
  }

  Session& session_;
  const ModelTranslation& request_;
  JudgeTools tools_;
  std::unique_ptr<OpenedModel> opened_;
  std::unique_ptr<Archive> archive_;
  fs::path folder_;
  int attempts_ = 0;
};

}  // namespace

Result<ExitCode> TranslateByModel(Session& session, const ModelTranslation& request) {
  return Command(session, request).Run();
}

}  // namespace kernelsmith
