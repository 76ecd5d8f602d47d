// Names to declarations: fills in every Symbol of the tree.
#pragma once

#include "ptx/reporter.h"
#include "ptx/syntax.h"

namespace kernelsmith::ptx {

// Reports undeclared and doubly declared names.
void ResolveNames(Module* module, Reporter* reporter);

}  // namespace kernelsmith::ptx
