#include <fmt/format.h>

#include "tasks/hash.h"
#include "verify/device_code.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// The compiler's own words, with their lines. A candidate that is no CUDA is wrong; one that uses
// an API we lack may be right; a missing compiler or file is nobody's fault but the caller's.
Status Failed(Verification& verification, const Error& error) {
  const Diagnostic& first = error.diagnostics().front();
  const bool placed = !first.where.file.empty();
  if (error.kind() == ErrorKind::kInvalidInput && placed) {
    for (const Diagnostic& each : error.diagnostics()) {
      verification.Add(
          VerdictKind::kRefuted,
          {.kind = FindingKind::kCompileError, .message = each.message, .where = each.where});
    }
    return {};
  }
  if (error.kind() == ErrorKind::kUnsupported) {
    verification.Add(
        VerdictKind::kUnsupported,
        {.kind = FindingKind::kUnsupported, .message = first.message, .where = first.where});
    return {};
  }
  return error;
}

}  // namespace

Status CompileStage(Verification& verification) {
  Result<CompiledCandidate> compiled =
      verification.tools.compiler.Compile(verification.candidate, verification.options.compile);
  if (!compiled.ok()) return Failed(verification, compiled.error());
  verification.compiled = *std::move(compiled);
  verification.verdict.candidate_hash = Sha256(verification.compiled.text);
  verification.note = verification.compiled.cached ? "compiled before" : "";
  return {};
}

}  // namespace kernelsmith
