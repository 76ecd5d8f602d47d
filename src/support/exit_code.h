// The exit codes of `kernelsmith`, the same for every command. README.md lists them.
#pragma once

#include "support/result.h"

namespace kernelsmith {

enum ExitCode : int {
  kExitOk = 0,            // verified, or the command did what it was asked
  kExitRefuted = 1,       // a candidate or program was shown to be wrong
  kExitUsage = 2,         // bad option, unreadable or malformed input
  kExitInconclusive = 3,  // inconclusive, unsupported, a missing tool, a limit reached
  kExitInternal = 4,      // a bug of ours, or the system failed us
};

inline ExitCode ExitCodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidInput:
      return kExitUsage;
    case ErrorKind::kUnsupported:
    case ErrorKind::kMissingTool:
    case ErrorKind::kTimeout:
      return kExitInconclusive;
    case ErrorKind::kInternal:
      return kExitInternal;
  }
  return kExitInternal;
}

}  // namespace kernelsmith
