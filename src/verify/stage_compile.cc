#include "support/hash.h"
#include "verify/stages.h"

namespace kernelsmith {

Result<StageResult> CompileStage(Verification& verification) {
  StageResult stage;
  KS_TRY(const std::vector<CandidateProblem> problems, verification.candidate.Compile());
  for (const CandidateProblem& problem : problems) stage.Add(problem);
  if (!problems.empty()) return stage;
  const CompiledCandidate& compiled = verification.compiled();
  verification.verdict.candidate_hash = Sha256(compiled.text);
  stage.note = compiled.cached ? "compiled before" : "";
  return stage;
}

}  // namespace kernelsmith
