// The stages of a verification, from cheap to expensive, each one function in its own file. A stage
// returns what it found; the first finding that decides ends the cascade. An error means that the
// question could not be asked.
#pragma once

#include "verify/verification.h"

namespace kernelsmith {

// stage_compile.cc: does it compile, and what does its device code use?
Result<StageResult> CompileStage(Verification& verification);
// stage_plan.cc: what does the host code do at the quick shape; may it (policies, aliases)?
Result<StageResult> PlanStage(Verification& verification);
// What a plan uses (kernels, libraries, streams), into the verdict; other shapes may take other
// ways.
void NotePlan(Verification& verification, const Plan& plan, StageResult& stage);
// Whether the results of a plan have memory of their own.
void CheckOutputs(const Plan& plan, StageResult& stage);
// stage_checkers.cc: a run at the quick shape under all checkers.
Result<StageResult> CheckersStage(Verification& verification);
// stage_numbers.cc: the task's own inputs and structured ones, at quick and hidden shapes.
Result<StageResult> NumbersStage(Verification& verification);
// stage_drawn.cc: sizes and scalars that the task does not list, and configurations that no stage
// has seen.
Result<StageResult> DrawnStage(Verification& verification);
// stage_assemble.cc: whether NVIDIA's assembler takes the code and a block gets its registers.
Result<StageResult> AssembleStage(Verification& verification);
// stage_earlier_calls.cc: does anything of an earlier call show in a later one?
Result<StageResult> EarlierCallsStage(Verification& verification);
// stage_calls.cc: are the first call, later ones and those after other shapes right, too?
Result<StageResult> CallsStage(Verification& verification);
// stage_state.cc: does what kernels leave in device memory make a later call wrong?
Result<StageResult> StateStage(Verification& verification);
// stage_algebra.cc: the same as real algebra, apart from rounding?
Result<StageResult> AlgebraStage(Verification& verification);
// stage_dependence.cc: does every input matter as it must, and every kernel?
Result<StageResult> DependenceStage(Verification& verification);
// stage_layouts.cc: the same bits wherever tensors lie?
Result<StageResult> LayoutsStage(Verification& verification);
// stage_domain.cc: does it hold for views, unaligned inputs, numbers that are not finite, and other
// streams, too?
Result<StageResult> DomainStage(Verification& verification);
// stage_determinism.cc: the same bits under other schedules and other garbage in fresh memory?
Result<StageResult> DeterminismStage(Verification& verification);
// stage_timing.cc: the shapes that are timed.
Result<StageResult> TimingStage(Verification& verification);
// stage_coverage.cc: was all that runs anywhere under the checkers?
Result<StageResult> CoverageStage(Verification& verification);
// stage_sizes.cc: what holds at sizes that never ran?
Result<StageResult> SizesStage(Verification& verification);

}  // namespace kernelsmith
