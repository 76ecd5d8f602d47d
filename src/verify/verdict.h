// The answer about a candidate, with its evidence.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "support/exit_code.h"

namespace kernelsmith {

enum class VerdictKind {
  kVerified,      // everything that was checked holds; the proof says what was checked
  kRefuted,       // shown to be wrong; the findings say where
  kInconclusive,  // neither could be shown; the findings say why
  kUnsupported,   // more than we can judge; never counts as a pass
};

const char* Name(VerdictKind kind);
ExitCode ExitCodeOf(VerdictKind kind);

// Inputs on which the candidate is wrong, as small as was found.
struct Counterexample {
  std::string configuration;
  uint64_t seed = 0;
  std::string output;          // output.0
  std::vector<int64_t> index;  // of the worst element
  double expected = 0;
  double got = 0;
  double scales = 0;  // the error in units of what rounding explains (tolerance.h)
  uint64_t wrong = 0;
  uint64_t elements = 0;
};

// One fact against a candidate.
struct Finding {
  std::string kind;  // a word for programs: wrong_value, compile_error, illegal_address ...
  std::string message;
  SourceLocation where;  // in the candidate; file empty: not known
  std::optional<Counterexample> counterexample;
};

// One output that was compared with the oracle.
struct NumbersChecked {
  std::string configuration;
  uint64_t seed = 0;
  std::string output;
  uint64_t elements = 0;
  double worst = 0;       // in scales
  bool allclose = false;  // the usual check beside ours: rtol 1e-3, atol 1e-3
};

struct Verdict {
  VerdictKind kind = VerdictKind::kInconclusive;
  std::string task;
  std::string direction;
  std::string dtype;
  std::string candidate;
  std::vector<Finding> findings;
  std::vector<NumbersChecked> numbers;  // the proof, as far as numbers go
  std::vector<std::string> kernels;     // launched, in order of first use
  std::vector<std::string> libraries;   // operators that were delegated
  double seconds = 0;
  uint64_t seed = 0;
};

// {"verdict": ..., "findings": [...], "proof": {...}, ...}
nlohmann::json ToJson(const Verdict& verdict);

// What a person grasps in five seconds.
std::string ToText(const Verdict& verdict, bool color);

}  // namespace kernelsmith
