// Other forms of the same call. Inside of src/verify only.
#pragma once

#include "plan/plan.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {

// Strides of a view of this shape whose last axis is not the one that lies close together: that of
// a transposed tensor, or every second element of one with a single axis.
Shape TransposedStrides(const Shape& shape);

// Strides of a part of a tensor with longer rows; every second element where there are no rows.
Shape PaddedStrides(const Shape& shape);

// Takes the plan of a call with another stream than the default one (TraceOptions::other_stream)
// and numbers its streams anew, so that 0 is the caller's; the default stream, which the caller's
// does not wait for, becomes one of the others. False: the plan does not say which is which.
bool CallerOnDefaultStream(Plan& plan);

}  // namespace kernelsmith
