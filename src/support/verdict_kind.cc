#include "support/verdict_kind.h"

namespace kernelsmith {

const char* Name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kVerified:
      return "verified";
    case VerdictKind::kRefuted:
      return "refuted";
    case VerdictKind::kInconclusive:
      return "inconclusive";
    case VerdictKind::kUnsupported:
      return "unsupported";
  }
  return "inconclusive";
}

ExitCode ExitCodeOf(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kVerified:
      return kExitOk;
    case VerdictKind::kRefuted:
      return kExitRefuted;
    case VerdictKind::kInconclusive:
    case VerdictKind::kUnsupported:
      return kExitInconclusive;
  }
  return kExitInconclusive;
}

}  // namespace kernelsmith
