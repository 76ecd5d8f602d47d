// Processor time, which other work on the machine does not change.
#pragma once

namespace kernelsmith {

// Of this process, of its children that live and of those that it has waited for, so far, in
// seconds.
double ProcessorSeconds();

}  // namespace kernelsmith
