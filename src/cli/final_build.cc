#include "cli/final_build.h"

#include <fmt/format.h>

#include "cli/judge_tools.h"
#include "support/finding_kind.h"

namespace kernelsmith {

void AddFinalBuild(CLI::App& command, std::optional<bool>& choice) {
  // Not add_flag: it would take the optional for a counter and make it 0, which says no.
  command.add_flag_function(
      "--final,!--no-final", [&choice](int64_t count) { choice = count > 0; },
      "Build the winner with PyTorch's own headers, too, and compare its kernels; "
      "takes a minute or two. By default this is done if a model or a given file "
      "wrote it");
}

Result<RealComparison> FinalBuild(Session& session, const std::filesystem::path& candidate) {
  CandidateCompiler compiler = MakeCompiler(session);
  const CompileOptions options;
  KS_TRY(const CompiledCandidate compiled, compiler.Compile(candidate, options));
  return compiler.CompareWithRealHeaders(compiled, options);
}

std::string ToText(const RealComparison& comparison) {
  if (!comparison.not_compared.empty()) {
    return fmt::format("not compared with PyTorch's headers: {}\n", comparison.not_compared);
  }
  if (comparison.differences.empty()) return "built with PyTorch's headers: the same kernels\n";
  std::string text;
  for (const std::string& difference : comparison.differences) {
    text += fmt::format("{}: {}\n", Name(FindingKind::kOtherProgram), difference);
  }
  return text;
}

nlohmann::json ToJson(const RealComparison& comparison) {
  if (!comparison.not_compared.empty()) return {{"not_compared", comparison.not_compared}};
  nlohmann::json findings = nlohmann::json::array();
  for (const std::string& difference : comparison.differences) {
    findings.push_back({{"kind", Name(FindingKind::kOtherProgram)}, {"message", difference}});
  }
  return {{"findings", std::move(findings)}};
}

}  // namespace kernelsmith
