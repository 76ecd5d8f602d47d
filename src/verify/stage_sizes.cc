// What holds at all sizes, of which only some ever run: that kernels stay in bounds and write every
// element of their results once (src/sizes). It speaks of addresses alone, so that it can neither
// verify nor refute anything; it is a part of the report.
#include <fmt/format.h>

#include "compile/source_style.h"
#include "sizes/parameter_names.h"
#include "sizes/sizes.h"
#include "support/demangle.h"
#include "verify/stages.h"

namespace kernelsmith {

Result<StageResult> SizesStage(Verification& verification) {
  sizes::SizesQuestion question{.ptx = verification.compiled().ptx,
                                .name = verification.candidate.path().filename().string()};
  for (const auto& each : verification.shapes) {
    if (each != nullptr) question.plans.push_back(&each->plan());
  }
  for (const auto& each : verification.drawn) {
    if (each != nullptr) question.plans.push_back(&each->plan());
  }
  if (const Result<std::string> source =
          verification.tools.files.Read(verification.candidate.path());
      source.ok()) {
    const auto names = sizes::ParameterNames(BlankComments(*source));
    for (const Plan* plan : question.plans) {
      for (const std::string& kernel : KernelsOf(*plan)) {
        const auto known = names.find(sizes::PlainName(KernelName(kernel)));
        if (known != names.end()) question.parameter_names[kernel] = known->second;
      }
    }
  }
  Result<std::vector<sizes::SizesProof>> proofs = sizes::ProveAllSizes(question);
  if (!proofs.ok()) return StageResult::Skipped(proofs.error().message());
  if (proofs->empty()) return StageResult::Skipped("it launches no kernel");
  StageResult stage;
  size_t in_bounds = 0;
  for (const sizes::SizesProof& proof : *proofs) in_bounds += proof.in_bounds ? 1 : 0;
  stage.note =
      fmt::format("{} of {} launches are in bounds at all sizes", in_bounds, proofs->size());
  verification.verdict.proof.sizes = *std::move(proofs);
  return stage;
}

}  // namespace kernelsmith
