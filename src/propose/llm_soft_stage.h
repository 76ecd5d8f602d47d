// Language models' opinion as a stage of the cascade: saves the exact stages what a model sees at
// once. It only ever rejects; nothing is verified by it.
#pragma once

#include <string>

#include "evolve/stage.h"
#include "llm/soft_verifier.h"

namespace kernelsmith {

struct SoftStageOptions {
  double threshold = 0.3;  // a score below it rejects
  llm::SoftOptions soft;
};

class SoftVerifierStage : public Stage {
 public:
  // All of them outlive the stage.
  SoftVerifierStage(llm::LanguageModel& model, const llm::Prompts& prompts, llm::SoftTask task,
                    SoftStageOptions options)
      : model_(model), prompts_(prompts), task_(std::move(task)), options_(std::move(options)) {}

  std::string name() const override { return "opinion"; }
  // Only candidates of models are asked about: the built-in compiler's are right by construction. A
  // server that fails or says nothing of use lets the candidate pass.
  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>& artifact,
                   const Standing& standing) override;

 private:
  llm::LanguageModel& model_;
  const llm::Prompts& prompts_;
  llm::SoftTask task_;
  SoftStageOptions options_;
};

}  // namespace kernelsmith
