// What a verifier made of right kernels and their mutants: recall, precision and a confusion matrix
// for the whole, for every stage, and for any outside verifier.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/result.h"

namespace kernelsmith::mutate {

// One kernel or mutant, judged. A line of the results file each.
struct Judged {
  std::string kernel;  // softmax/online
  std::string mutant;  // lost_term-31-20; empty: the right kernel itself
  std::string operator_name;
  std::string diff;
  std::string key;  // hash of what was judged: the text, the options
  // verified, refuted, inconclusive, unsupported; for mutants also identical (the same PTX),
  // uncompilable, and error (no verdict: a crash or a time limit).
  std::string outcome;
  std::string stage;   // the stage that ended it; empty: none did
  std::string reason;  // the first finding
  // Stages in order: name and passed, refuted, inconclusive ...; empty where the verifier does not
  // tell.
  std::vector<std::pair<std::string, std::string>> stages;
  std::map<std::string, std::string> outside;  // yes, no, none by the name of the verifier
  std::string algebra;  // what the verdict says of it: equal, different, inconclusive, not run
  double seconds = 0;
  double processor_seconds = 0;  // as the verdict tells; 0: not told

  bool right() const { return mutant.empty(); }
  // Counts in the matrix.
  bool judged() const { return outcome != "identical" && outcome != "uncompilable"; }
};

nlohmann::json ToJson(const Judged& judged);
Result<Judged> ParseJudged(const std::string& line);

// Rows: what is true. Columns: what was said. `other` is inconclusive, unsupported or no answer:
// neither a pass nor a refutation.
struct Matrix {
  uint64_t wrong_refuted = 0, wrong_passed = 0, wrong_other = 0;
  uint64_t right_refuted = 0, right_passed = 0, right_other = 0;

  // The share of the wrong ones that were refuted.
  std::optional<double> Recall() const;
  // The share of the refuted ones that are wrong.
  std::optional<double> Precision() const;
};

struct Summary {
  uint64_t kernels = 0, tasks = 0;
  uint64_t made = 0;  // mutants: all that were written
  uint64_t identical = 0, uncompilable = 0;
  uint64_t equivalent = 0;  // passed, and the reason that somebody gave holds
  Matrix verifier;          // without the equivalent ones
  struct Stage {
    std::string name;
    Matrix matrix;  // the matrix of those that came this far
  };
  std::vector<Stage> stages;
  std::map<std::string, Matrix> outside;
  std::map<std::string, Matrix> operators;
  struct Passed {
    Judged judged;
    std::string reason;  // empty: nobody has one, it is a miss
  };
  std::vector<Passed> passed;                            // mutants that were called right
  std::vector<Judged> undecided;                         // mutants without a yes or no
  std::vector<Judged> not_passed;                        // right kernels that were not verified
  double median_verified = 0, median_refuted = 0;        // seconds to a verdict
  double processor_verified = 0, processor_refuted = 0;  // the same of processor time
  double seconds = 0;                                    // the time of all verdicts
  uint64_t verdicts = 0;                                 // the number of verdicts in that time
  // Right kernels that the algebra proved equal, and all that it was asked about.
  uint64_t algebra_equal = 0, algebra_asked = 0;
};

// `reasons` by "kernel mutant": corpus.h.
Summary Summarise(const std::vector<Judged>& all,
                  const std::map<std::string, std::string>& reasons);
nlohmann::json ToJson(const Summary& summary);
std::string ToText(const Summary& summary);

}  // namespace kernelsmith::mutate
