// A verdict for people: the answer in the first line, the reason in the second, then what was
// shown.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "support/demangle.h"
#include "verify/tolerance.h"
#include "verify/verdict.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

std::string Place(const SourceLocation& where) {
  if (where.file.empty()) return "";
  return where.line > 0 ? fmt::format("{}:{}: ", where.file, where.line)
                        : fmt::format("{}: ", where.file);
}

std::string Text(const Finding& finding) {
  std::string text = fmt::format("{}{}: {}\n", EscapeForTerminal(Place(finding.where)),
                                 Name(finding.kind), EscapeForTerminal(finding.message));
  const auto& example = finding.counterexample;
  if (!example) return text;
  if (!example->output.empty()) {
    text += fmt::format("    {}[{}]: expected {:.9g}, got {:.9g}; {} of {} elements are wrong\n",
                        example->output, fmt::join(example->index, ", "), example->expected,
                        example->got, example->wrong, example->elements);
  }
  return text + fmt::format("    with {}, {} inputs, seed {}\n", example->configuration,
                            example->inputs, example->seed);
}

std::string Numbers(const Proof& proof) {
  std::set<std::string> configurations;
  std::set<std::string> inputs;
  uint64_t elements = 0;
  double worst = 0;
  for (const NumbersChecked& row : proof.numbers) {
    configurations.insert(row.configuration);
    inputs.insert(row.inputs);
    elements += row.elements;
    if (row.inputs == "task") worst = std::max(worst, row.worst);
  }
  return fmt::format(
      "  numbers: {} elements over {} shape{} and {} kinds of inputs, worst error {:.2g} % of "
      "what rounding explains\n",
      elements, configurations.size(), configurations.size() == 1 ? "" : "s", inputs.size(),
      100 * worst / kLimit);
}

std::string AlgebraText(const AlgebraProof& algebra) {
  if (algebra.outcome == "not run") return "  algebra: not checked\n";
  if (algebra.outcome != "equal") {
    return fmt::format("  algebra: {}: {}\n", algebra.outcome, EscapeForTerminal(algebra.reason));
  }
  return fmt::format("  algebra: equal to PyTorch's graph, {} elements, {}\n", algebra.proved,
                     algebra.bound == "heuristic" ? std::string("heuristic: no bound is proved")
                                                  : "error probability " + algebra.bound);
}

// What a verified candidate is for, where that is less than everything that callers do.
std::string Domain(const Verdict& verdict) {
  if (verdict.kind != VerdictKind::kVerified) return "";
  std::vector<std::string> limits;
  for (const DomainFacet& facet : verdict.proof.domain) {
    if (facet.Narrows()) limits.push_back(facet.limited);
  }
  return limits.empty() ? "" : fmt::format(", only for {}", fmt::join(limits, ", "));
}

// What is proved of sizes that never ran, a line for each launch.
std::string SizesText(const sizes::SizesProof& proof) {
  const std::string kernel = EscapeForTerminal(KernelName(proof.kernel));
  if (!proof.in_bounds) {
    return fmt::format("  all sizes: {}: not proved: {}\n", kernel,
                       EscapeForTerminal(proof.why_not));
  }
  std::string what = proof.shared_in_bounds ? "in bounds" : "in bounds in global memory";
  if (!proof.covered.empty()) {
    what += fmt::format(", every element of {} written once", fmt::join(proof.covered, ", "));
  }
  return fmt::format("  all sizes: {}: {}{} up to {} elements, given {}\n", kernel, what,
                     proof.domain.empty() ? "" : fmt::format(" for all {}", proof.domain),
                     proof.most, fmt::join(proof.assumptions, ", "));
}

}  // namespace

std::string ToText(const Verdict& verdict, bool color) {
  const char* tint = verdict.kind == VerdictKind::kVerified  ? "\033[1;32m"
                     : verdict.kind == VerdictKind::kRefuted ? "\033[1;31m"
                                                             : "\033[1;33m";
  std::string text = color ? fmt::format("{}{}\033[0m", tint, Name(verdict.kind))
                           : std::string(Name(verdict.kind));
  text += fmt::format("  {} as {} ({}, {}){}\n", verdict.candidate, verdict.task, verdict.direction,
                      verdict.dtype, Domain(verdict));
  for (const Finding& finding : verdict.findings) {
    if (finding.weight == Weight::kDecides) text += "  " + Text(finding);
  }
  for (const Finding& finding : verdict.findings) {
    if (finding.weight == Weight::kWarning) text += "  warning: " + Text(finding);
  }
  for (const Finding& finding : verdict.findings) {
    if (finding.weight == Weight::kNote) text += "  note: " + Text(finding);
  }
  // Arguments in another order than the task's look like every other error.
  if (verdict.kind != VerdictKind::kVerified && !verdict.call.empty()) {
    text += fmt::format("  called as {}\n", EscapeForTerminal(verdict.call));
  }
  const Proof& proof = verdict.proof;
  if (verdict.kind == VerdictKind::kVerified && !proof.numbers.empty()) {
    text += Numbers(proof);
    text += proof.checkers.empty()
                ? std::string("  memory and races: not checked\n")
                : fmt::format("  clean under: {}\n", fmt::join(proof.checkers, ", "));
    text += AlgebraText(proof.algebra);
    for (const sizes::SizesProof& each : proof.sizes) {
      if (each.launches > 1) text += SizesText(each);  // otherwise nobody asked for other sizes
    }
    if (proof.deterministic.has_value()) {
      text += *proof.deterministic ? "  deterministic" : "  not deterministic";
      if (!proof.precision.empty()) {
        text += fmt::format("; arithmetic: {}", fmt::join(proof.precision, ", "));
      }
      text += "\n";
    }
  }
  const Result<const GpuModel*> gpu = FindGpuModel(verdict.gpu);
  if (verdict.kind == VerdictKind::kVerified && !verdict.gpu.empty() && gpu.ok()) {
    text += fmt::format("  for {}, compute capability {}\n", (*gpu)->name, verdict.architecture);
  }
  if (!verdict.kernels.empty()) {
    text += fmt::format("  kernels: {}\n",
                        EscapeForTerminal(fmt::format("{}", fmt::join(verdict.kernels, ", "))));
  }
  if (!verdict.libraries.empty()) {
    text += fmt::format("  delegated to libraries: {}\n",
                        EscapeForTerminal(fmt::format("{}", fmt::join(verdict.libraries, ", "))));
  }
  if (!verdict.allowed.empty()) {
    text += fmt::format("  allowed to decide: {}\n", fmt::join(verdict.allowed, ", "));
  }
  if (verdict.kind == VerdictKind::kInconclusive || verdict.kind == VerdictKind::kUnsupported) {
    // How far it came: what was shown before counts for something.
    std::vector<std::string> passed;
    for (const StageReport& stage : verdict.stages) {
      if (stage.outcome == "passed") passed.push_back(stage.name);
    }
    if (!passed.empty()) text += fmt::format("  passed before: {}\n", fmt::join(passed, ", "));
  }
  return text + fmt::format("  {:.2f} s, seed {}\n", verdict.seconds, verdict.seed);
}

}  // namespace kernelsmith
