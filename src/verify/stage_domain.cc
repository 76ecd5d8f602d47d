// Callers do more than a task promises: they pass views, tensors that begin in the middle of their
// storage, numbers that are not finite, and they make other streams current. A candidate need not
// stand that, but whoever calls it must know: what does not hold narrows the verdict.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "candidate/call.h"
#include "support/rng.h"
#include "tensor/tensor.h"
#include "verify/check_shape.h"
#include "verify/domain.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

using Outcome = DomainFacet::Outcome;

// The call is made several times, and all of this must stay a small part of a verdict.
constexpr uint64_t kMostWork = 200'000'000;

class Domain {
 public:
  explicit Domain(Verification& verification)
      : verification_(verification), traced_(*verification.shapes[0]) {}

  Result<std::vector<DomainFacet>> Facets() {
    std::vector<DomainFacet> facets = {{.name = "views", .limited = "contiguous inputs"},
                                       {.name = "unaligned", .limited = "aligned inputs"},
                                       {.name = "not_finite", .limited = "finite inputs"},
                                       {.name = "streams", .limited = "the default stream"}};
    if (traced_.work > kMostWork) {
      for (DomainFacet& facet : facets) facet.why = "the shape is too large to run it again";
      return facets;
    }
    KS_RETURN_IF_ERROR(Views(facets[0]));
    KS_RETURN_IF_ERROR(Unaligned(facets[1]));
    KS_RETURN_IF_ERROR(NotFinite(facets[2]));
    KS_RETURN_IF_ERROR(Streams(facets[3]));
    return facets;
  }

 private:
  // Tensors whose memory the candidate reads alone: what it changes in place is a result, too.
  std::vector<size_t> ReadOnly() const {
    std::vector<size_t> found;
    const std::vector<std::string>& mutated = traced_.task.mutated;
    for (size_t i = 0; i < traced_.task.tensors.size(); ++i) {
      const TensorSpec& tensor = traced_.task.tensors[i];
      const bool changed =
          std::find(mutated.begin(), mutated.end(), "mutated." + tensor.name) != mutated.end();
      if (!changed && ElementCount(tensor.shape).value_or(0) > 1) found.push_back(i);
    }
    return found;
  }

  // Traces the call with the arguments of `variant` and judges it on the draw that the host code
  // saw. The worst outcome of several variants counts.
  Status Try(const std::string& what, TracedShape variant, DomainFacet& facet) {
    KS_TRY(const CandidateCall call,
           MakeCall(verification_.options.direction, variant.task, variant.graph, variant.seen));
    KS_TRY(variant.call, verification_.candidate.Trace(call));
    if (!variant.call->plan) {
      const CandidateProblem& problem = variant.call->problems.front();
      const bool refuses = problem.kind == FindingKind::kException;
      Set(facet, refuses ? Outcome::kRefuses : Outcome::kNotTried, what + ": " + problem.message);
      return {};
    }
    const Case sample{.seed = verification_.Secret(SeedStream::kDomain), .tensors = variant.seen};
    return JudgeOn(what, variant, sample, facet);
  }

  Status JudgeOn(const std::string& what, const TracedShape& traced, const Case& sample,
                 DomainFacet& facet) {
    KS_TRY(const CaseOutcome outcome, verification_.Judge(traced, sample));
    for (const Objection& each : outcome.objections) {
      if (each.kind == VerdictKind::kVerified) continue;
      const bool wrong = each.kind == VerdictKind::kRefuted;
      Set(facet, wrong ? Outcome::kWrong : Outcome::kNotTried, what + ": " + each.finding.message);
      return {};
    }
    Set(facet, Outcome::kHolds, "");
    return {};
  }

  // The order of the outcomes is that of their weight, apart from "not tried", which any other
  // one replaces.
  static void Set(DomainFacet& facet, Outcome outcome, std::string why) {
    if (facet.outcome != Outcome::kNotTried &&
        (outcome == Outcome::kNotTried || outcome <= facet.outcome)) {
      return;
    }
    facet.outcome = outcome;
    facet.why = std::move(why);
  }

  Status Views(DomainFacet& facet) {
    TracedShape transposed = traced_;
    TracedShape padded = traced_;
    for (const size_t i : ReadOnly()) {
      TensorSpec& tensor = transposed.task.tensors[i];
      tensor.strides = TransposedStrides(tensor.shape);
      padded.task.tensors[i].strides = PaddedStrides(tensor.shape);
    }
    KS_RETURN_IF_ERROR(Try("transposed views", std::move(transposed), facet));
    return Try("parts of wider tensors", std::move(padded), facet);
  }

  Status Unaligned(DomainFacet& facet) {
    TracedShape later = traced_;
    for (const size_t i : ReadOnly()) later.task.tensors[i].offset = 1;
    return Try("tensors that begin one element into their storage", std::move(later), facet);
  }

  Status NotFinite(DomainFacet& facet) {
    if (!traced_.evaluated_here) {
      facet.why = "some arguments are computed from others";
      return {};
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Rng rng(verification_.Secret(SeedStream::kDomain, 1));
    for (const double number : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
      TensorMap values = traced_.seen.values;
      bool put = false;
      for (const TensorSpec& spec : traced_.task.tensors) {
        const auto found = values.find(spec.name);
        if (found == values.end() || !IsFloat(found->second.dtype)) continue;
        HostTensor& tensor = found->second;
        if (tensor.count() == 0) continue;
        tensor.set(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(tensor.count()))), number);
        put = true;
      }
      if (!put) {
        facet.outcome = Outcome::kHolds;  // there is no place for such a number
        return {};
      }
      Result<CaseTensors> tensors = EvaluateHere(traced_.graph, std::move(values));
      if (!tensors.ok()) {
        Set(facet, Outcome::kNotTried, tensors.error().message());
        continue;
      }
      const Case sample{.seed = verification_.Secret(SeedStream::kDomain, 2),
                        .tensors = *std::move(tensors),
                        .any_not_finite = true};
      KS_RETURN_IF_ERROR(JudgeOn(fmt::format("{} in every input", number), traced_, sample, facet));
    }
    return {};
  }

  Status Streams(DomainFacet& facet) {
    KS_TRY(CandidateCall call,
           MakeCall(verification_.options.direction, traced_.task, traced_.graph, traced_.seen));
    call.other_stream = true;
    KS_TRY(const std::shared_ptr<const TracedCall> traced, verification_.candidate.Trace(call));
    if (!traced->plan) {
      Set(facet, Outcome::kNotTried, traced->problems.front().message);
      return {};
    }
    auto moved = std::make_shared<TracedCall>(*traced);
    if (!CallerOnDefaultStream(*moved->plan)) {
      Set(facet, Outcome::kNotTried, "the plan does not tell the caller's stream");
      return {};
    }
    const std::vector<PlanStep>& steps = moved->plan->steps;
    const bool all = std::all_of(steps.begin(), steps.end(),
                                 [](const PlanStep& step) { return step.stream == 0; });
    if (all) {
      Set(facet, Outcome::kHolds, "");
      return {};
    }
    TracedShape variant = traced_;
    variant.call = std::move(moved);
    StageResult checked;
    KS_RETURN_IF_ERROR(CheckShape(verification_, variant, checked));
    if (checked.kind == VerdictKind::kRefuted) {
      Set(facet, Outcome::kWrong,
          "work is not on the stream that is current: " + checked.findings.front().message);
    } else {
      Set(facet, checked.Ended() ? Outcome::kNotTried : Outcome::kHolds, "");
    }
    return {};
  }

  Verification& verification_;
  const TracedShape& traced_;
};

}  // namespace

Result<StageResult> DomainStage(Verification& verification) {
  StageResult stage;
  KS_TRY(verification.verdict.proof.domain, Domain(verification).Facets());
  std::vector<std::string> words;
  for (const DomainFacet& facet : verification.verdict.proof.domain) {
    words.push_back(fmt::format("{} {}", facet.name, Name(facet.outcome)));
    if (!facet.Narrows() || verification.options.policy.domain != VerifyPolicy::Domain::kStrict) {
      continue;
    }
    stage.Add(VerdictKind::kRefuted,
              {.kind = FindingKind::kNarrowDomain,
               .message = fmt::format("it is for {} alone; {}", facet.limited, facet.why)});
  }
  stage.note = fmt::format("{}", fmt::join(words, ", "));
  return stage;
}

}  // namespace kernelsmith
