#include "verify/verdict.h"

#include <cmath>

#include "support/demangle.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// JSON has no NaN and no infinity; they are written as strings, so that nothing is lost.
json Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

json ToJson(const Counterexample& example) {
  return {{"configuration", example.configuration},
          {"values", example.values},
          {"inputs", example.inputs},
          {"seed", example.seed},
          {"output", example.output},
          {"index", example.index},
          {"expected", Number(example.expected)},
          {"got", Number(example.got)},
          {"scales", Number(example.scales)},
          {"wrong", example.wrong},
          {"elements", example.elements}};
}

const char* Name(Weight weight) {
  switch (weight) {
    case Weight::kDecides:
      return "decides";
    case Weight::kWarning:
      return "warning";
    case Weight::kNote:
      return "note";
  }
  return "note";
}

json ToJson(const Finding& finding) {
  json row = {{"kind", Name(finding.kind)},
              {"message", finding.message},
              {"weight", Name(finding.weight)},
              {"stage", finding.stage}};
  if (!finding.where.file.empty()) {
    row["file"] = finding.where.file;
    if (finding.where.line > 0) row["line"] = finding.where.line;
    if (finding.where.column > 0) row["column"] = finding.where.column;
  }
  if (finding.counterexample) row["counterexample"] = ToJson(*finding.counterexample);
  return row;
}

json ToJson(const Proof& proof) {
  json domain = json::array();
  for (const DomainFacet& facet : proof.domain) {
    domain.push_back({{"name", facet.name},
                      {"outcome", Name(facet.outcome)},
                      {"limited_to", facet.Narrows() ? json(facet.limited) : json()},
                      {"why", facet.why}});
  }
  json numbers = json::array();
  for (const NumbersChecked& row : proof.numbers) {
    numbers.push_back({{"configuration", row.configuration},
                       {"inputs", row.inputs},
                       {"seed", row.seed},
                       {"output", row.output},
                       {"elements", row.elements},
                       {"worst", Number(row.worst)},
                       {"allclose", row.allclose}});
  }
  json sizes = json::array();
  for (const sizes::SizesProof& each : proof.sizes) {
    sizes.push_back({{"kernel", KernelName(each.kernel)},
                     {"launches", each.launches},
                     {"in_bounds", each.in_bounds},
                     {"shared_in_bounds", each.shared_in_bounds},
                     {"why_not", each.why_not},
                     {"elements", each.in_bounds ? json(each.most) : json()},
                     {"domain", each.domain},
                     {"assumptions", each.assumptions},
                     {"written_once", each.covered},
                     {"not_shown", each.not_covered}});
  }
  const AlgebraProof& algebra = proof.algebra;
  return {{"numbers", std::move(numbers)},
          {"outside_domain", proof.outside_domain},
          {"domain", std::move(domain)},
          {"algebra",
           {{"outcome", algebra.outcome},
            {"reason", algebra.reason},
            {"bound", algebra.bound},
            {"draws", algebra.draws},
            {"elements", algebra.elements},
            {"proved", algebra.proved},
            {"configurations", algebra.configurations},
            {"assumptions", algebra.assumptions}}},
          {"sizes", std::move(sizes)},
          {"checkers", proof.checkers},
          {"depends_on", proof.depends_on},
          {"deterministic", proof.deterministic ? json(*proof.deterministic) : json()},
          {"spread", Number(proof.spread)},
          {"precision", proof.precision}};
}

}  // namespace

const char* Name(DomainFacet::Outcome outcome) {
  switch (outcome) {
    case DomainFacet::Outcome::kHolds:
      return "holds";
    case DomainFacet::Outcome::kRefuses:
      return "refused";
    case DomainFacet::Outcome::kWrong:
      return "wrong";
    case DomainFacet::Outcome::kNotTried:
      break;
  }
  return "not tried";
}

const Finding* Verdict::Deciding() const {
  for (const Finding& finding : findings) {
    if (finding.weight == Weight::kDecides) return &finding;
  }
  return nullptr;
}

json ToJson(const Verdict& verdict) {
  json findings = json::array();
  for (const Finding& finding : verdict.findings) findings.push_back(ToJson(finding));
  json stages = json::array();
  for (const StageReport& stage : verdict.stages) {
    stages.push_back({{"name", stage.name},
                      {"outcome", stage.outcome},
                      {"seconds", stage.seconds},
                      {"processor_seconds", stage.processor_seconds},
                      {"note", stage.note}});
  }
  return {{"verdict", Name(verdict.kind)},
          {"task", verdict.task},
          {"task_path", verdict.task_path},
          {"direction", verdict.direction},
          {"dtype", verdict.dtype},
          {"mode", verdict.mode},
          {"gpu", verdict.gpu},
          {"architecture", verdict.architecture},
          {"candidate", verdict.candidate},
          {"call", verdict.call},
          {"candidate_sha256", verdict.candidate_hash},
          {"findings", std::move(findings)},
          {"stages", std::move(stages)},
          {"proof", ToJson(verdict.proof)},
          {"kernels", verdict.kernels},
          {"libraries", verdict.libraries},
          {"allowed", verdict.allowed},
          {"seed", verdict.seed},
          {"seconds", verdict.seconds},
          {"processor_seconds", verdict.processor_seconds}};
}

}  // namespace kernelsmith
