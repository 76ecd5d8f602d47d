#include <fmt/format.h>

#include "compile/source_style.h"
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
  // Another branch is another kernel, and whether there is one only a compiler for it knows.
  if (BlankComments(compiled.text).find("__CUDA_ARCH__") != std::string::npos) {
    stage.Note({.kind = FindingKind::kOtherArchitectures,
                .message = fmt::format("the source asks for __CUDA_ARCH__: what was judged is "
                                       "compiled for compute capability {}; --gpu judges another",
                                       verification.verdict.architecture)});
  }
  stage.note = compiled.cached ? "compiled before" : "";
  return stage;
}

}  // namespace kernelsmith
