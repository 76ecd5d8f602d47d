// A model as a proposer of the evolution: it sees parents from slow to fast with their times and
// what limits them, some ideas, the GPU's limits, and what became of its last attempts.
#pragma once

#include <string>

#include "evolve/proposer.h"
#include "llm/agent_prompts.h"
#include "propose/llm_question.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

struct LlmProposerOptions {
  int questions = 2;  // questions for one file, where an answer holds none
  int hints = 4;      // ideas that a question has, drawn at random
  llm::AskOptions ask;
};

class LlmProposer : public Proposer {
 public:
  // All of them outlive the proposer.
  LlmProposer(llm::LanguageModel& model, const llm::Prompts& prompts, llm::KernelTask task,
              const GpuModel& gpu, LlmProposerOptions options)
      : model_(model),
        prompts_(prompts),
        task_(std::move(task)),
        gpu_(gpu),
        options_(std::move(options)) {}

  static constexpr char kName[] = "llm";
  std::string name() const override { return kName; }
  // Without parents it translates, or repairs its last failure.
  int min_parents() const override { return 0; }
  int max_parents() const override { return 2; }
  // Answers without a file are proposals without a source, so that their cost is booked.
  Result<Proposal> Propose(const ProposalRequest& request, Rng& rng) override;

  llm::ExtractionTally answers() const { return counts_.tally(); }

 private:
  Result<llm::Conversation> Question(const ProposalRequest& request, Rng& rng,
                                     std::string* note) const;

  llm::LanguageModel& model_;
  const llm::Prompts& prompts_;
  llm::KernelTask task_;
  const GpuModel& gpu_;
  LlmProposerOptions options_;
  AnswerCounts counts_;
};

}  // namespace kernelsmith
