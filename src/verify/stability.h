// A kernel that is right on the task's inputs and wrong on harsh ones: does it round badly there,
// or does it compute something else?
#pragma once

#include "field/symbolic.h"
#include "tensor/tensor.h"
#include "verify/verification.h"
#include "vgpu/observer.h"

namespace kernelsmith {

// Hears of arithmetic whose result is no finite number: what comes after an overflow is not what
// the error bounds speak of.
class OverflowObserver final : public vgpu::Observer {
 public:
  uint32_t interests() const override { return vgpu::interest::kInstructions; }
  void AfterInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;

  bool overflowed = false;
};

// True if an element is off by more than a thousandth and by more than its own error bound (the
// symbolic value's m, in units of `eps`) explains.
bool BeyondRounding(const ExpectedOutput& wanted, const Tensor<Symbolic>& got, double eps);

// True if the kernel's own rounding can't explain what it gives on `sample`: every operation was
// followed with the scale of its rounding error, all of them stayed finite, and a result is further
// off than that allows. False: rounding or overflow may explain it, or it can't be told.
Result<bool> ComputesSomethingElse(const Verification& verification, const TracedShape& traced,
                                   const Case& sample);

}  // namespace kernelsmith
