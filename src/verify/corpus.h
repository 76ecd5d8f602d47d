// The adversarial corpus: folders NN_name with a row.json, cheating candidates and honest controls,
// each with the verdict that it must get.
//
//   {"row": 1, "trick": "...", "why": "what happens to it and why",
//    "cases": [{"file": "cheat.cu", "task": "softmax", "verdict": "refuted", "finding":
//    "unwritten"},
//              {"file": "../honest/softmax.cu", "task": "softmax", "honest": true}]}
//
// A row with "pending" (why) has no cases yet and counts neither way. "tested_by" names tests that
// try the trick elsewhere, such as those about time, which have a fake clock.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "candidate/cuda_file.h"
#include "verify/verify.h"

namespace kernelsmith {

struct CorpusCase {
  int row = 0;
  std::string file;  // as row.json has it
  std::filesystem::path candidate;
  std::string task;  // a name of the suite, or a path relative to the row's folder
  bool honest = false;
  bool backward = false;
  std::string dtype = "task";
  std::vector<std::string> verdicts;   // the verdicts that are right
  std::optional<FindingKind> finding;  // that must be among the findings; none: any
  VerifyPolicy policy;
};

struct CorpusRow {
  int row = 0;
  std::string trick;
  std::string why;
  std::string tested_by;  // other tests
  std::string pending;    // not empty: why there are no cases
  std::vector<CorpusCase> cases;
};

struct CorpusResult {
  CorpusCase corpus_case;
  Verdict verdict;
  std::string problem;  // empty: as demanded

  bool passed() const { return problem.empty(); }
};

// Sorted by row. `only`: cases whose "folder/file" contains it, or one of several words with commas
// between them; empty: all.
Result<std::vector<CorpusRow>> ReadCorpus(const std::filesystem::path& folder, FileSystem& files,
                                          const std::string& only = "");

// `report` is called after each case.
Result<std::vector<CorpusResult>> RunCorpus(const std::vector<CorpusRow>& rows,
                                            const VerifyOptions& options, const VerifyTools& tools,
                                            const CandidateTools& opener,
                                            const std::function<void(const CorpusResult&)>& report);

nlohmann::json ToJson(const std::vector<CorpusRow>& rows, const std::vector<CorpusResult>& results);
// One line a case, with the whole verdict below it if it is not as demanded, and a summary with
// throughput.
std::string ToText(const CorpusResult& result);
std::string Summary(const std::vector<CorpusRow>& rows, const std::vector<CorpusResult>& results);

}  // namespace kernelsmith
