#include "propose/llm_proposer.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/plan_estimate.h"
#include "propose/llm_task.h"

namespace kernelsmith {
namespace {

std::vector<std::string> Draw(std::vector<std::string> all, int count, Rng& rng) {
  std::vector<std::string> drawn;
  while (!all.empty() && std::ssize(drawn) < count) {
    const auto at = static_cast<ptrdiff_t>(rng.Below(all.size()));
    drawn.push_back(all[static_cast<size_t>(at)]);
    all.erase(all.begin() + at);
  }
  return drawn;
}

}  // namespace

Result<llm::Conversation> LlmProposer::Question(const ProposalRequest& request, Rng& rng,
                                                std::string* note) const {
  if (request.parents.empty()) {
    for (size_t i = request.failures.size(); i-- > 0;) {
      const ArchivedCandidate& failure = *request.failures[i];
      if (failure.source.empty()) continue;
      const Feedback feedback = FeedbackOf(failure.findings, failure.stage, failure.reason);
      *note = fmt::format("repair of candidate {}", failure.number.value_or(failure.id));
      return llm::RepairPrompt(prompts_, task_, failure.source, feedback.complaints,
                               feedback.counterexample);
    }
    *note = "translation";
    return llm::TranslatePrompt(prompts_, task_);
  }
  std::vector<llm::Parent> parents;
  for (const ArchivedCandidate* each : request.parents) {
    parents.push_back({.code = each->source,
                       .microseconds = each->time_ns.value_or(0) / 1e3,
                       .measure = fmt::format("{} for {}", each->time_kind, each->gpu),
                       .limiter = StepsText(each->limits)});
  }
  std::vector<std::string> failures;
  for (const ArchivedCandidate* each : request.failures) {
    failures.push_back(
        fmt::format("{}: {} at {}: {}", each->note, each->verdict, each->stage, each->reason));
  }
  const std::vector<std::string> hints = Draw(StrategyHints(), options_.hints, rng);
  *note = "faster than its parents";
  return llm::OptimisePrompt(prompts_, task_, std::move(parents), hints, LimitsOf(gpu_), failures);
}

Result<Proposal> LlmProposer::Propose(const ProposalRequest& request, Rng& rng) {
  Proposal proposal;
  KS_TRY(const llm::Conversation question, Question(request, rng, &proposal.note));
  KS_TRY(FileAnswer answer, AskForFile(model_, prompts_, question, task_.function, options_.ask,
                                       options_.questions, counts_));
  proposal.genes = {{"model", model_.Describe()},
                    {"answer", llm::Name(answer.extracted.outcome)},
                    {"questions", answer.questions}};
  proposal.source = std::move(answer.extracted.code);
  if (proposal.source.empty()) {
    proposal.note = fmt::format("{} ({})", Problem(answer.extracted.outcome, task_.function),
                                llm::Name(answer.extracted.outcome));
  }
  proposal.prompt = std::move(answer.prompt);
  proposal.answer = std::move(answer.answer);
  proposal.tokens_in = answer.tokens_in;
  proposal.tokens_out = answer.tokens_out;
  proposal.dollars = answer.cost;
  return proposal;
}

}  // namespace kernelsmith
