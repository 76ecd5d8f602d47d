#include "propose/llm_translate.h"

#include <algorithm>
#include <tuple>

#include "propose/llm_task.h"

namespace kernelsmith {
namespace {

// How far a candidate came. One that could not be judged to the end may be right; one that was
// refuted is not.
std::tuple<int, int64_t> Progress(const Verdict& verdict) {
  const int kind = verdict.kind == VerdictKind::kVerified  ? 2
                   : verdict.kind == VerdictKind::kRefuted ? 0
                                                           : 1;
  const auto passed =
      std::count_if(verdict.stages.begin(), verdict.stages.end(),
                    [](const StageReport& each) { return each.outcome == "passed"; });
  return {kind, passed};
}

}  // namespace

Result<TranslateAgentReport> TranslateWithModel(
    llm::LanguageModel& model, const llm::Prompts& prompts, const llm::KernelTask& task,
    const JudgeSource& judge, const TranslateAgentOptions& options,
    const std::function<void(const TranslateAttempt&)>& watch) {
  TranslateAgentReport report;
  AnswerCounts counts;
  KS_TRY(llm::Conversation conversation, llm::TranslatePrompt(prompts, task));
  report.ended_by = "attempts";
  while (std::ssize(report.attempts) < options.attempts) {
    Result<FileAnswer> answer = AskForFile(model, prompts, conversation, task.function, options.ask,
                                           options.questions, counts);
    if (!answer.ok()) {
      if (report.attempts.empty()) return answer.error();
      report.ended_by = answer.error().message();
      break;
    }
    report.tokens_in += answer->tokens_in;
    report.tokens_out += answer->tokens_out;
    report.cost += answer->cost;
    TranslateAttempt& attempt = report.attempts.emplace_back();
    attempt.answer = *std::move(answer);
    attempt.source = attempt.answer.extracted.code;
    if (!attempt.source.empty()) {
      // A model that repeats itself is told the same again; the judge need not work twice.
      for (const TranslateAttempt& each : report.attempts) {
        if (each.verdict && each.source == attempt.source) attempt.verdict = each.verdict;
      }
      if (!attempt.verdict) {
        KS_TRY(attempt.verdict, judge(attempt.source));
      }
      const int number = static_cast<int>(report.attempts.size()) - 1;
      if (report.best < 0 ||
          Progress(*attempt.verdict) >
              Progress(*report.attempts[static_cast<size_t>(report.best)].verdict)) {
        report.best = number;
      }
    }
    if (watch) watch(attempt);
    if (report.verified()) {
      report.ended_by = "verified";
      break;
    }
    if (attempt.verdict) {
      const Feedback feedback = FeedbackOf(*attempt.verdict);
      KS_TRY(conversation, llm::RepairPrompt(prompts, task, attempt.source, feedback.complaints,
                                             feedback.counterexample));
    }
  }
  report.answers = counts.tally();
  return report;
}

}  // namespace kernelsmith
