#include "propose/llm_soft_stage.h"

#include <fmt/format.h>

#include "propose/llm_proposer.h"

namespace kernelsmith {

StageOutcome SoftVerifierStage::Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>&,
                                    const Standing&) {
  if (candidate.proposer != LlmProposer::kName) return StageOutcome::Pass();
  const Result<llm::SoftVerdict> verdict =
      llm::AskSoftVerifiers(model_, prompts_, task_, candidate.source, options_.soft);
  if (!verdict.ok()) return StageOutcome::Pass();
  candidate.tokens_in += verdict->input_tokens;
  candidate.tokens_out += verdict->output_tokens;
  candidate.dollars += verdict->cost.value_or(0);
  const llm::SoftOpinion* worst = nullptr;
  for (const llm::SoftOpinion& each : verdict->opinions) {
    if (each.score && (worst == nullptr || *each.score < *worst->score)) worst = &each;
  }
  if (!verdict->score || *verdict->score >= options_.threshold) return StageOutcome::Pass();
  return StageOutcome::Reject("rejected", fmt::format("a model doubts its {} (score {:.2f}): {}",
                                                      worst->aspect, *worst->score, worst->reason));
}

}  // namespace kernelsmith
