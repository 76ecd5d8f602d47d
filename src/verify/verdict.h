// The answer about a candidate, with its evidence.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sizes/sizes.h"
#include "support/diagnostic.h"
#include "support/finding_kind.h"
#include "support/verdict_kind.h"

namespace kernelsmith {

// Inputs on which the candidate is wrong, as small as was found. Configuration, inputs and seed are
// all that is needed to make them again.
struct Counterexample {
  std::string configuration;
  nlohmann::json values;        // values of the configuration, as the task store takes them
  std::string inputs = "task";  // the name of a recipe of inputs.h
  uint64_t seed = 0;
  std::string output;          // output.0
  std::vector<int64_t> index;  // the index of the worst element
  double expected = 0;
  double got = 0;
  double scales = 0;  // the error in units of what rounding explains (tolerance.h)
  uint64_t wrong = 0;
  uint64_t elements = 0;
};

// What a finding does to the verdict.
enum class Weight {
  kDecides,  // the verdict is what it is because of this
  kWarning,  // a defect that the options in use let pass: shown apart
  kNote,     // worth knowing, nothing wrong
};

// One fact about a candidate.
struct Finding {
  FindingKind kind = FindingKind::kError;
  std::string message;
  SourceLocation where = {};  // in the candidate; file empty: not known
  std::optional<Counterexample> counterexample = {};
  Weight weight = Weight::kDecides;
  std::string stage = {};  // the stage that found it
};

// One output that was compared with the oracle.
struct NumbersChecked {
  std::string configuration;
  std::string inputs;  // recipe
  uint64_t seed = 0;
  std::string output;
  uint64_t elements = 0;
  double worst = 0;       // in scales
  bool allclose = false;  // the usual check beside ours, at --rtol and --atol
};

// One stage of the cascade.
struct StageReport {
  std::string name;
  std::string outcome;  // passed, refuted, inconclusive, unsupported, skipped
  double seconds = 0;
  double processor_seconds = 0;  // of this process and its children
  std::string note;              // what was done, or why not
};

// What the algebra showed.
struct AlgebraProof {
  std::string outcome = "not run";  // equal, different, inconclusive, not run
  std::string reason;               // why it is not equal
  std::string bound;                // probability of a false "equal": "2^-48", or "heuristic"
  int draws = 0;
  uint64_t elements = 0;
  uint64_t proved = 0;
  std::vector<std::string> configurations;
  std::vector<std::string> assumptions;
};

// One way in which callers may go beyond the task, and what the candidate makes of it.
struct DomainFacet {
  enum class Outcome { kHolds, kRefuses, kWrong, kNotTried };
  std::string name;     // "views"
  std::string limited;  // what a verdict is limited to without it: "contiguous inputs"
  Outcome outcome = Outcome::kNotTried;
  std::string why;  // what came out; why it was not tried

  bool Narrows() const { return outcome == Outcome::kRefuses || outcome == Outcome::kWrong; }
};
const char* Name(DomainFacet::Outcome outcome);

// What was shown, and how surely.
struct Proof {
  std::vector<NumbersChecked> numbers;
  std::vector<std::string> outside_domain;  // structured inputs on which PyTorch is not finite
  std::vector<DomainFacet> domain;
  AlgebraProof algebra;
  std::vector<sizes::SizesProof> sizes;  // by launch
  std::vector<std::string> checkers;     // checkers that watched a run and found nothing
  std::vector<std::string> depends_on;   // inputs whose change showed as it must
  std::optional<bool> deterministic;     // bit for bit under other schedules
  double spread = 0;                     // largest difference between such runs
  std::vector<std::string> precision;    // the kernels' kinds of arithmetic: float32, tf32 mma ...
};

struct Verdict {
  VerdictKind kind = VerdictKind::kInconclusive;
  std::string task;
  std::string task_path;
  std::string direction;
  std::string dtype;
  std::string mode = "task";
  std::string gpu;           // the key of the model that it was judged for
  std::string architecture;  // its compute capability: 9.0
  std::string candidate;
  std::string call;            // how the candidate is called, with the quick shape's sizes
  std::string candidate_hash;  // a hash of its text: a replay says if it has changed since
  std::vector<Finding> findings;
  std::vector<StageReport> stages;
  Proof proof;
  std::vector<std::string> kernels;    // launched, in order of first use
  std::vector<std::string> libraries;  // operators that were delegated
  std::vector<std::string> allowed;    // what could decide because the policy allows it
  double seconds = 0;
  // Of this process and of its children that have ended: on a busy machine this is what a verdict
  // costs. A PyTorch that was started for it is not in it.
  double processor_seconds = 0;
  uint64_t seed = 0;

  // The finding that decided; null if none did.
  const Finding* Deciding() const;
};

// {"verdict": ..., "findings": [...], "proof": {...}, ...}
nlohmann::json ToJson(const Verdict& verdict);

// What a person grasps in five seconds.
std::string ToText(const Verdict& verdict, bool color);

}  // namespace kernelsmith
