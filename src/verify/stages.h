// The stages of a verification, from cheap to dear, each one function in its own file. A stage adds
// what it finds to the verdict; the first finding that decides ends the cascade. An error means
// that the question could not be asked.
#pragma once

#include "verify/verification.h"

namespace kernelsmith {

// stage_compile.cc: does it compile, and what does its device code use?
Status CompileStage(Verification& verification);
// stage_plan.cc: what does the host code do at the quick shape; may it (policies, aliases)?
Status PlanStage(Verification& verification);
// What a plan uses (kernels, libraries, streams), into the verdict; other shapes may take other
// ways.
void NotePlan(Verification& verification, const Plan& plan);
// stage_checkers.cc: a run at the quick shape under all checkers.
Status CheckersStage(Verification& verification);
// stage_numbers.cc: the task's own inputs and structured ones, at quick and hidden shapes.
Status NumbersStage(Verification& verification);
// stage_carry.cc: does anything of an earlier call show in a later one?
Status CarryStage(Verification& verification);
// stage_algebra.cc: the same as real algebra, apart from rounding?
Status AlgebraStage(Verification& verification);
// stage_dependence.cc: does every input matter as it must, and every kernel?
Status DependenceStage(Verification& verification);
// stage_determinism.cc: the same bits under other schedules and other garbage in fresh memory?
Status DeterminismStage(Verification& verification);
// stage_timing.cc: the shapes that are timed.
Status TimingStage(Verification& verification);

}  // namespace kernelsmith
