// PTX is not yet what a GPU runs. The assembler knows limits that no run on the virtual GPU meets:
// static shared memory, constant memory, and how many registers a thread gets.
#include <fmt/format.h>

#include "support/demangle.h"
#include "verify/stages.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
Result<StageResult> AssembleStage(Verification& verification) {
  const counters::PtxasAnswer& answer = verification.candidate.Assembled();
  StageResult stage;
  if (!answer.refusal.empty()) {
    stage.Add(VerdictKind::kRefuted,
              {.kind = FindingKind::kCompileError,
               .message = "ptxas refuses the device code: " + answer.refusal});
    return stage;
  }
  if (answer.kernels.empty()) return StageResult::Skipped("no ptxas, or no kernel");
  for (const auto& traced : verification.shapes) {
    if (traced == nullptr) continue;
    for (const PlanStep& step : traced->plan().steps) {
      const auto* launch = std::get_if<LaunchStep>(&step.action);
      if (launch == nullptr) continue;
      const auto known = answer.kernels.find(launch->kernel);
      if (known == answer.kernels.end()) continue;
      const int64_t needed =
          RegistersOfBlock(static_cast<int64_t>(launch->block.Count()), known->second.registers);
      if (needed <= GpuModel::kRegistersPerBlock) continue;
      stage.Add(
          VerdictKind::kRefuted,
          {.kind = FindingKind::kLaunchError,
           .message = fmt::format(
               "a thread of {} has {} registers (ptxas), so its blocks need {}, and a GPU has "
               "{} for a block: the launch fails with \"too many resources requested\"",
               KernelName(launch->kernel), known->second.registers, needed,
               GpuModel::kRegistersPerBlock)});
      return stage;
    }
  }
  stage.note = fmt::format("{} kernels by ptxas", answer.kernels.size());
  return stage;
}

}  // namespace kernelsmith
