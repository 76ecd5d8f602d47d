#include "verify/stages.h"

namespace kernelsmith {

Status CheckersStage(Verification& verification) {
  verification.skipped = true;
  verification.note = "not in this version";
  return {};
}

}  // namespace kernelsmith
