// The four answers about a candidate. Everything that judges, from compiling to timing, uses these
// words.
#pragma once

#include "support/exit_code.h"

namespace kernelsmith {

enum class VerdictKind {
  kVerified,      // everything that was checked holds; the proof says what was checked
  kRefuted,       // shown to be wrong; the findings say where
  kInconclusive,  // neither could be shown; the findings say why
  kUnsupported,   // more than we can judge; never counts as a pass
};

const char* Name(VerdictKind kind);
ExitCode ExitCodeOf(VerdictKind kind);

}  // namespace kernelsmith
