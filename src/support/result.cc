#include "support/result.h"

namespace kernelsmith {

std::string Error::Format(bool color) const {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics_) {
    if (!text.empty()) text += '\n';
    text += FormatDiagnostic(diagnostic, color);
  }
  return text;
}

}  // namespace kernelsmith
